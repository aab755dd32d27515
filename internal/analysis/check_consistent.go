package analysis

import (
	"fmt"
	"time"

	"tokentape/internal/analysis/metric"
)

// What no run can have, whatever wrote its tape.
const (
	longestRun  = int64(10 * 366 * 24 * time.Hour) // from t = 0 to any stamp, either way
	mostRows    = int64(1e12)                      // of a plan
	maxAttempts = 1 << 20                          // of a request
)

// tapeConsistent: what the lines say can be true together. A tape's hash proves that
// it is as it was sealed, not that it was sealed by a run.
func (r *run) tapeConsistent() Check {
	c := Check{Name: "tape_consistent", Severity: SeverityFail, Result: ResultPass, Unit: "contradictions", Limit: ref(0),
		Why: "nothing on the tape contradicts itself",
		Do:  "the tape was edited and sealed again, or its writer is at fault: read the original, or report it to the writer's author"}
	found := append(r.headerFaults(), r.footerFaults()...)
	n := int64(len(found))
	kinds := map[string]int{} // index in found
	count := map[string]int64{}
	for i := range r.reqs {
		kind, detail := r.requestFault(i)
		if kind == "" {
			continue
		}
		n++
		if count[kind]++; count[kind] == 1 {
			kinds[kind] = len(found)
			found = append(found, fmt.Sprintf("%s (request %d: %s", kind, r.reqs[i].Seq, detail))
		}
	}
	for kind, at := range kinds {
		if found[at] += ")"; count[kind] > 1 {
			found[at] += " and " + plural(count[kind]-1, "more request")
		}
	}
	if c.Value = ref(float64(n)); n > 0 {
		c.Result, c.Why = ResultMiss, join(found, "; ")
	}
	return c
}

// headerFaults are what the header says and cannot be.
func (r *run) headerFaults() []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	h, s := r.header, &r.spec
	if h.Anchor.Wall != "" || h.Import == nil { // imported results need not say when
		if _, err := time.Parse(time.RFC3339Nano, h.Anchor.Wall); err != nil {
			say("anchor.wall %.40q is no time (RFC 3339)", h.Anchor.Wall)
		}
	}
	if n := h.Plan.Rows; n < 0 || n > mostRows {
		say("plan.rows is %d", n)
	}
	for _, v := range []struct {
		path string
		v    float64
	}{
		{"load.requests", float64(s.Load.Requests)}, {"load.concurrency", float64(s.Load.Concurrency)}, {"load.rate", s.Load.Rate},
		{"load.warmup", float64(s.Load.Warmup)}, {"load.ramp.duration", float64(s.Load.Ramp.Duration)},
		{"limits.failed_share", s.Limits.FailedShare},
		{"devices.total", float64(s.Devices.Total)}, {"devices.prefill", float64(s.Devices.Prefill)}, {"devices.decode", float64(s.Devices.Decode)},
		{"cost.per_hour", s.Cost.PerHour}, {"cost.per_device_hour", s.Cost.PerDeviceHour}, {"energy.watts", s.Energy.Watts},
		{"report.slo.ttft_ms", s.Report.SLO.TTFT}, {"report.slo.ttft_from_due_ms", s.Report.SLO.TTFTFromDue}, {"report.slo.tpot_ms", s.Report.SLO.TPOT},
		{"report.slo.itl_ms", s.Report.SLO.ITL}, {"report.slo.e2e_ms", s.Report.SLO.E2E}, {"report.slo.e2e_from_due_ms", s.Report.SLO.E2EFromDue},
	} {
		if v.v < 0 {
			say("%s of the spec is %g", v.path, v.v)
		}
	}
	if s.Limits.FailedShare > 1 {
		say("limits.failed_share of the spec is %g", s.Limits.FailedShare)
	}
	for _, name := range s.Report.Strict {
		if _, ok := missed[name]; !ok {
			say("report.strict of the spec names %.40q, which is no check of this version: it cannot decide", name)
		}
	}
	return found
}

// footerFaults are what the footer says and cannot be.
func (r *run) footerFaults() []string {
	f := r.footer
	if f == nil {
		return nil
	}
	var found []string
	if f.Planned < 0 || f.NotIssued < 0 {
		found = append(found, fmt.Sprintf("the footer counts %d planned and %d not issued", f.Planned, f.NotIssued))
	}
	if f.TEnd > longestRun || f.TEnd < -longestRun {
		found = append(found, fmt.Sprintf("the footer ends the run %d s after its t = 0", f.TEnd/1e9))
	}
	return found
}

// requestFault is the first thing that a request's line says and cannot be, and what
// it says of it; empty for none.
func (r *run) requestFault(i int) (kind, detail string) {
	q, f := &r.reqs[i], &r.facts[i]
	for _, s := range []struct {
		name string
		t    int64
	}{
		{"t_due", q.Due}, {"t_ready", q.Ready}, {"t_released", q.Released}, {"t_wrote_first", q.WroteFirst}, {"t_first_token", q.FirstToken},
		{"t_first_visible", q.FirstVisible}, {"t_last_token", q.LastToken}, {"the last event", q.LastEvent}, {"t_end", q.End},
	} {
		if s.t != metric.Absent && (s.t > longestRun || s.t < -longestRun) {
			return "a stamp more than ten years from the run's t = 0", fmt.Sprintf("%s is %d s", s.name, s.t/1e9)
		}
	}
	switch imported := r.header.Import != nil; {
	case f.noPart:
		return "a part that the header does not name", "of the runs that were merged"
	case q.Due != metric.Absent && q.Released != metric.Absent && q.Due > q.Released:
		return "sent before it was due", fmt.Sprintf("t_due %d ns is after t_released %d ns", q.Due, q.Released)
	case q.OK && f.status/100 != 2 && (f.status != 0 || !imported && r.parts() == nil):
		return "an outcome ok without a status 2xx", fmt.Sprintf("HTTP status %d", f.status)
	case f.status != 0 && (f.status < 100 || f.status > 999):
		return "a status that HTTP does not have", fmt.Sprint(f.status)
	case f.attempts < 0 || f.attempts >= maxAttempts:
		return "an absurd number of attempts", fmt.Sprint(f.attempts)
	}
	return "", ""
}
