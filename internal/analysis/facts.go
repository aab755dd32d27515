package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// about repeats the header.
func (r *run) about(res *Results) {
	h := r.header
	res.Run, res.Name = h.Run, h.Name
	if res.Name == "" {
		res.Name = r.spec.Name
	}
	res.Notes = h.Notes
	a := About{
		Started: h.Anchor.Wall, URL: h.Server.URL, API: r.spec.Target.API, Model: h.Server.Model,
		Engine: h.Server.Engine, Version: h.Server.Version,
		Dataset: h.Data.Path, DataSHA256: h.Data.SHA256, DataRows: h.Data.Rows, PlanSHA256: h.Plan.SHA256,
		Tool: strings.TrimSpace("tokentape " + h.Tool.Version), Host: host(h.Host),
		Devices: r.spec.Devices.Total, Prefill: r.spec.Devices.Prefill, Decode: r.spec.Devices.Decode, Stop: "incomplete",
	}
	_, a.Price = r.perHour()
	if r.footer != nil {
		a.Stop, a.StopWhy = r.footer.Reason, r.footer.Message
	}
	for _, x := range r.calls {
		res.Calls = append(res.Calls, Call{What: x.What, URL: x.URL, TS: float64(x.T) / 1e9, MS: float64(x.TEnd-x.T) / 1e6, Status: known(x.Status.Or(metric.Absent)), OK: x.OK, Message: x.Message})
	}
	a.Faults = append(a.Faults, r.faults...)
	res.About = a
}

// host is the client's machine in words; empty when an imported tape knows none.
func host(h tape.Host) string {
	if h.CPUs == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s, %d CPUs", h.OS, h.Arch, h.CPUs)
}

// counts of the measured phase, from the requests on the tape; planned and not
// issued are the footer's, or the plan's where there is no footer.
func (r *run) counts() Counts {
	c := Counts{ByClass: map[string]int64{}, Finish: map[string]int64{}}
	for i := range r.reqs {
		q, f := &r.reqs[i], &r.facts[i]
		if q.Phase != tape.PhaseMeasure {
			c.Preparation++
			switch q.Phase {
			case tape.PhaseWarmup:
				c.Warmup++
			case tape.PhaseTail:
				c.Tail++
			}
			continue
		}
		c.Issued++
		c.Attempts += int64(max(1, f.attempts))
		if f.attempts > 1 {
			c.Retried++
			c.RetryWaitS += f.waited / 1e9
		}
		switch f.outcome {
		case tape.OutcomeOK:
			c.OK++
			c.Finish[cmp.Or(f.finish, "none")]++
			for _, w := range f.flags {
				c.Flags = more(c.Flags, w)
			}
			continue
		case tape.OutcomeAbandoned:
			c.Abandoned++
			if q.Output != metric.Absent {
				c.AbandonedOutputTokens += q.Output
			}
			continue
		case tape.OutcomeCancelled:
			c.Cancelled++
		default:
			c.Failed++
			c.ByClass[string(f.outcome)]++
			if f.outcome == tape.OutcomeStatus && f.status > 0 {
				code := strconv.Itoa(f.status)
				c.ByStatus = more(c.ByStatus, code)
				c.StatusExamples = example(c.StatusExamples, code, f.message)
			}
		}
		if q.Output != metric.Absent {
			c.LostOutputTokens += q.Output
		}
		c.Examples = example(c.Examples, string(f.outcome), f.message)
	}
	c.Planned = r.planned(c.Issued)
	if r.footer != nil {
		c.NotIssued, c.Unrecorded = r.footer.NotIssued, r.unrecorded()
	} else {
		c.Unrecorded = max(0, c.Planned-c.Issued)
	}
	return c
}

// more counts one of name in m, which may be nil.
func more(m map[string]int64, name string) map[string]int64 {
	if m == nil {
		m = map[string]int64{}
	}
	m[name]++
	return m
}

// example keeps the first message of name in m, which may be nil.
func example(m map[string]string, name, message string) map[string]string {
	if _, ok := m[name]; ok || message == "" {
		return m
	}
	if m == nil {
		m = map[string]string{}
	}
	m[name] = message
	return m
}

// planned is the number of measured requests that the run set out to send.
func (r *run) planned(issued int64) int64 {
	switch {
	case r.footer != nil:
		return r.footer.Planned + r.unrecorded()
	case r.header.Plan.Rows > 0:
		return max(issued, r.header.Plan.Rows-cmp.Or(r.header.Plan.Warmup, r.spec.Load.Warmup))
	}
	return max(issued, r.spec.Load.Requests)
}

