package analysis_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/spec"
	"tokentape/internal/telemetry"
	"tokentape/simserver"
	"tokentape/tape"
)

// pairOf is a run against a disaggregated pair with speculation, whose pages have the
// names given.
func pairOf(t *testing.T, prefill, decode string) watched {
	t.Helper()
	return scrapedOf(t, spec.Load{Requests: 120, Rate: 15, Arrivals: "poisson"}, scene{
		server: func(o *simserver.Options) {
			o.Disaggregated, o.Nodes = true, map[simserver.Node]string{simserver.NodePrefill: "", simserver.NodeDecode: ""}
			o.TokensPerEvent, o.AcceptRate = 4, 0.6
		},
		pages: []telemetry.Source{{Name: decode, URL: "decode"}, {Name: prefill, URL: "prefill"}},
	})
}

// What a page of a pair is compared with: a decode worker's time of a token with the
// client's TPOT, since an event carries several; a prefill worker's E2E with nothing; the
// prefix cache is the prefill side's alone, as the pages themselves say which that is.
func TestServerPair(t *testing.T) {
	w := pairOf(t, "a", "b")
	for _, s := range w.res.Server.Sources {
		if want := map[string]string{"a": "prefill", "b": "decode"}[s.Name]; s.Role != want || s.RoleFrom != "page" {
			t.Errorf("%s: role %q from %q, want %q", s.Name, s.Role, s.RoleFrom, want)
		}
	}
	for i := range w.res.Server.Windows {
		sw := &w.res.Server.Windows[i]
		e2e := sw.Row("e2e_ms").Histogram
		if sw.Source == "a" {
			if e2e.Client != nil || e2e.DifferenceMean != nil || !strings.Contains(e2e.Counts, "prefill worker") {
				t.Errorf("%s: beside a prefill worker's E2E stands %+v", sw.Window, e2e)
			}
			if h := sw.Row("ttft_ms").Histogram; h.Client == nil || h.DifferenceMean == nil {
				t.Errorf("%s: %+v", sw.Window, h)
			}
			continue
		}
		if e2e.Client == nil || math.Abs(*e2e.DifferenceMean) > 0.01 {
			t.Errorf("%s: %+v", sw.Window, e2e)
		}
		r := sw.Row("itl_ms")
		h := r.Histogram
		if h.Client == nil || h.Client.Metric != "tpot" || math.Abs(*h.DifferenceMean) > 0.15**r.Mean {
			t.Errorf("%s: beside %v ms a token stands %+v", sw.Window, *r.Mean, h.Client)
		}
		if itl := w.res.Windows[i%len(w.res.Windows)].Metrics["itl_ms"]; itl != nil && itl.Mean != nil && *itl.Mean < 1.5**r.Mean {
			t.Errorf("the load shows nothing: %v a token, %v an event", *r.Mean, *itl.Mean)
		}
	}
	c, ok := w.res.Server.Cached("whole")
	input := 0.0
	for _, x := range w.truths {
		input += float64(x.PromptTokens)
	}
	if !ok || strings.Join(c.Sources, " ") != "a" || c.Prompt > input || c.Roleless {
		t.Errorf("%+v, the run had %g", c, input)
	}
	show := false
	for _, s := range w.res.Provenance.Sections {
		for _, f := range s.Facts {
			show = show || s.Name == "metrics pages" && f.Name == "a" && strings.HasPrefix(*f.Value, "prefill as its series say, sglang, ")
		}
	}
	if !show {
		t.Errorf("%+v", w.res.Provenance.Sections)
	}
}

// No page, however slow, moves a stamp of the load: with one that never comes, and one
// that takes longer than its interval, every time on the tape is what it is without.
func TestScrapingLeavesTheLoadAlone(t *testing.T) {
	load := spec.Load{Requests: 60, Rate: 15, Arrivals: "poisson"}
	stamps := func(path string) map[int64][]int64 {
		r, err := tape.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		out := map[int64][]int64{}
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			if q, ok := rec.(*tape.Request); ok {
				out[q.Seq] = append([]int64{q.TDue.V, q.TReleased.V, q.TWroteFirst.V, q.TFirstToken.V, q.TLastToken.V, q.TEnd.V}, q.Events.DT...)
			}
		}
	}
	alone := stamps(scrapedOf(t, load, scene{}).path)
	if len(alone) != 60 {
		t.Fatalf("%d requests", len(alone))
	}
	for name, wait := range map[string]time.Duration{"at once": 0, "slow": 250 * time.Millisecond, "hangs": time.Hour} {
		with := scraped(t, load, func(_ time.Duration, sim, _ http.Handler) (http.Handler, time.Duration) { return sim, wait }, nil)
		if d := cmp.Diff(alone, stamps(with.path)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
