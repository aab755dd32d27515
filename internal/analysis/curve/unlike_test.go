package curve

import (
	"encoding/json"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/sweep"
)

func TestUnlike(t *testing.T) {
	res := &analysis.Results{Provenance: &analysis.Provenance{Spec: json.RawMessage(`{"load":{"concurrency":4,"duration":"10s"},"target":{"model":"a"}}`)}}
	for _, c := range []struct {
		field string
		at    any
		want  string
	}{
		{"load.concurrency", 4.0, ""},
		{"load.concurrency", 99.0, "sweep.json says load.concurrency: 99 of it, and its tape 4"},
		{"load.rate", 2.0, ""},           // not on the tape
		{"load.duration", "10000ms", ""}, // the same in other words
		{"load.duration.x", 1.0, ""},
		{"target.model", "a", ""},
		{"target.model", "b", "sweep.json says target.model: b of it, and its tape a"},
	} {
		if got := unlike([]string{c.field}, &sweep.Point{At: []any{c.at}}, res); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.field, c.at, got, c.want)
		}
	}
	if got := unlike([]string{"load.rate"}, &sweep.Point{At: []any{1.0}}, &analysis.Results{}); got != "" {
		t.Error(got)
	}
}
