package analysis

import (
	"slices"
	"testing"

	"tokentape/tape"
)

// A note that a check has answered is not repeated; every other one stands.
func TestTimelyNotes(t *testing.T) {
	sent := NoteSentBefore + ", once under runs (last by x): its prefix cache may still hold them"
	seeds := "a.manifest.json expects that the rows of p.jsonl " + NoteNotPrepared + ": prepare.dataset: p.jsonl"
	again := "7 of 900 prompts (0.778 %) repeat an earlier one; they can hit the server's prefix cache"
	other := "900 of 900 prompts are sent as token ids"
	rows := "196 requests send a dataset row that was sent before; they can hit the server's prefix cache"
	all := []string{sent, seeds, again, rows, other}
	for _, c := range []struct {
		name string
		edit func(*script)
		want []string
	}{
		{"nothing known of the cache", func(*script) {}, all},
		{"as planned", func(s *script) { s.cached(tape.Some[int64](50), tape.Some[int64](50)) }, []string{again, rows, other}},
		{"not as planned", func(s *script) { s.cached(tape.Some[int64](50), tape.Some[int64](10)) }, all},
		{"no hit at all", func(s *script) { s.cached(tape.Opt[int64]{}, tape.Some[int64](0)) }, []string{seeds, again, rows, other}},
		{"a row twice", func(s *script) { s.reqs[7].Ref = s.reqs[6].Ref }, []string{sent, seeds, other}},
	} {
		s := steadyRun(900)
		s.notes = slices.Clone(all)
		c.edit(s)
		if got := s.analyse(t, Options{}).Notes; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
		if !slices.Equal(s.notes, all) {
			t.Errorf("%s: the header's notes were changed: %q", c.name, s.notes)
		}
	}
}
