package metric

import (
	"testing"

	"tokentape/tape"
)

// No prompt has 0 tokens, and what is beyond any count is named as it came.
func TestImpossibleInput(t *testing.T) {
	some := tape.Some[int64]
	for _, tc := range []struct {
		name   string
		tokens tape.Tokens
		want   Contradiction
		input  int64
	}{
		{"0 of the server's", tape.Tokens{Input: some(0), Cached: some(0), InputSource: tape.SourceUsage}, Contradiction{Kind: NoInput}, Absent},
		{"0 of a tokenizer's", tape.Tokens{Input: some(0), InputSource: tape.SourceTokenizer}, Contradiction{}, 0},
		{"beyond any", tape.Tokens{Unread: "input=9223372036854775807"}, Contradiction{Kind: Absurd, Said: "input=9223372036854775807"}, Absent},
		{"beyond any, with an exponent", tape.Tokens{Unread: "input=1e300"}, Contradiction{Kind: Absurd, Said: "input=1e300"}, Absent},
		{"none", tape.Tokens{Unread: "input=2.5"}, Contradiction{Kind: NoCount, Said: "input=2.5"}, Absent},
	} {
		q := Reduce(&tape.Request{Outcome: tape.OutcomeOK, Tokens: tc.tokens}, &Arena{})
		if got := append(q.Contradicts, Contradiction{})[0]; got != tc.want || len(q.Contradicts) > 1 || q.Input != tc.input {
			t.Errorf("%s: %+v, input %d", tc.name, q.Contradicts, q.Input)
		}
	}
}
