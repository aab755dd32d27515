package analysis

import (
	"fmt"
	"math"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// shortfall is one convention of size that a window misses.
type shortfall struct {
	value, limit float64
	unit, text   string // text: "11.2 s (60 wanted)"
}

// shortfalls are the conventions that a window of this size misses, in the order
// requests, seconds, service times; serviceTimes nil: not observed, not judged.
func shortfalls(requests int64, seconds float64, serviceTimes *float64, o Options) []shortfall {
	var missed []shortfall
	miss := func(value, limit float64, unit, text string) {
		if value < limit {
			missed = append(missed, shortfall{value, limit, unit, text})
		}
	}
	miss(float64(requests), float64(o.MinRequests), "requests", fmt.Sprintf("%s (%d wanted)", plural(requests, "request"), o.MinRequests))
	miss(seconds, o.MinSeconds, "s", fmt.Sprintf("%.1f s (%.4g wanted)", seconds, o.MinSeconds))
	if serviceTimes != nil {
		miss(*serviceTimes, minServiceTimes, "service times", fmt.Sprintf("%.1f median service times (%d wanted)", *serviceTimes, minServiceTimes))
	}
	return missed
}

func texts(missed []shortfall) string {
	words := make([]string, len(missed))
	for i, m := range missed {
		words[i] = m.text
	}
	return join(words, ", ")
}

// The least that a window shows rates of: what a few requests in a blink did is
// no rate of a service.
const (
	rateRequests     = 8
	rateServiceTimes = 1.0
)

// tooFew says why a part of a run has no rates; "" where it has. The whole run, and
// a phase of it, are what they are.
func tooFew(w window.Interval, out *Window) string {
	switch n := out.Facts.ServiceTimes; {
	case w.Kind == window.KindWhole || window.IsPhase(w.Kind) && out.Held() > 0:
		return ""
	case out.Held() < rateRequests:
		return fmt.Sprintf("the window holds %s (%d wanted for a rate)", plural(out.Held(), "request"), rateRequests)
	case n != nil && *n < rateServiceTimes:
		return fmt.Sprintf("the window is %.2f median E2E long (1 wanted for a rate)", *n)
	}
	return ""
}

// sufficiency warns of windows too small to confirm a steady state.
func (r *run) sufficiency(w window.Interval, out *Window, o Options) {
	if missed := shortfalls(out.Held(), float64(w.Length())/1e9, out.Facts.ServiceTimes, o); len(missed) > 0 {
		out.Warnings = append(out.Warnings, "too small to confirm a steady state (convention): "+texts(missed))
	}
}

// Short says that the window has seen fewer generations of requests than the convention
// asks for: where they move in step, a rate by ends is then off by up to one of them.
// "" where it has seen enough, or they were not observed.
func (w *Window) Short() string {
	if n := w.Facts.ServiceTimes; n != nil && *n < minServiceTimes {
		return fmt.Sprintf("the %s window is %.1f median service times long (%d wanted)", w.Kind, *n, minServiceTimes)
	}
	return ""
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
	output, level, unit := r.tenths(w)
	if text := r.stretch(w, output, level, unit); text != "" {
		found = append(found, text)
	} else {
		judge("output throughput", output, 0)
	}
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
// steady state. Value and limit are those of the first convention missed, of
// requests when none is.
func (r *run) windowSufficiency(res *Results, o Options) Check {
	c := Check{Name: "window_sufficiency", Severity: SeverityNote, Result: ResultPass, Unit: "requests", Limit: ref(float64(o.MinRequests)),
		Do: "send more requests (load.requests), or take the numbers as a look, not as a steady state"}
	w := primary(res.Windows)
	if w == nil {
		c.Result, c.Why = ResultNone, "no window"
		return c
	}
	if w.From == nil {
		c.Result, c.Why = ResultMiss, w.Why
		if do := window.ChooseOver(w.Kind, r.reqs, r.groups).Do; do != "" {
			c.Do = do
		}
		return c
	}
	c.Value = ref(float64(w.Held()))
	c.Why = fmt.Sprintf("the %s window holds %s in %.1f s%s", w.Kind, plural(w.Held(), "request"), *w.System.DurationS, serviceTimes(w.Facts.ServiceTimes))
	if missed := shortfalls(w.Held(), *w.System.DurationS, w.Facts.ServiceTimes, o); len(missed) > 0 {
		c.Result, c.Value, c.Limit, c.Unit = ResultMiss, ref(missed[0].value), ref(missed[0].limit), missed[0].unit
		c.Why = fmt.Sprintf("too small to confirm a steady state (convention): the %s window holds %s", w.Kind, texts(missed))
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
		Do: "an open loop above capacity has no steady state: lower the rate, or lengthen warm-up and ramp; a stretch without output is the server's: see its log of that time"}
	w := primary(res.Windows)
	if w != nil && w.From == nil { // there is no steady one: the other that claims to be
		w = primary(slices.DeleteFunc(slices.Clone(res.Windows), func(w Window) bool { return w.From == nil }))
	}
	if w == nil || w.From == nil || w.Kind == window.KindWhole {
		c.Result, c.Why = ResultNone, "no window that claims to be steady"
		return c
	}
	if w.Held() < 2*stat.TrendPoints {
		c.Result = ResultNone
		c.Why = fmt.Sprintf("the %s window holds %s: too few to look for a trend (%d wanted)", w.Kind, plural(w.Held(), "request"), 2*stat.TrendPoints)
		return c
	}
	found := r.trended[w.Kind]
	c.Value, c.Limit = ref(float64(len(found))), ref(0)
	c.Why = "no trend, step or empty stretch in TTFT, throughput and backlog of the " + w.Kind + " window"
	if len(found) > 0 {
		c.Result, c.Why = ResultMiss, "in the "+w.Kind+" window "+join(found, "; ")
	}
	return c
}
