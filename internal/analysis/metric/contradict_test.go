package metric

import (
	"fmt"
	"strings"
	"testing"

	"tokentape/tape"
)

// Counts that cannot be true are named, and nothing stands in their place.
func TestContradictions(t *testing.T) {
	for _, c := range []struct {
		name   string
		events string // kinds; "" is one of content
		edit   func(q *tape.Request)
		kinds  string // of the contradictions
		want   string // input output cached device+host+storage
	}{
		{"nothing wrong", "c4", func(q *tape.Request) { q.Tokens.Cached = some(50) }, "", "50 4 50 -"},
		{"cached above input", "c4", func(q *tape.Request) { q.Tokens.Cached = some(51) }, CachedAboveInput, "50 4 - -"},
		{"cached of a fraction", "c4", func(q *tape.Request) { q.Tokens.Unread = "cached=2.5" }, NoCount + " cached=2.5", "50 4 - -"},
		{"cached below 0 as it came", "c4", func(q *tape.Request) { q.Tokens.Unread = "cached=-3" }, NoCount + " cached=-3", "50 4 - -"},
		{"cached below 0 on the tape", "c4", func(q *tape.Request) { q.Tokens.Cached = some(-3) }, BelowZero, "50 4 - -"},
		{"several", "c4", func(q *tape.Request) {
			q.Tokens.Unread, q.Tokens.Input, q.Tokens.Output = "input=-1 output=1e999", tape.Opt[int64]{}, tape.Opt[int64]{}
		}, NoCount + " input=-1, " + NoCount + " output=1e999", "- - - -"},
		{"a fraction in mid-stream, a count at the end", "c4", func(q *tape.Request) { q.Tokens.Unread = "output=2.5" }, "", "50 4 0 inferred -"},
		{"the tokenizer counted where the server could not", "c4", func(q *tape.Request) {
			q.Tokens.Unread, q.Tokens.OutputSource = "output=2.5", tape.SourceTokenizer
		}, NoCount + " output=2.5", "50 4 0 inferred -"},
		{"absurd", "c4", func(q *tape.Request) { q.Tokens.Cached = some(tape.MaxTokens + 1) }, Absurd, "50 4 - -"},

		{"as many tokens as events", "c9", func(q *tape.Request) { q.Tokens.Output = some(9) }, "", "50 9 0 inferred -"},
		{"the last event flushed", "r c9 f u", func(q *tape.Request) { q.Tokens.Output = some(8) }, "", "50 8 0 inferred -"},
		{"completion < events", "c9", func(q *tape.Request) { q.Tokens.Output = some(7) }, FewerThanEvents, "50 - 0 inferred -"},
		{"role, usage and finish are no tokens", "r c3 u4 f d", func(q *tape.Request) { q.Tokens.Output = some(2) }, "", "50 2 0 inferred -"},
		{"one token ends reasoning and begins content", "s4 c4", func(q *tape.Request) { q.Tokens.Output = some(6) }, "", "50 6 0 inferred -"},
		{"reasoning and content, too few", "s4 c4", func(q *tape.Request) { q.Tokens.Output = some(5) }, FewerThanEvents, "50 - 0 inferred -"},
		{"a parser's tool events", "c1 t40", func(q *tape.Request) { q.Tokens.Output = some(5) }, "", "50 5 0 inferred -"},
		{"two choices flush twice", "c9", func(q *tape.Request) {
			q.Events.Choice, q.Tokens.Output = []int32{0, 1, 0, 1, 0, 1, 0, 1, 0}, some(7)
		}, "", "50 7 0 inferred -"},
		{"events that we counted are no word of the server", "c9", func(q *tape.Request) {
			q.Tokens.Output, q.Tokens.OutputSource = some(3), tape.SourceTokenizer
		}, "", "50 3 0 inferred -"},
		{"0 beside events", "c9", func(q *tape.Request) { q.Tokens.Output = some(0) }, NoOutput, "50 - 0 inferred -"},

		{"tiers", "c4", func(q *tape.Request) { split(q, 30, 20, 10, 0) }, "", "50 4 30 20+10+0"},
		{"tiers alone", "c4", func(q *tape.Request) { split(q, -1, 20, 10, -1) }, "", "50 4 30 20+10+-"},
		{"tiers below the count", "c4", func(q *tape.Request) { split(q, 40, 20, 10, -1) }, "", "50 4 40 20+10+-"},
		{"tiers above the count", "c4", func(q *tape.Request) { split(q, 25, 20, 10, -1) }, TiersAboveCached, "50 4 25 -"},
		{"tiers above the input", "c4", func(q *tape.Request) { split(q, -1, 60, 0, -1) }, CachedAboveInput, "50 4 - -"},
		{"a tier below 0", "c4", func(q *tape.Request) { split(q, 30, 20, -10, -1) }, BelowZero, "50 4 30 20+-+-"},
		{"tiers beside an impossible count", "c4", func(q *tape.Request) { split(q, -5, 20, 10, -1) }, BelowZero, "50 4 - -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := streamed(make([]int64, events(c.events)), c.events, 4)
			c.edit(q)
			r := reduce(q)
			var said []string
			for _, x := range r.Contradicts {
				said = append(said, strings.TrimSpace(x.Kind+" "+x.Said))
			}
			if g := strings.Join(said, ", "); g != c.kinds {
				t.Errorf("%q, want %q", g, c.kinds)
			}
			if g := counts(r); g != c.want {
				t.Errorf("%s, want %s", g, c.want)
			}
		})
	}
}

// events is the number of events of run-length coded kinds.
func events(kinds string) (n int) {
	for range (tape.Events{Kind: kinds, DT: make([]int64, 1000)}).Kinds() {
		n++
	}
	return n
}

// split says where the cached tokens lay; -1 leaves a count out.
func split(q *tape.Request, cached, device, host, storage int64) {
	for n, to := range map[*tape.Opt[int64]]int64{&q.Tokens.Cached: cached, &q.Tokens.CachedDevice: device, &q.Tokens.CachedHost: host, &q.Tokens.CachedStorage: storage} {
		if to != -1 {
			*n = some(to)
		}
	}
}

// counts are those of a request, an inferred one marked, "-" for one that is not known.
func counts(q *Request) string {
	known := func(n int64) string {
		if n == Absent {
			return "-"
		}
		return fmt.Sprint(n)
	}
	cached := "-"
	if n, inferred, ok := q.CachedTokens(true); ok && inferred {
		cached = fmt.Sprint(n, " inferred")
	} else if ok {
		cached = fmt.Sprint(n)
	}
	tiers := "-"
	if _, ok := q.Tiers.Sum(); ok {
		tiers = known(q.Tiers.Device) + "+" + known(q.Tiers.Host) + "+" + known(q.Tiers.Storage)
	}
	return fmt.Sprintf("%s %s %s %s", known(q.Input), known(q.Output), cached, tiers)
}
