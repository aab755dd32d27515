package html

import (
	"encoding/json"
	"strings"

	"tokentape/internal/analysis"
)

// rowsLink says which rows a number is made of. What is left out asks for nothing.
type rowsLink struct {
	Window  string            `json:"window,omitempty"`  // whose cohort holds them
	During  string            `json:"during,omitempty"`  // window in which they were in flight
	Phase   string            `json:"phase,omitempty"`   //
	Outcome string            `json:"outcome,omitempty"` // a class; "!ok": all but ok; "failed": all that are failures
	Is      map[string]string `json:"is,omitempty"`      // columns of words with the word that they hold; "" for none
	Eq      map[string]int64  `json:"eq,omitempty"`      // columns of numbers with their value
	Has     []string          `json:"has,omitempty"`     // columns that hold a value
	Lacks   []string          `json:"lacks,omitempty"`   // columns that hold none
	Sort    string            `json:"sort,omitempty"`    // column
	Down    bool              `json:"down,omitempty"`    // the greatest first
	// N is how many there are, of a number that counts them.
	N *int64 `json:"n,omitempty"`
}

// readingsLink says which readings of a metrics page a number is made of.
type readingsLink struct {
	Page   string   `json:"page"`
	Part   *int64   `json:"part,omitempty"`
	Names  []string `json:"names"` // as of analysis.ServerRow
	Window string   `json:"window"`
}

// target is where a number leads, for the page's script.
func target(v any) string {
	key := "rows"
	if _, ok := v.(readingsLink); ok {
		key = "readings"
	}
	text, err := json.Marshal(map[string]any{key: v})
	if err != nil {
		panic(err) // texts and numbers encode
	}
	return string(text)
}

// counted is where a number of rows leads, "" for 0, since nothing is there.
func counted(n int64, l rowsLink) string {
	if n == 0 {
		return ""
	}
	l.N = &n
	return target(l)
}

// rateRows are the rows behind a rate of a window: those of the windows that count their
// requests in full, else those that were in flight in it.
func rateRows(r *analysis.Results, w *analysis.Window) string {
	window := w.Kind
	if full := window == "whole" || window == "stable" || strings.HasPrefix(window, "phase:"); !full {
		return during(r, w, "ok")
	}
	if w.Held() == 0 {
		return ""
	}
	return target(rowsLink{Window: window, Outcome: "ok"})
}

// during leads to the rows in flight in a window; nowhere where the tape has no times.
func during(r *analysis.Results, w *analysis.Window, outcome string) string {
	if r.Charts == nil || r.Charts.Time == nil {
		return ""
	}
	return target(rowsLink{During: w.Kind, Outcome: outcome})
}

// ratios are the counters that stand behind rows of metrics pages for which a page has
// no series of its own.
var ratios = map[string][]string{
	"cached_share": {"cached_tokens", "prompt_tokens"}, "cache_hit_rate": {"cache_hits", "cache_queries"}, "accept_rate": {"accepted_tokens", "drafted_tokens"},
	"accept_length": {"accepted_tokens", "verify_steps"}, "generation_throughput": {"generation_tokens"},
}

// readings is where a number of a metrics page leads; "" where the page of the run has
// no readings of it.
func readings(r *analysis.Results, w *analysis.ServerWindow, name string) string {
	held := func(name string) bool {
		for i := range r.Server.Lines {
			if l := &r.Server.Lines[i]; l.Name == name && l.Source == w.Source && same(l.Part, w.Part) {
				return true
			}
		}
		if r.Charts == nil {
			return false
		}
		for i := range r.Charts.Counts {
			if c := &r.Charts.Counts[i]; c.Name == name && c.Source == w.Source && same(c.Part, w.Part) {
				return true
			}
		}
		return false
	}
	l := readingsLink{Page: w.Source, Part: w.Part, Window: w.Window}
	if held(name) {
		l.Names = []string{name}
		return target(l)
	}
	for _, n := range ratios[name] {
		if held(n) {
			l.Names = append(l.Names, n)
		}
	}
	if len(l.Names) == 0 {
		return ""
	}
	return target(l)
}

func same(a, b *int64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// groupRows are the rows of a group of failures.
func groupRows(g analysis.FailureGroup) rowsLink {
	l := rowsLink{Phase: "measure", Outcome: g.Class, Is: map[string]string{"cause": clip(g.Cause)}}
	if g.Status != 0 {
		l.Eq = map[string]int64{"status": int64(g.Status)}
	} else {
		l.Lacks = []string{"status"}
	}
	return l
}

// messageRows are those of one of its messages. The page knows messages by their
// beginning.
func messageRows(g analysis.FailureGroup, e analysis.FailureExample) rowsLink {
	l := groupRows(g)
	l.Is["message"] = clip(e.Message)
	return l
}
