package analysis_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/memnet"
	"tokentape/internal/plan"
	"tokentape/internal/run"
	"tokentape/internal/spec"
	"tokentape/internal/telemetry"
	"tokentape/internal/workload"
	"tokentape/simserver"
	"tokentape/tape"
)

// prompts is a source of distinct ones.
type prompts int64

func (q prompts) Len() int64 { return int64(q) }

func (q prompts) Item(i int64) (workload.Item, error) {
	text := fmt.Sprintf("question %04d: why?", i)
	return workload.Item{Ref: workload.Ref{Row: i, Offset: i * 20}, Messages: []workload.Message{{Role: "user", Content: text}}, Prompt: text}, nil
}

// watched is a run whose server's metrics page is read every 97 ms: all of it real but
// the network and the time.
type watched struct {
	res    *analysis.Results
	path   string
	truths []simserver.Truth // times in ns of the run's epoch
}

// scraped makes one. page changes what a reading gets: the handler that answers and how
// long it takes; nil: the server, at once. beside runs while the load does.
func scraped(t *testing.T, load spec.Load, page func(at time.Duration, sim, other http.Handler) (http.Handler, time.Duration), beside func(h http.Handler)) watched {
	t.Helper()
	return scrapedOf(t, load, scene{page: page, beside: beside, pages: []telemetry.Source{{Name: "sim", Role: "entry"}}})
}

// scene is what a run is made with. The URL of a page is a node of the server; "": itself.
type scene struct {
	server func(o *simserver.Options)
	pages  []telemetry.Source
	page   func(at time.Duration, sim, other http.Handler) (http.Handler, time.Duration)
	beside func(h http.Handler)
}

