package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// waitShare and shortShare are what a note lets pass.
const (
	waitShare  = 0.01
	shortShare = 0.01
)

// slotWait: requests were sent when due, not when a slot became free.
func (r *run) slotWait(res *Results) Check {
	c := Check{Name: "slot_wait", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(waitShare), Why: "no due times: closed loop",
		Do: "the cap was full: read latencies from due beside those from release, or raise load.concurrency"}
	v := res.Load.SlotWaitShare
	if v == nil {
		return c
	}
	c.Value, c.Result, c.Why = v, ResultPass, "no request waited for a slot"
	if *v > 0 {
		c.Why = fmt.Sprintf("%s of requests waited for a slot, %s ms in the mean, at most %s ms", percent(*v), digits(*res.Load.SlotWaitMeanMS), digits(*res.Load.SlotWaitMaxMS))
	}
	if *v > waitShare {
		c.Result = ResultMiss
	}
	return c
}

// sendDelay: what the client itself needed between the release of a request and
// its first byte on the wire, set-up of connections aside, is small beside TTFT,
// which contains it. A burst of releases, such as the start of a closed loop with
// many slots, is where it is not. Nor were sends later than client_bound lets pass
// where nobody knows better, though here the stamps are true.
func (r *run) sendDelay(late lateness) Check {
	c := Check{Name: "send_delay", Severity: SeverityNote, Result: ResultNone, Unit: "ms", Why: "no streamed response to compare with",
		Do: "read TTFT with that much doubt; a ramp (load.ramp) spreads the start, fewer requests at once or a faster client shorten it"}
	var delays, ttft []float64
	r.okMeasured(func(q *metric.Request) {
		if q.PacerLag != metric.Absent && q.FirstToken != metric.Absent {
			delays = append(delays, float64(q.PacerLag-(q.Released-q.Ready))/1e6)
			ttft = append(ttft, float64(q.FirstToken-q.Released)/1e6)
		}
	})
	if p99, median := quantile(delays, 0.99), quantile(ttft, 0.5); p99 != nil && median != nil {
		limit := max(lagFloorMS, lagShare**median)
		c.Value, c.Limit, c.Result = p99, &limit, ResultPass
		c.Why = fmt.Sprintf("from release to the first byte written: p99 %s ms, of a median TTFT of %s ms", digits(*p99), digits(*median))
		if *p99 > limit {
			c.Result = ResultMiss
		}
	}
	if late.beside && c.Result != ResultMiss {
		c.Result, c.Value, c.Limit = ResultMiss, late.p99, &late.usual
		c.Why = fmt.Sprintf("sends were late, by pacer lag p99 %s ms (limit %s ms), though what came was read in time", digits(*late.p99), digits(late.usual))
		c.Do = "read arrivals and latencies from due with that much doubt; a ramp (load.ramp) spreads the start, fewer requests at once or a faster client shorten it"
	}
	return c
}

// durationReached: a run bound by time went on until then.
func (r *run) durationReached() Check {
	c := Check{Name: "duration_reached", Severity: SeverityNote, Result: ResultNone, Unit: "s", Why: "the run was not bound by time",
		Do: "give the dataset more rows, or use them again: workload.repeat: cycle"}
	if r.footer == nil || r.footer.Reason != tape.ReasonDuration && r.footer.Reason != tape.ReasonRows {
		return c
	}
	end := float64(r.footer.TEnd) / 1e9
	c.Value, c.Result, c.Why = &end, ResultPass, "issuing went on until load.duration"
	if r.footer.Reason == tape.ReasonRows {
		c.Result = ResultMiss
		c.Why = fmt.Sprintf("the rows of the dataset ran out; the run ended after %s s", digits(end))
	}
	return c
}

// outputShort: responses are as long as asked. The value is Σ output ÷ Σ asked
// where both are known.
func (r *run) outputShort() Check {
	c := Check{Name: "output_short", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(1 - shortShare), Why: "no request asked for a length",
		Do: "set ignore_eos where the engine has it, or take the asked length as a limit and read output_tokens"}
	var n, short, got, asked int64
	r.okMeasured(func(q *metric.Request) {
		if q.Asked == metric.Absent || q.Asked <= 0 || q.Output == metric.Absent {
			return
		}
		n++
		if q.Output < q.Asked {
			short++
		}
		got, asked = got+q.Output, asked+q.Asked
	})
	v, ok := share(got, asked)
	if !ok {
		return c
	}
	c.Value, c.Result = &v, ResultPass
	c.Why = fmt.Sprintf("%s of the asked output tokens came; %d of %d responses are shorter than asked", percent(v), short, n)
	if v < 1-shortShare {
		c.Result = ResultMiss
	}
	return c
}

// repeats: no prompt of the measured phase was sent before in this run. The turns of
// a session are of one row, and each of them is another prompt.
func (r *run) repeats() Check {
	c := Check{Name: "repeats", Severity: SeverityNote, Result: ResultPass, Unit: "share", Limit: ref(0),
		Do: "repeated prompts hit the prefix cache: use a dataset with as many different rows as requests"}
	order := make([]int, 0, len(r.reqs))
	var n, again int64
	for i := range r.reqs {
		if r.reqs[i].Released != metric.Absent {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.facts[a].content, r.facts[b].content), cmp.Compare(r.facts[a].turn, r.facts[b].turn), cmp.Compare(a, b))
	})
	for k, i := range order {
		if !r.isMeasured(i) {
			continue
		}
		n++
		if k == 0 {
			continue
		}
		if before, f := &r.facts[order[k-1]], &r.facts[i]; before.content == f.content && before.turn == f.turn {
			again++
		}
	}
	v, ok := share(again, n)
	if !ok {
		c.Result, c.Why = ResultNone, "no measured request was sent"
		return c
	}
	c.Value, c.Why = &v, fmt.Sprintf("%d of %d measured requests sent a row of the dataset that this run had sent before", again, n)
	if again > 0 {
		c.Result = ResultMiss
	}
	return c
}

// attempts: every request was sent once.
func (r *run) attempts(res *Results) Check {
	again := res.Counts.Attempts - res.Counts.Issued
	c := Check{Name: "attempts", Severity: SeverityNote, Result: ResultPass, Unit: "attempts", Value: ref(float64(again)), Limit: ref(0),
		Why: "every request was sent once",
		Do:  "latencies span all attempts and the waits between them: read the attempts' messages, or set load.attempts: 1"}
	if again > 0 {
		c.Result, c.Why = ResultMiss, fmt.Sprintf("%s beyond the first, by %s, which waited %.3g s in all", plural(again, "attempt"), plural(res.Counts.Retried, "request"), res.Counts.RetryWaitS)
	}
	return c
}
