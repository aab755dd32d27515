package analysis

import (
	"fmt"
	"maps"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// tapeComplete: a footer that says the run went its whole way, and no line lost.
func (r *run) tapeComplete() Check {
	c := Check{Name: "tape_complete", Severity: SeverityFail, Result: ResultPass, Unit: "faults", Value: ref(float64(len(r.faults))), Limit: ref(0),
		Do: "the numbers cover only what is on the tape; run again and let it end"}
	switch {
	case r.footer != nil && (r.footer.Reason == tape.ReasonRefused || r.footer.Reason == tape.ReasonWarmup || r.footer.Reason == tape.ReasonPrepare || r.footer.Reason == tape.ReasonProbe):
		c.Do = "the server refused the first requests: mend what their message says (key, path, model), then run again"
	case r.footer != nil && len(r.faults) > 0:
		c.Do = "the file was changed or damaged after the run: read the original"
	}
	switch {
	case len(r.parts()) > 0 && len(r.unfinished()) > 0:
		c.Why = join(r.unfinished(), "; ")
	case r.footer == nil:
		c.Why = "incomplete run: the tape has no footer"
	case r.footer.Reason == tape.ReasonImported && len(r.faults) == 0:
		c.Why = "all that the imported results hold is on the tape; whether they are whole, they do not say"
		return c
	case !ended(r.footer.Reason) && len(r.parts()) == 0:
		c.Why = "the run was stopped: " + r.footer.Reason
	case len(r.faults) == 0:
		c.Why = "the run ended by itself: " + r.footer.Reason
		return c
	}
	c.Result = ResultMiss
	if len(r.faults) > 0 {
		if c.Why != "" {
			c.Why += "; "
		}
		c.Why += fmt.Sprintf("%s on the tape, first: %s", plural(int64(len(r.faults)), "fault"), r.faults[0])
	}
	return c
}

// countsAddUp: planned = ok + failed by class + cancelled + abandoned + not issued,
// by the footer and by the lines of the tape alike, and no row twice.
func (r *run) countsAddUp(res *Results) Check {
	c := Check{Name: "counts_add_up", Severity: SeverityFail, Result: ResultPass, Unit: "requests", Limit: ref(0),
		Do: "lines are missing or doubled: keep the tape and report it as a fault of the tool that wrote it"}
	n := res.Counts
	off := n.Planned - n.OK - n.Failed - n.Cancelled - n.Abandoned - n.NotIssued - n.Unrecorded
	c.Value = ref(float64(off))
	terms := fmt.Sprintf("ok %d + failed %d + cancelled %d + abandoned %d + not issued %d", n.OK, n.Failed, n.Cancelled, n.Abandoned, n.NotIssued)
	c.Why = fmt.Sprintf("planned %d = %s", n.Planned, terms)
	var twice int64
	var seqs []int64
	r.eachMeasured(func(_ int, q *metric.Request) { seqs = append(seqs, q.Seq) })
	slices.Sort(seqs)
	for i := 1; i < len(seqs); i++ {
		if seqs[i] == seqs[i-1] {
			twice++
		}
	}
	switch f := r.footer; {
	case off != 0:
		c.Result, c.Why = ResultMiss, fmt.Sprintf("planned %d, but %s = %d", n.Planned, terms, n.Planned-off)
	case twice > 0:
		c.Result, c.Value, c.Why = ResultMiss, ref(float64(twice)), plural(twice, "row")+" of the plan on the tape more than once"
	case f == nil:
		c.Result, c.Value = ResultNone, nil
		c.Why = fmt.Sprintf("no footer to compare with; on the tape ok %d, failed %d, cancelled %d, abandoned %d", n.OK, n.Failed, n.Cancelled, n.Abandoned)
	case f.OK != n.OK || f.Cancelled != n.Cancelled || f.Abandoned != n.Abandoned || !sameCounts(f.Failed, n.ByClass):
		c.Result = ResultMiss
		c.Why = fmt.Sprintf("the footer counts ok %d, failed %s, cancelled %d, abandoned %d; the lines ok %d, failed %s, cancelled %d, abandoned %d",
			f.OK, byClass(f.Failed), f.Cancelled, f.Abandoned, n.OK, byClass(n.ByClass), n.Cancelled, n.Abandoned)
	case f.Warmup.Or(n.Warmup) != n.Warmup || f.Tail.Or(n.Tail) != n.Tail:
		c.Result = ResultMiss
		c.Why = fmt.Sprintf("the footer counts %d of warm-up and %d of the tail, the lines %d and %d", f.Warmup.Or(n.Warmup), f.Tail.Or(n.Tail), n.Warmup, n.Tail)
	}
	return c
}

// byClass is "0", or the sum with its classes.
func byClass(m map[string]int64) string {
	var parts []string
	var sum int64
	for _, class := range slices.Sorted(maps.Keys(m)) {
		sum += m[class]
		parts = append(parts, fmt.Sprintf("%s %d", class, m[class]))
	}
	if sum == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", sum, join(parts, ", "))
}

// sameCounts compares counts by class; a class with 0 equals one that is not
// there.
func sameCounts(a, b map[string]int64) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	zero := func(_ string, n int64) bool { return n == 0 }
	maps.DeleteFunc(a, zero)
	maps.DeleteFunc(b, zero)
	return maps.Equal(a, b)
}
