package tape

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReadings(t *testing.T) {
	var r Readings
	take := func(s *Scrape, want map[string]float64, problem string) *Reading {
		t.Helper()
		got, err := r.Take(s)
		switch {
		case problem != "":
			if err == nil || !strings.Contains(err.Error(), problem) || got != nil {
				t.Fatalf("%+v, %v; want an error with %q", got, err, problem)
			}
		case err != nil:
			t.Fatal(err)
		case want == nil:
			if got != nil {
				t.Fatalf("%+v of a failed reading", got)
			}
		default:
			if d := cmp.Diff(want, got.Series, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
		return got
	}
	type series = map[string]float64
	take(&Scrape{Source: "p", OK: true, Nr: 1, Same: Some(int64(1))}, nil, "reading 0, which")
	first := &Scrape{Source: "p", OK: true, Nr: 1, Role: "prefill", Kind: "sglang", Series: series{"a": 1, "b": 2, "h_sum": 3},
		Types: map[string]string{"a": "counter", "h": "histogram"}}
	take(first, series{"a": 1, "b": 2, "h_sum": 3}, "")
	take(&Scrape{Source: "p", Error: "refused"}, nil, "")
	take(&Scrape{Source: "q", OK: true, Series: series{"a": 9}}, series{"a": 9}, "")
	take(&Scrape{Source: "p", OK: true, Part: Some(int64(1)), Series: series{"a": 8}}, series{"a": 8}, "")
	got := take(&Scrape{Source: "p", OK: true, Nr: 2, Series: series{"a": 5, "c": 0}, Gone: []string{"b"}, Same: Some(int64(1)), Types: map[string]string{"c": "gauge"}},
		series{"a": 5, "c": 0, "h_sum": 3}, "")
	if got.Role != "prefill" || got.Kind != "sglang" {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{"a": "a counter", `c{x="y"}`: "c gauge", `h_bucket{le="1"}`: "h histogram", "h_sum": "h histogram", "a_sum": "a_sum untyped", "z": "z untyped"} {
		if family, typ := got.Family(name); family+" "+typ != want {
			t.Errorf("%s is of %s %s, want %s", name, family, typ, want)
		}
	}
	if first.Series["a"] != 1 || len(first.Types) != 2 {
		t.Error("a scrape was changed")
	}
	take(&Scrape{Source: "p", OK: true, Nr: 3, Same: Some(int64(3))}, series{"a": 5, "c": 0, "h_sum": 3}, "")
	take(&Scrape{Source: "p", OK: true, Nr: 5, Same: Some(int64(3))}, nil, "reading 4, which")
	take(&Scrape{Source: "p", OK: true, Nr: 6, Same: Some(int64(3))}, nil, "reading 5, which")
	take(&Scrape{Source: "p", OK: true, Nr: 7}, series{}, "")
	take(&Scrape{Source: "p", OK: true, Nr: 8, Series: series{"a": 1}, Same: Some(int64(0)), Types: map[string]string{"a": "gauge"}}, series{"a": 1}, "")
	take(&Scrape{Source: "p", OK: true, Nr: 9, Same: Some(int64(2))}, nil, "2 series are said to be as they were, there are 1")
	take(&Scrape{Source: "p", OK: true, Series: series{"a": 3}}, series{"a": 3}, "") // of the first tapes
	take(&Scrape{Source: "p", OK: true, Series: series{"b": 3}}, series{"b": 3}, "")
}
