package analysis

import (
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// rateIntervals are 95 % intervals of the steady rates by sectioning over time:
// 20 stretches of equal length. They need 10 service times.
func (r *run) rateIntervals(w window.Interval, out *Window) {
	if out.Facts.ServiceTimes == nil || *out.Facts.ServiceTimes < minServiceTimes {
		return
	}
	var output, requests [stat.BatchesCentre]float64
	for b := range output {
		from, to := slice(w, b, stat.BatchesCentre)
		f := r.byEvents(from, to)
		span := float64(to-from) / 1e9
		output[b], requests[b] = f.output/span, f.requests/span
	}
	put := func(name string, v *float64, batches []float64) {
		if v == nil {
			return
		}
		h := stat.HalfWidth(batches, *v)
		if out.System.CI == nil {
			out.System.CI = map[string][2]*float64{}
		}
		out.System.CI[name] = [2]*float64{ref(max(0, *v-h)), ref(*v + h)}
	}
	put("output_tokens_per_s", out.System.OutputTokensPerS, output[:])
	put("requests_per_s", out.System.RequestsPerS, requests[:])
}

// slice is the i-th of n equal parts of a window.
func slice(w window.Interval, i, n int) (from, to int64) {
	d := w.To - w.From
	return w.From + d*int64(i)/int64(n), w.From + d*int64(i+1)/int64(n)
}