func scrapedOf(t *testing.T, load spec.Load, sc scene) watched {
	t.Helper()
	page, beside := sc.page, sc.beside
	var out watched
	out.path = filepath.Join(t.TempDir(), "tape.jsonl")
	synctest.Test(t, func(t *testing.T) {
		o := simserver.Defaults()
		o.Slots = 4
		if sc.server != nil {
			sc.server(&o)
		}
		other := simserver.NewWithClock(o, clock.New())
		defer other.Close()
		time.Sleep(time.Second) // another process has another start time
		clk := clock.New()
		own := clock.New() // a server knows nothing of the run's epoch
		sim := simserver.NewWithClock(o, own)
		defer sim.Close()
		l := memnet.Listen()
		srv := &http.Server{Handler: sim}
		go srv.Serve(l)
		defer func() {
			srv.Close()
			synctest.Wait()
		}()
		p, err := plan.MakeOf(load, 32, plan.Data{Rows: 2000}, "", "", spec.Seeds{Run: 3})
		if err != nil {
			t.Fatal(err)
		}
		d, err := dialect.Get("openai-chat")
		if err != nil {
			t.Fatal(err)
		}
		c := client.New(client.Config{Clock: clk, Dial: l.Dial, MaxIdle: 1000})
		defer c.Close()
		w, err := tape.Create(out.path, false)
		if err != nil {
			t.Fatal(err)
		}
		fetch := func(ctx context.Context, src telemetry.Source) (telemetry.Page, error) {
			var h http.Handler = sim
			if src.URL != "" {
				h = sim.ServeNode(simserver.Node(src.URL))
			}
			if page != nil {
				var wait time.Duration
				if h, wait = page(time.Duration(clk.Now()), sim, other); wait > 0 {
					select {
					case <-time.After(wait):
					case <-ctx.Done():
						return telemetry.Page{}, ctx.Err()
					}
				}
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			return telemetry.Page{Status: rec.Code, Type: rec.Header().Get("Content-Type"), Body: rec.Body.Bytes()}, nil
		}
		if beside != nil {
			go beside(sim)
		}
		var asked []string
		for i := range sc.pages {
			sc.pages[i].Interval = 97 * time.Millisecond
			asked = append(asked, fmt.Sprintf(`{"name":%q,"role":%q}`, sc.pages[i].Name, sc.pages[i].Role))
		}
		_, err = run.Run(context.Background(), run.Config{
			Clock: clk, Plan: p, Source: prompts(2000), Tape: w,
			Exchange: exchange.New(exchange.Config{
				Client: c, Dialect: d, Clock: clk, URL: "http://sim/v1/chat/completions",
				Options: dialect.Options{Model: "sim-7b", Stream: true, Sampling: map[string]any{"ignore_eos": true}},
			}),
			Header: tape.Header{Type: "header", Schema: tape.Schema, Run: "r", Plan: tape.PlanRef{SHA256: p.SHA256(), Rows: p.Rows(), Kind: p.Kind},
				Spec: fmt.Appendf(nil, `{"load":{"requests":%d,"concurrency":%d,"rate":%g},"telemetry":{"interval":"97ms","metrics":[%s]}}`, load.Requests, load.Concurrency, load.Rate, strings.Join(asked, ","))},
			Concurrency: p.Params.Concurrency, Attempts: 1, Drain: 30 * time.Second,
			Samplers: []run.Sampler{func(ctx context.Context, _ func() run.Gauges, emit func(any)) {
				s := telemetry.Scraper{Clock: clk, Fetch: fetch, Emit: func(s *tape.Scrape) { emit(s) }}
				s.Run(ctx, sc.pages)
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		epoch := own.Machine(own.Now()) - clk.Now()
		for _, x := range sim.Trace() {
			x.Arrived, x.Admitted, x.PrefillDone, x.End = x.Arrived-epoch, x.Admitted-epoch, x.PrefillDone-epoch, x.End-epoch
			for i := range x.Due {
				x.Due[i] -= epoch
			}
			out.truths = append(out.truths, x)
		}
	})
	res, err := analysis.AnalyseFile(out.path, analysis.Options{NoCI: true})
	if err != nil {
		t.Fatal(err)
	}
	out.res = res
	return out
}

func (w *watched) row(t *testing.T, window, name string) *analysis.ServerRow {
	t.Helper()
	for i := range w.res.Server.Windows {
		if sw := &w.res.Server.Windows[i]; sw.Window == window {
			if r := sw.Row(name); r != nil {
				return r
			}
		}
	}
	t.Fatalf("%s has no %s", window, name)
	return nil
}

func (w *watched) judged(name string) analysis.Check {
	for _, c := range w.res.Verdict.Checks {
		if c.Name == name {
			return c
		}
	}
	return analysis.Check{}
}

// What a page says is what the engine did: the queue at every reading, first tokens,
// tokens and requests in a window, and TTFT beside the client's.
func TestServerIsTheTruth(t *testing.T) {
	w := scraped(t, spec.Load{Requests: 120, Rate: 15, Arrivals: "poisson"}, nil, nil)
	s := w.res.Server
	if len(s.Sources) != 1 || s.Sources[0].Kind != "sglang" || s.Sources[0].Role != "entry" || s.Sources[0].Failed != 0 || s.Sources[0].GapsN != 0 {
		t.Fatalf("%+v", s.Sources)
	}
	seen, most := 0, 0
	for p := range s.Points.All() {
		if p.Name != "queue_depth" {
			continue
		}
		at := int64(math.Round(p.TS * 1e9))
		least, greatest := 0, 0 // what happens at that very moment may or may not be in it
		for _, x := range w.truths {
			if x.Arrived < at && at < x.Admitted {
				least++
			}
			if x.Arrived <= at && at <= x.Admitted {
				greatest++
			}
		}
		if got := int(p.Value); got < least || got > greatest {
			t.Errorf("%d waiting at %.3f s, the engine had %d to %d", got, p.TS, least, greatest)
		}
		seen, most = seen+1, max(most, greatest)
	}
	if seen < 50 || most < 3 {
		t.Fatalf("%d readings, at most %d waiting: the load shows nothing", seen, most)
	}
	for i := range s.Windows {
		sw := &s.Windows[i]
		from, to := int64(math.Round(*sw.FromS*1e9)), int64(math.Round(*sw.ToS*1e9))
		var first, ended, tokens, prompt float64
		var waits float64
		for _, x := range w.truths {
			if n := len(x.Due); n > 0 && from < x.Due[0] && x.Due[0] <= to {
				first++
				waits += float64(x.Due[0]-x.Arrived) / 1e6
			}
			if n := len(x.Due); n > 0 && from < x.Due[n-1] && x.Due[n-1] <= to {
				ended++
				tokens += float64(x.OutputTokens)
				prompt += float64(x.PromptTokens)
			}
		}
		r := sw.Row("ttft_ms")
		if h := r.Histogram; h.N != first || h.Client.N != int64(first) {
			t.Errorf("%s: %g first tokens by the page, %d by the client, %g in truth", sw.Window, h.N, h.Client.N, first)
		}
		near := func(what string, got *float64, want, within float64) {
			t.Helper()
			if got == nil || math.Abs(*got-want) > within {
				t.Errorf("%s: %s %s, want %g", sw.Window, what, digitsOf(got), want)
			}
		}
		near("mean TTFT", r.Mean, waits/first, 1e-3)
		near("client − server", r.Histogram.DifferenceMean, 0, 0.01) // no network is between them
		for q, b := range r.Histogram.Quantiles {
			// the same requests: the client's quantile lies between the bounds, where n is large enough
			if c := *r.Histogram.Client.Quantiles[q]; q == "p50" && (c < *b.Low-1 || b.High != nil && c > *b.High+1) {
				t.Errorf("%s: %s of the client %g, the server's is between %g and %s", sw.Window, q, c, *b.Low, digitsOf(b.High))
			}
		}
		near("requests", sw.Row("requests").Increase, ended, 0)
		near("generated", sw.Row("generation_tokens").Increase, tokens, 0)
		near("prompt", sw.Row("prompt_tokens").Increase, prompt, 0)
	}
	in := map[string]int{}
	if err := s.Series.Each(func(x analysis.ServerSeries) {
		in[x.Window]++
		for _, sw := range s.Windows {
			if r := sw.Row("generation_tokens"); x.Window == sw.Window && strings.HasPrefix(x.Name, r.Series+"{") && (*x.Increase != *r.Increase || *x.Last-*x.First != *r.Increase) {
				t.Errorf("%+v, the row grew by %g", x, *r.Increase)
			}
		}
	}); err != nil || in[""] < 50 || in["whole"] != in[""] || in["steady"] != in[""] {
		t.Errorf("%v, %v", in, err)
	}
	for _, name := range []string{"others_on_server", "scrapes_missing", "server_changed"} {
		if c := w.judged(name); c.Result != analysis.ResultPass {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func digitsOf(p *float64) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprint(*p)
}

// A server that restarts in mid-run: what its counters grew by is known but for what
// they counted between the last reading before and that moment, and the run is unfit.
func TestServerRestarts(t *testing.T) {
	const moment = 3 * time.Second
	w := scraped(t, spec.Load{Requests: 90, Rate: 15, Arrivals: "constant"}, func(at time.Duration, sim, other http.Handler) (http.Handler, time.Duration) {
		if at >= moment {
			return other, 0 // which never had a request
		}
		return sim, 0
	}, nil)
	s := w.res.Server.Sources[0]
	if s.Restarts != 1 || s.ResetsN != 1 || s.Resets[0].TS < 3 || s.Resets[0].TS > 3.2 || !s.Resets[0].Anew {
		t.Fatalf("%+v", s)
	}
	if c := w.judged("server_changed"); c.Result != analysis.ResultMiss || *c.Value != 1 || !strings.Contains(c.Why, "sim restarted in mid-run, before 3.") {
		t.Errorf("%+v", c)
	}
	before := 0.0
	last := int64(s.Resets[0].TS*1e9) - 97e6
	for _, x := range w.truths {
		if n := len(x.Due); n > 0 && x.Due[n-1] <= last {
			before++
		}
	}
	r := w.row(t, "whole", "requests")
	if before < 10 || *r.Increase != before || r.Resets != 1 || len(r.Warnings) == 0 {
		t.Errorf("%+v, %g ended before", r, before)
	}
}

// A page that takes longer than the interval has a pace of its own and no gap; one that
// stops answering has one, which no value reaches over.
func TestServerIsSlowAndDies(t *testing.T) {
	load := spec.Load{Requests: 90, Rate: 15, Arrivals: "constant"}
	slow := scraped(t, load, func(_ time.Duration, sim, _ http.Handler) (http.Handler, time.Duration) {
		return sim, 250 * time.Millisecond
	}, nil)
	s := slow.res.Server.Sources[0]
	if s.Missed < 20 || s.GapsN != 0 || s.Readings < 15 {
		t.Errorf("%+v", s)
	}
	if c := slow.judged("scrapes_missing"); c.Result != analysis.ResultPass || !strings.Contains(c.Why, "left out since the page took longer than the interval") {
		t.Errorf("%+v", c)
	}
	dead := scraped(t, load, func(at time.Duration, sim, _ http.Handler) (http.Handler, time.Duration) {
		if at > 4*time.Second {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusBadGateway) }), 0
		}
		return sim, 0
	}, nil)
	s = dead.res.Server.Sources[0]
	if s.GapsN != 1 || s.Gaps[0].FromS > 4 || s.Gaps[0].Why != tape.ScrapeStatus || s.Failed < 15 || *s.ToS > 4 {
		t.Errorf("%+v", s)
	}
	if c := dead.judged("scrapes_missing"); c.Result != analysis.ResultMiss || !strings.Contains(c.Why, "none since 4.0 s") {
		t.Errorf("%+v", c)
	}
	for _, sw := range dead.res.Server.Windows {
		if sw.ToS == nil || *sw.ToS > 4 || sw.CoveredS > 4 || sw.LengthS < 4.5 {
			t.Errorf("%+v", sw)
		}
	}
}

// Requests of others on the same server are seen.
func TestOthersOnServer(t *testing.T) {
	w := scraped(t, spec.Load{Requests: 60, Rate: 15, Arrivals: "constant"}, nil, func(h http.Handler) {
		for range 5 {
			time.Sleep(300 * time.Millisecond)
			q := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"sim-7b","messages":[{"role":"user","content":"not ours"}],"max_tokens":8,"ignore_eos":true}`))
			q.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(httptest.NewRecorder(), q)
		}
	})
	c := w.judged("others_on_server")
	if c.Result != analysis.ResultMiss || !strings.Contains(c.Why, "sim counted 65 requests, of this run at most 60; counted 1,960 generated tokens, of this run at most 1,920") {
		t.Errorf("%+v", c)
	}
}
