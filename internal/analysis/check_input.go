package analysis

import (
	"fmt"
	"math"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// inputOffPlan: the server read prompts as long as the model's tokenizer makes
// them. The value is Σ counted by the server ÷ Σ counted by the tokenizer, over
// ok requests where both are known. One token of difference is a miss: the count
// is that of the templated prompt, so nothing explains it but another tokenizer,
// another template, or a server that cuts prompts. Where there was no template
// (tokenizer.content on the tape) the tokenizer's count is a lower bound, and a
// constant above it is what the server's own template adds: told, and no miss.
func (r *run) inputOffPlan() Check {
	c := Check{Name: "input_off_plan", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(1.0),
		Do: "is target.tokenizer that of the served model, and does the server's context hold the whole prompt?"}
	bound := r.header.Tok != nil && r.header.Tok.Content
	var n, off, got, want int64
	var worst int64                                           // the largest difference, with its sign
	least, most := int64(math.MaxInt64), int64(math.MinInt64) // differences
	short, long := int64(math.MaxInt64), int64(math.MinInt64) // prompts
	none := true
	r.okMeasured(func(q *metric.Request) {
		if q.AskedInput == metric.Absent {
			return
		}
		none = false
		if q.Input == metric.Absent || q.InputSource == tape.SourceTokenizer {
			return
		}
		n++
		got, want = got+q.Input, want+q.AskedInput
		d := q.Input - q.AskedInput
		if d != 0 {
			if off++; max(d, -d) > max(worst, -worst) {
				worst = d
			}
		}
		least, most = min(least, d), max(most, d)
		short, long = min(short, q.AskedInput), max(long, q.AskedInput)
	})
	v, ok := share(got, want)
	switch {
	case none:
		c.Why = "no prompt was counted on the client (target.tokenizer): input counts are the server's alone"
		return c
	case !ok:
		c.Why = "the server reported no input count to hold against the tokenizer's"
		return c
	}
	c.Value, c.Result = &v, ResultPass
	c.Why = fmt.Sprintf("server counted %s of %s input tokens", thousands(got), thousands(want))
	if bound {
		c.Why += " (of the messages' texts alone: target.tokenizer has no chat template)"
	}
	if off == 0 {
		return c
	}
	constant := least == most
	if bound && constant && least > 0 {
		c.Why += fmt.Sprintf(", %+d in each of %s: what its chat template adds to a message", least, plural(n, "request"))
		if short == long {
			c.Why += "; all texts are of one length, so that another tokenizer could do the same"
		}
		return c
	}
	c.Result = ResultMiss
	c.Why += fmt.Sprintf("; %d of %d requests are off, by up to %+d (ratio %s)", off, n, worst, digits(v))
	switch {
	case !constant && bound && least >= 0:
		c.Why += fmt.Sprintf("; it is no constant (%+d to %+d): another tokenizer, or prompts of several messages, each with its own overhead", least, most)
	case !constant:
		c.Why += fmt.Sprintf("; it is no constant (%+d to %+d): another tokenizer, or a server that cuts or adds text", least, most)
	case short == long:
		c.Why += "; all prompts are of one length, so that a constant cannot be told from a ratio"
	default:
		c.Why += fmt.Sprintf("; it is %+d for prompts of %s to %s tokens alike: special tokens or another chat template, not another tokenizer", least, thousands(short), thousands(long))
		c.Do = "is the chat template beside target.tokenizer the served one, and does one of the two add a begin-of-sequence token that the other has already?"
	}
	return c
}