// lateAfter is how far behind its due time a row counts as late.
const lateAfter = int64(1e6)

// load says what was offered and what happened.
func (r *run) load() Load {
	l := Load{Loop: "closed", Requests: r.planned(0), Concurrency: r.spec.Load.Concurrency}
	if r.open() {
		l.Loop = "open"
	} else if r.header.Import != nil && l.Concurrency == 0 {
		l.Loop = "" // neither due times nor a cap were recorded
	}
	if r.spec.Load.Rate > 0 {
		l.RateAsked = ref(r.spec.Load.Rate)
	}
	due, sent := r.spans(), r.spans()
	var waits, lags, sends []float64
	var waited, late, fresh, again int64
	going := make([]window.Span, len(r.groups)) // first release to last end
	for g := range going {
		going[g] = window.Span{From: math.MaxInt64, To: math.MinInt64}
	}
	r.eachMeasured(func(i int, q *metric.Request) {
		g := r.group(i)
		if q.Session && l.Loop == "open" {
			l.Loop = "partly open" // sessions are sent when due, their turns when the one before has ended
		}
		if !q.Later { // rates are planned for sessions, not for what follows in them
			due[g].add(q.Due)
		}
		if l.Loop != "partly open" || !q.Later {
			sent[g].add(q.WroteFirst)
		}
		if q.Released != metric.Absent {
			going[g].From, going[g].To = min(going[g].From, q.Released), max(going[g].To, q.Released, q.End)
		}
		if q.SlotWait != metric.Absent {
			waited++
			if q.SlotWait > 0 {
				waits = append(waits, float64(q.SlotWait)/1e6)
			}
		}
		if q.PacerLag != metric.Absent {
			lags = append(lags, float64(q.PacerLag)/1e6)
		}
		if lag, ok := q.SendLag(); ok {
			sends = append(sends, float64(lag)/1e6)
			if lag > lateAfter {
				late++
			}
		}
		if reused := r.facts[i].reused; reused != nil {
			if *reused {
				again++
			} else {
				fresh++
			}
		}
	})
	l.RatePlanned, l.RateAchieved = due.rate(), sent.rate()
	if len(sends) > 0 {
		l.Late = &late
	}
	if fresh+again > 0 {
		l.NewConnections, l.ReusedConnections = &fresh, &again
	}
	if waited > 0 {
		l.SlotWaitShare = ref(float64(len(waits)) / float64(waited))
	}
	l.SlotWaitMeanMS, l.SlotWaitMaxMS = mean(waits), greatest(waits)
	l.PacerLagP50MS, l.PacerLagP99MS, l.PacerLagMaxMS = quantile(lags, 0.5), quantile(lags, 0.99), greatest(lags)
	l.SendLagP99MS, l.SendLagMaxMS = quantile(sends, 0.99), greatest(sends)
	if going = slices.DeleteFunc(going, func(s window.Span) bool { return s.From > s.To }); len(going) > 0 && !r.untimed() {
		if m, _, peak, ok := r.over(going); ok {
			l.ConcurrencyMean, l.ConcurrencyPeak = &m, &peak
		} else {
			l.ConcurrencyPeak = &peak
		}
	}
	r.client(&l)
	return l
}

// client sums up the samples of the client's own health.
func (r *run) client(l *Load) {
	if len(r.samples) == 0 {
		return
	}
	var cpu, sched []float64
	var pause, queue int64
	for _, s := range r.samples {
		cpu = append(cpu, s.CPU)
		sched = append(sched, float64(s.SchedP99)/1e6)
		pause += s.GCPause
		queue = max(queue, s.Queue)
	}
	l.CPUMean, l.CPUPeak, l.QueuePeak = mean(cpu), greatest(cpu), &queue
	// The median over samples: one bad interval is no verdict on a run.
	l.SchedP99MS = quantile(sched, 0.5)
	l.GCPauseMS = ref(float64(pause) / 1e6)
	r.clientWait(l)
}

// span is a number of points in time and their ends.
type span struct{ n, first, last int64 }

func (s *span) add(t int64) {
	if t == metric.Absent {
		return
	}
	if s.n == 0 {
		s.first, s.last = t, t
	}
	s.n++
	s.first, s.last = min(s.first, t), max(s.last, t)
}

func mean(xs []float64) *float64 {
	if m, ok := stat.Mean(xs); ok {
		return &m
	}
	return nil
}

func greatest(xs []float64) *float64 {
	if len(xs) == 0 {
		return nil
	}
	return ref(slices.Max(xs))
}

func quantile(xs []float64, q float64) *float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	if v, ok := stat.Quantile(s, q); ok {
		return &v
	}
	return nil
}
