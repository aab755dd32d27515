package analysis

import (
	"strconv"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// counts shows all counts of one kind: by_class, by_status, finish, flags.
func (x *explainer) counts(section string) {
	c := x.res.Counts
	of := map[string]map[string]int64{"by_class": c.ByClass, "by_status": c.ByStatus, "finish": c.Finish, "flags": c.Flags}[section]
	if len(of) == 0 {
		x.e.Word = "none"
		return
	}
	many := make(map[string]int, len(of))
	for name, n := range of {
		many[name] = int(n)
	}
	x.e.Word = breakdown(many)
	for _, name := range ranked(many) {
		x.how("counts.%s.%s: %s", section, name, plural(of[name], "request"))
	}
}

// count names the requests that a count counts.
func (x *explainer) count(name string) {
	r := x.r
	head, what, _ := strings.Cut(name, ".")
	outcome := func(i int) tape.Outcome { return r.facts[i].outcome }
	failed := func(i int) bool {
		switch outcome(i) {
		case tape.OutcomeOK, tape.OutcomeAbandoned, tape.OutcomeCancelled:
			return false
		}
		return true
	}
	measured := func(of func(i int) bool) func(i int) bool {
		return func(i int) bool { return r.isMeasured(i) && of(i) }
	}
	var of func(i int) bool
	switch head {
	case "issued":
		of = func(int) bool { return true }
	case "ok":
		of = func(i int) bool { return outcome(i) == tape.OutcomeOK }
	case "failed":
		of = failed
	case "cancelled":
		of = func(i int) bool { return outcome(i) == tape.OutcomeCancelled }
	case "abandoned", "abandoned_output_tokens":
		of = func(i int) bool { return outcome(i) == tape.OutcomeAbandoned }
	case "lost_output_tokens":
		of = func(i int) bool {
			return (failed(i) || outcome(i) == tape.OutcomeCancelled) && r.reqs[i].Output != metric.Absent
		}
	case "by_class":
		of = func(i int) bool { return failed(i) && string(outcome(i)) == what }
	case "by_status":
		of = func(i int) bool { return outcome(i) == tape.OutcomeStatus && strconv.Itoa(r.facts[i].status) == what }
	case "finish":
		of = func(i int) bool {
			f := r.facts[i].finish
			return outcome(i) == tape.OutcomeOK && (f == what || f == "" && what == "none")
		}
	case "flags":
		of = func(i int) bool { return outcome(i) == tape.OutcomeOK && contains(r.facts[i].flags, what) }
	case "attempts", "retried", "retry_wait_s":
		of = func(i int) bool { return r.facts[i].attempts > 1 }
	case "preparation", "warmup", "tail":
		x.rows("requests of other phases than the measured one", func(i int) bool {
			return !r.isMeasured(i) && (head == "preparation" || string(r.reqs[i].Phase) == head)
		})
		return
	default:
		c := x.res.Counts
		x.how("planned %d = %d ok + %d failed + %d cancelled + %d abandoned + %d not issued", c.Planned, c.OK, c.Failed, c.Cancelled, c.Abandoned, c.NotIssued)
		return
	}
	x.rows("requests that it counts, in plan order", measured(of))
}

func contains(all []string, s string) bool {
	for _, v := range all {
		if v == s {
			return true
		}
	}
	return false
}

// load names the requests with the largest values behind a fact of the load.
func (x *explainer) load(name string) {
	ms := func(of func(q *metric.Request) (int64, bool)) func(i int) (float64, bool) {
		return func(i int) (float64, bool) {
			v, ok := of(&x.r.reqs[i])
			return float64(v) / 1e6, ok
		}
	}
	var what string
	var of func(i int) (float64, bool)
	switch {
	case strings.HasPrefix(name, "slot_wait_"):
		what = "requests that waited for a slot, in ms, the longest first"
		wait := ms(stored(func(q *metric.Request) int64 { return q.SlotWait }))
		of = func(i int) (float64, bool) {
			v, ok := wait(i)
			return v, ok && v > 0
		}
	case strings.HasPrefix(name, "pacer_lag_"):
		what, of = "requests by pacer lag in ms, the largest first", ms(stored(func(q *metric.Request) int64 { return q.PacerLag }))
	case strings.HasPrefix(name, "send_lag_"):
		what, of = "requests by send lag in ms, the largest first", ms((*metric.Request).SendLag)
	case name == "late":
		what = "requests sent more than 1 ms after due, by send lag in ms"
		lag := ms((*metric.Request).SendLag)
		of = func(i int) (float64, bool) {
			v, ok := lag(i)
			return v, ok && v > float64(lateAfter)/1e6
		}
	default:
		return
	}
	var parts []part
	x.r.eachMeasured(func(i int, _ *metric.Request) {
		if v, ok := of(i); ok {
			parts = append(parts, part{i, v})
		}
	})
	x.list(what, largest(parts))
}

// check shows the evidence of a check.
func (x *explainer) check() {
	name := strings.TrimPrefix(x.c.Name, "checks.")
	for _, k := range x.res.Verdict.Checks {
		if k.Name != name {
			continue
		}
		x.e.Word, x.e.Value, x.e.Unit = k.Result, k.Value, k.Unit
		if k.Value != nil && k.Limit != nil {
			x.how("value %s, limit %s %s; severity %s", trim(*k.Value), trim(*k.Limit), k.Unit, k.Severity)
		} else {
			x.how("severity %s", k.Severity)
		}
		x.how("%s", k.Why)
		if k.Do != "" {
			x.how("what to do: %s", k.Do)
		}
	}
	if x.e.Word == "" {
		x.e.Absent = notMerged
	}
	x.evidence(name)
}

// evidence names the requests that a check looks at.
func (x *explainer) evidence(name string) {
	r := x.r
	okRows := func(what string, of func(i int, q *metric.Request) bool) {
		x.rows(what, func(i int) bool { return r.isMeasured(i) && r.reqs[i].OK && of(i, &r.reqs[i]) })
	}
	switch name {
	case "failures":
		x.count("failed")
	case "client_limit":
		x.count("by_class." + string(tape.OutcomeClient))
	case "attempts":
		x.count("retried")
	case "client_bound":
		x.load("pacer_lag_p99_ms")
		if !r.open() && x.e.RequestsAre != "" {
			x.e.RequestsAre += "; those of the start are not judged"
		}
	case "slot_wait":
		x.load("slot_wait_share")
	case "not_streamed":
		okRows("answers that came in one piece", func(i int, _ *metric.Request) bool { return contains(r.facts[i].flags, "not_streamed") })
	case "usage_missing":
		okRows("ok requests without a count of the server", func(_ int, q *metric.Request) bool {
			return unserved(q)
		})
	case "usage_contradicted":
		okRows("ok requests whose counts cannot be true", func(_ int, q *metric.Request) bool { return len(q.Contradicts) > 0 })
	case "output_short":
		okRows("ok requests shorter than asked", func(_ int, q *metric.Request) bool {
			return q.Output != metric.Absent && q.Asked != metric.Absent && q.Output < q.Asked
		})
	case "input_off_plan":
		okRows("ok requests whose input is not as long as the tokenizer says", func(_ int, q *metric.Request) bool {
			return q.Input != metric.Absent && q.AskedInput != metric.Absent && q.Input != q.AskedInput
		})
	case "output_off_text":
		okRows("ok requests whose output the tokenizer counts otherwise", func(_ int, q *metric.Request) bool { return recounted(q) && q.Output != q.Recount })
	case "bursts":
		okRows("ok requests whose output came in bursts", func(_ int, q *metric.Request) bool { return q.Bursty })
	case "cache_state":
		okRows("ok requests whose cached tokens are not observed", func(_ int, q *metric.Request) bool {
			_, _, ok := q.CachedTokens(r.proved)
			return !ok
		})
	case "cache_off_plan":
		okRows("ok requests that found another number of tokens in the cache than expected", func(i int, q *metric.Request) bool {
			n, _, ok := q.CachedTokens(r.proved)
			return ok && r.facts[i].expected != metric.Absent && n != r.facts[i].expected
		})
	case "token_sources":
		sources := map[string]int{}
		r.okMeasured(func(q *metric.Request) { sources[label(q.OutputSource)]++ })
		x.how("output tokens counted by: %s", breakdown(sources))
	}
}
