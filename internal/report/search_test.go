package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tokentape/internal/search"
)

// sought is a search of a server that holds up to 10 requests/s, counts made up.
func sought(t *testing.T) *search.File {
	t.Helper()
	p := search.Params{For: search.Rate, Goal: search.Highest, From: 2, To: 32, Share: 0.95, Precision: 0.1, MostLooks: 12, Requests: 1000, Seed: 1}
	f := search.NewFile("sought", p, []string{"ttft_ms <= 500 of a request"})
	for {
		step, ok, why := p.Next(f.Looks)
		if !ok {
			v := p.Conclude(f.Looks, why)
			f.Verdict = &v
			return f
		}
		l := search.Look{Step: step, Seed: p.SeedOf(len(f.Looks) + 1), Run: "points/a", TookS: 12.34, Requests: int64(1000 * step.Times)}
		scores := make([]float64, l.Requests)
		for i := range scores {
			scores[i] = 0.5 + float64(i*7919%1000)/2100
			if step.At > 10 && i%4 == 0 {
				scores[i] = math.Inf(1)
			}
		}
		growth := 0.01
		l.Facts = []search.Fact{{Name: "backlog", Kind: search.KindBacklog, Value: &growth, SE: 0.02, DF: 9, Offered: step.At, Unit: "requests/s"}, search.ShareOf("report.slo", scores, 0.95)}
		f.Add(l)
	}
}

func TestSearch(t *testing.T) {
	f := sought(t)
	var b bytes.Buffer
	if err := SearchConsole(&b, f, Options{Width: 100, Full: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "search.txt", b.String())
	b.Reset()
	if err := SearchMarkdown(&b, f, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "search.md", b.String())
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.Contains(line, "\x1b") {
			t.Errorf("colour in Markdown: %q", line)
		}
	}
	b.Reset()
	if err := SearchJSON(&b, f); err != nil {
		t.Fatal(err)
	}
	got := &search.File{}
	if err := json.Unmarshal(b.Bytes(), got); err != nil || got.Schema != search.Schema || len(got.Looks) != len(f.Looks) || *got.Verdict.At != *f.Verdict.At {
		t.Errorf("%v: %+v", err, got)
	}
	*f.Looks[0].Facts[0].Value = math.NaN()
	if err := SearchJSON(&b, f); err == nil {
		t.Error("a NaN was written")
	}
}

// What to do for more stands last.
func TestSearchNext(t *testing.T) {
	f := sought(t)
	f.Verdict.Next = []string{"look further: --to 128"}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"console":  func(b *bytes.Buffer) error { return SearchConsole(b, f, Options{Width: 100}) },
		"markdown": func(b *bytes.Buffer) error { return SearchMarkdown(b, f, Options{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if _, after, _ := strings.Cut(b.String(), "What next"); !strings.Contains(after, "look further: --to 128") {
			t.Errorf("%s: %s", name, b.String())
		}
	}
}
