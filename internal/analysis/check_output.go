package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// A server counts a few tokens that never become text: the end of the sequence,
// the markers of reasoning and of tool calls.
const (
	recountShare  = 0.05 // of the server's count
	recountTokens = 2.0  // and tokens a response, in the mean, that may differ
)

// recounted reports a response that both the server and the model's tokenizer
// counted.
func recounted(q *metric.Request) bool {
	return q.Recount != metric.Absent && q.Output != metric.Absent && (q.OutputSource == tape.SourceUsage || q.OutputSource == tape.SourceEngine)
}

// outputOffText: the server's output counts are those of the text that came. The
// value is Σ counted by the server ÷ Σ counted by the tokenizer over responses
// where both are known; the server's count is the one in every number. A text
// need not be cut into the tokens that it was generated in (15 blanks are one
// token to many tokenizers), so this tells nothing of who is right.
func (r *run) outputOffText() Check {
	c := Check{Name: "output_off_text", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(1.0),
		Why: "no output was counted on the client beside the server's count (target.tokenizer)",
		Do:  "numbers use the server's count; is target.tokenizer that of the served model, and does the answer hold text that no model writes so (runs of blanks, hidden reasoning)?"}
	var n, off, server, local int64
	r.okMeasured(func(q *metric.Request) {
		if !recounted(q) {
			return
		}
		n++
		if q.Output != q.Recount {
			off++
		}
		server, local = server+q.Output, local+q.Recount
	})
	v, ok := share(server, local)
	if !ok {
		return c
	}
	c.Value, c.Result = &v, ResultPass
	c.Why = fmt.Sprintf("server counted %s output tokens, the tokenizer %s over the text of the same %s", thousands(server), thousands(local), plural(n, "response"))
	d := float64(server - local)
	if d = max(d, -d); d > recountShare*float64(server) && d > recountTokens*float64(n) {
		c.Result = ResultMiss
		c.Why += fmt.Sprintf("; %d of them differ (ratio %s): the server's count is used", off, digits(v))
	}
	return c
}
