package analysis

import (
	"fmt"
	"math"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// What makes a stretch of a window one without output: its share of the median
// tenth, and the load that was there all the same, as a share of the median's.
const (
	emptyShare = 0.1
	loadShare  = 0.5
	leastSends = 4.0 // sends in the median tenth, for a tenth to say anything
)

// tenths are output and mean number in flight over each tenth of a window. The
// output is in tokens, or in requests where no token was counted.
func (r *run) tenths(w window.Interval) (output, level []float64, unit string) {
	var requests []float64
	var tokens float64
	for i := range stat.TrendPoints {
		at := w.Slice(i, stat.TrendPoints)
		f := r.flowIn(at)
		output, requests, tokens = append(output, f.output), append(requests, f.requests), tokens+f.output
		m, _, _, _ := r.over(at)
		level = append(level, m)
	}
	if tokens == 0 {
		return requests, level, "requests/s"
	}
	return output, level, "tok/s"
}

// stretch finds a part of a window in which output fell or rose and came back, or
// stayed: a server that died, restarted or was choked for a while has no trend. It
// is "" where there is none. Two looks: tenths with next to no output although
// requests went out, and a stretch of at least two tenths that stands out from the
// rest by more than trendShare. Neither tells anything of less than a median E2E: one
// long prompt may stop the others that long.
func (r *run) stretch(w window.Interval, output, level []float64, unit string) string {
	length := float64(w.Length()) / stat.TrendPoints / 1e9
	long := func(tenths int) bool { return float64(tenths)*r.medianE2Es(w) >= stat.TrendPoints }
	mid := func(xs []float64) float64 { return stat.At(xs, 500) }
	if m := mid(output); m > 0 {
		sends := make([]float64, stat.TrendPoints)
		for i := range r.reqs {
			if t := r.reqs[i].Released; t != metric.Absent && w.Holds(t) {
				sends[min(stat.TrendPoints-1, int((w.Place(t)-1)*stat.TrendPoints/w.Length()))]++
			}
		}
		usual, full := mid(sends), mid(level)
		from := -1
		for i := range stat.TrendPoints + 1 {
			loaded := i < stat.TrendPoints && (usual >= leastSends && sends[i] >= loadShare*usual || level[i] >= max(1, loadShare*full))
			if loaded && output[i] <= emptyShare*m {
				if from < 0 {
					from = i
				}
				continue
			}
			if from >= 0 && long(i-from) {
				return fmt.Sprintf("output all but stops %s, although requests went out: %s, against %s in the median tenth of the window: not steady",
					r.part(w, from, i), perSecond(output[from:i], length, unit), perSecond([]float64{m}, length, unit))
			}
			from = -1
		}
	}
	i, j, shift, sure := stat.Stretch(output)
	all, _ := stat.Mean(output)
	rest := all - float64(shift*float64(j-i))/stat.TrendPoints // mean of the others
	if !sure || j-i < 2 || !long(j-i) || rest <= 0 || math.Abs(shift) <= trendShare*rest {
		return ""
	}
	verb := "falls"
	if shift > 0 {
		verb = "rises"
	}
	return fmt.Sprintf("output throughput %s by %.0f %% %s: %s, against %s in the rest of the window: not steady",
		verb, math.Abs(shift)/rest*100, r.part(w, i, j), perSecond(output[i:j], length, unit), perSecond([]float64{rest}, length, unit))
}

// part is the time of tenths i to j of a window in words.
func (r *run) part(w window.Interval, i, j int) string {
	first, last := w.Slice(i, stat.TrendPoints), w.Slice(j-1, stat.TrendPoints)
	return fmt.Sprintf("from %.1f to %.1f s", float64(first[0].From)/1e9, float64(last[len(last)-1].To)/1e9)
}

// perSecond is the mean of tenths as a rate.
func perSecond(tenths []float64, length float64, unit string) string {
	m, _ := stat.Mean(tenths)
	return digits(m/length) + " " + unit
}
