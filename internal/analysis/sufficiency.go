package analysis

import (
	"fmt"
	"math"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// sufficiency warns of windows too small to confirm a steady state.
func (r *run) sufficiency(w window.Interval, out *Window, o Options) {
	span := float64(w.To-w.From) / 1e9
	if out.Requests < o.MinRequests || span < o.MinSeconds {
		out.Warnings = append(out.Warnings, fmt.Sprintf("too small to confirm a steady state: %s and %.1f s; by convention %d and %.0f s are wanted",
			plural(out.Requests, "request"), span, o.MinRequests, o.MinSeconds))
	}
	if n := out.Facts.ServiceTimes; n != nil && *n < minServiceTimes {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%.1f median service times long; %d or more are wanted", *n, minServiceTimes))
	}
}

// trendShare is the change over a window, as a share of the mean, below which a
// trend is not worth a word.
const trendShare = 0.1

// trendFloor is the same for times, in nanoseconds.
const trendFloor = 1e6

// trends looks for what should not move in a steady window: TTFT, throughput
// and, in an open loop, the backlog. The whole run has a start and an end by
// definition and is not judged.
func (r *run) trends(w window.Interval) []string {
	if !w.OK || w.Kind == window.KindWhole {
		return nil
	}
	var found []string
	judge := func(name string, ys []float64, floor float64) {
		m, ok := stat.Mean(ys)
		if !ok || m == 0 {
			return
		}
		rise, sure := stat.Trend(ys)
		if share := rise / m; sure && math.Abs(share) > trendShare && math.Abs(rise) > floor {
			verb := "rises"
			if share < 0 {
				verb = "falls"
			}
			found = append(found, fmt.Sprintf("%s %s by %.0f %% of its mean over the window: not steady", name, verb, math.Abs(share)*100))
		}
	}
	series := func(name string, f func(*metric.Request) (int64, bool)) {
		var xs []float64
		for _, i := range w.Cohort {
			if v, ok := f(&r.reqs[i]); ok {
				xs = append(xs, float64(v))
			}
		}
		if ys, ok := stat.BatchMeans(xs, stat.TrendPoints); ok {
			judge(name, ys, trendFloor)
		}
	}
	series("TTFT", (*metric.Request).TTFT)
	if r.open() {
		series("slot wait (backlog)", stored(func(q *metric.Request) int64 { return q.SlotWait }))
	}
	if len(w.Cohort) < 2*stat.TrendPoints {
		return found
	}
	var output, level []float64
	for i := range stat.TrendPoints {
		from, to := slice(w, i, stat.TrendPoints)
		output = append(output, r.byEvents(from, to).output)
		m, _, _, _ := r.flight.Over(from, to)
		level = append(level, m)
	}
	judge("output throughput", output, 0)
	if r.open() {
		judge("the number in flight", level, 0)
	}
	return found
}

// primary is the window that sufficiency is judged by: the one that claims most.
func primary(ws []Window) *Window {
	for _, kind := range []string{window.KindSteady, window.KindStable, window.KindWhole} {
		for i := range ws {
			if ws[i].Kind == kind {
				return &ws[i]
			}
		}
	}
	return nil
}

// windowSufficiency: the primary window exists and is large enough to confirm a
// steady state.
func (r *run) windowSufficiency(res *Results, o Options) Check {
	c := Check{Name: "window_sufficiency", Severity: SeverityNote, Result: ResultPass, Unit: "requests", Limit: ref(float64(o.MinRequests)),
		Do: "send more requests (load.requests), or read the numbers as a look, not as a steady state"}
	w := primary(res.Windows)
	if w == nil {
		c.Result, c.Why = ResultNone, "no window"
		return c
	}
	c.Value = ref(float64(w.Requests))
	switch {
	case w.From == nil:
		c.Result, c.Why = ResultMiss, w.Why
	case float64(w.Requests) < float64(o.MinRequests) || *w.System.DurationS < o.MinSeconds || w.Facts.ServiceTimes != nil && *w.Facts.ServiceTimes < minServiceTimes:
		c.Result = ResultMiss
		c.Why = fmt.Sprintf("the %s window holds %s in %.1f s%s; wanted are %d, %.0f s and %d service times", w.Kind, plural(w.Requests, "request"), *w.System.DurationS,
			serviceTimes(w.Facts.ServiceTimes), o.MinRequests, o.MinSeconds, minServiceTimes)
	default:
		c.Why = fmt.Sprintf("the %s window holds %s in %.1f s%s", w.Kind, plural(w.Requests, "request"), *w.System.DurationS, serviceTimes(w.Facts.ServiceTimes))
	}
	return c
}

func serviceTimes(n *float64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(", %.1f median service times", *n)
}

// windowTrend: nothing that should stand still moves in the primary window.
func (r *run) windowTrend(res *Results) Check {
	c := Check{Name: "window_trend", Severity: SeverityNote, Result: ResultPass, Unit: "trends",
		Do: "an open loop above capacity has no steady state: lower the rate, or lengthen warm-up and ramp"}
	w := primary(res.Windows)
	if w == nil || w.From == nil || w.Kind == window.KindWhole {
		c.Result, c.Why = ResultNone, "no window that claims to be steady"
		return c
	}
	found := r.trended[w.Kind]
	c.Value, c.Limit = ref(float64(len(found))), ref(0)
	c.Why = "no trend in TTFT, throughput and backlog of the " + w.Kind + " window"
	if len(found) > 0 {
		c.Result, c.Why = ResultMiss, "in the "+w.Kind+" window "+join(found, "; ")
	}
	return c
}
