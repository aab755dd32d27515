package analysis

import (
	"strings"
	"testing"

	"tokentape/tape"
)

// C07 and C09: a constant above the tokenizer's count is told from a ratio, and is
// no mismatch where the tokenizer had no chat template to count with.
func TestInputOffPlanExplains(t *testing.T) {
	type count = func(i int64) (asked, got int64)
	lengths := func(i int64) int64 { return 100 + i%400 }
	for _, c := range []struct {
		name    string
		content bool
		of      count
		result  string
		why     []string
	}{
		{"C09: a template's overhead", true, func(i int64) (int64, int64) { return lengths(i), lengths(i) + 11 }, ResultPass,
			[]string{"texts alone: target.tokenizer has no chat template", ", +11 in each of 900 requests: what its chat template adds"}},
		{"the same of one length", true, func(int64) (int64, int64) { return 100, 111 }, ResultPass, []string{"+11 in each of 900", "all texts are of one length"}},
		{"no overhead", true, func(i int64) (int64, int64) { return lengths(i), lengths(i) }, ResultPass, []string{"no chat template)"}},
		{"fewer than the texts hold", true, func(i int64) (int64, int64) { return lengths(i), lengths(i) - 3 }, ResultMiss, []string{"900 of 900 requests are off, by up to -3"}},
		{"C07: another tokenizer, no template", true, func(i int64) (int64, int64) { return lengths(i) * 50, lengths(i) * 59 }, ResultMiss, []string{"(ratio 1.18)", "it is no constant (+900 to +4491): another tokenizer, or prompts of several messages"}},
		{"a token too many", false, func(i int64) (int64, int64) { return lengths(i), lengths(i) + 1 }, ResultMiss, []string{"it is +1 for prompts of 100 to 499 tokens alike: special tokens or another chat template, not another tokenizer"}},
		{"C07: another tokenizer", false, func(i int64) (int64, int64) { return lengths(i) * 50, lengths(i) * 59 }, ResultMiss, []string{"(ratio 1.18)", "no constant (+900 to +4491): another tokenizer, or a server that cuts"}},
		{"C07: prompts of one length", false, func(int64) (int64, int64) { return 1000, 1180 }, ResultMiss,
			[]string{"server counted 1,062,000 of 900,000 input tokens", "by up to +180 (ratio 1.18)", "a constant cannot be told from a ratio"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steadyRun(900)
			s.tok = &tape.FileRef{Path: "model", SHA256: "cc", Content: c.content}
			for i, q := range s.reqs {
				asked, got := c.of(int64(i))
				q.Asked.Input, q.Tokens.Input, q.Tokens.InputSource = tape.Some(asked), tape.Some(got), tape.SourceUsage
			}
			res, _ := whole(t, s)
			for _, x := range res.Verdict.Checks {
				if x.Name != "input_off_plan" {
					continue
				}
				if x.Result != c.result {
					t.Errorf("%s: %s", x.Result, x.Why)
				}
				for _, part := range c.why {
					if !strings.Contains(x.Why, part) {
						t.Errorf("%q does not say %q", x.Why, part)
					}
				}
			}
		})
	}
}
