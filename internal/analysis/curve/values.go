package curve

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
)

// Stats are the statistics of a metric of requests that a point has.
var Stats = []string{"mean", "p50", "p95", "p99"}

// metrics are those of requests that a point has. The first three are shown of a
// closed loop, with those from due in their place of an open one.
var metrics = []string{"ttft_ms", "tpot_ms", "e2e_ms", "ttft_from_due_ms", "e2e_from_due_ms", "itl_ms", "input_tokens", "output_tokens"}

// latencies are the metrics that have no percentiles at a load that is not kept up with.
var latencies = []string{"ttft_ms", "tpot_ms", "e2e_ms", "ttft_from_due_ms", "e2e_from_due_ms", "itl_ms"}

// system are the values of a window that a point has.
var system = []string{"requests_per_s", "output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s", "concurrency_mean"}

// split takes the statistic off a name: ttft_ms, p95.
func split(name string) (key, stat string) {
	if key, stat, ok := strings.Cut(name, "."); ok && slices.Contains(Stats, stat) {
		return key, stat
	}
	return name, ""
}

// usable is a window from which rates can be read, nil when the run has none of that
// kind; why says so.
func usable(res *analysis.Results, kind string) (w *analysis.Window, why string) {
	for i := range res.Windows {
		w := &res.Windows[i]
		if w.Kind != kind {
			continue
		}
		if w.From == nil {
			return nil, w.Why
		}
		if w.System.RequestsPerS == nil && w.Kind != window.KindWhole {
			return nil, fmt.Sprintf("the %s window is too short for a rate: it holds %d requests", kind, w.Held())
		}
		return w, ""
	}
	return nil, "no " + kind + " window"
}

// misfitBy is how far requests/s may lie from what output tokens/s say of it.
const misfitBy = 0.15

// misfit says where requests/s of a short window does not fit its output tokens/s: a
// token counts when it came, a request when it ended, and of a few generations of
// requests that move in step a window holds one end too many. "" where it fits.
func misfit(w *analysis.Window) string {
	rate, tokens, each := w.System.RequestsPerS, w.System.OutputTokensPerS, w.Metrics["output_tokens"]
	if rate == nil || tokens == nil || each == nil || each.Mean == nil || *each.Mean <= 0 || *tokens <= 0 || w.Short() == "" {
		return ""
	}
	by := *tokens / *each.Mean
	if math.Abs(*rate-by) <= misfitBy*by {
		return ""
	}
	return fmt.Sprintf("%s requests/s do not fit %s output tokens/s at %s a request, which make %s: %s; go by the tokens", digits(*rate), digits(*tokens), digits(*each.Mean), digits(by), w.Short())
}

// valuesOf are the values of one run in one window.
func valuesOf(r *Result, w *analysis.Window) map[string]Value {
	res := r.Res
	out := map[string]Value{}
	put := func(name string, v *float64, ci [2]*float64) {
		out[name] = Value{Value: v, CI: ci, By: within(ci)}
	}
	s := &w.System
	for name, v := range map[string]*float64{
		"requests_per_s": s.RequestsPerS, "output_tokens_per_s": s.OutputTokensPerS, "input_tokens_per_s": s.InputTokensPerS,
		"total_tokens_per_s": s.TotalTokensPerS, "concurrency_mean": s.ConcurrencyMean,
	} {
		put(name, v, s.CI[name])
	}
	for _, name := range metrics {
		m := w.Metrics[name]
		for _, stat := range Stats {
			out[name+"."+stat] = of(m, stat)
		}
	}
	f := &w.Facts
	if g := f.Goodput; g != nil {
		put("slo_good_share", g.Share, g.CI["share"])
		put("slo_good_requests_per_s", g.RequestsPerS, g.CI["requests_per_s"])
		put("slo_good_output_tokens_per_s", g.OutputTokensPerS, g.CI["output_tokens_per_s"])
	}
	put("cached_ratio", f.CachedRatio, [2]*float64{})
	put("server_queue", serverQueue(res, w.Kind), [2]*float64{})
	if d := res.About.Devices; d > 0 {
		row := fmt.Sprintf("output_tokens_per_s_per_%d_devices", d)
		put("output_tokens_per_s_per_device", s.PerDevices[row], s.CI[row])
	}
	out["output_tokens_per_s_per_user"] = image(out["tpot_ms.p50"], func(ms float64) float64 { return 1000 / ms })
	if g := r.backlog; g != nil {
		put("offered_per_s", g.offered, [2]*float64{})
		put("kept_up_per_s", g.kept, [2]*float64{})
		put("backlog_slope_per_s", g.slope, g.ci)
		put("backlog_end", g.end, [2]*float64{})
	}
	for name, v := range out {
		if v.Value == nil && v.Why == "" {
			v.Why = "not observed"
			out[name] = v
		}
	}
	return out
}

// within is how an interval of one run was had, "" where there is none.
func within(ci [2]*float64) string {
	if ci[0] == nil || ci[1] == nil {
		return ""
	}
	return ByRun
}

// of is a statistic of a summary.
func of(m *analysis.Summary, stat string) Value {
	if m == nil || m.N == 0 {
		return Value{Why: "not observed"}
	}
	v := Value{N: m.N, CI: m.CI[stat]}
	v.By = within(v.CI)
	v.Value = map[string]*float64{"mean": m.Mean, "p50": m.P50, "p95": m.P95, "p99": m.P99}[stat]
	if v.Value == nil {
		v.Why = "n too small"
	}
	return v
}

// image is f of a value, f being monotone.
func image(v Value, f func(float64) float64) Value {
	if v.Value == nil || *v.Value <= 0 {
		return Value{N: v.N, Why: v.Why}
	}
	out := Value{Value: ref(f(*v.Value)), N: v.N}
	if v.CI[0] != nil && v.CI[1] != nil && *v.CI[0] > 0 {
		lo, hi := f(*v.CI[0]), f(*v.CI[1])
		out.CI, out.By = [2]*float64{ref(min(lo, hi)), ref(max(lo, hi))}, v.By
	}
	return out
}

// serverQueue is the mean depth of the queues that metrics pages tell of in a window.
func serverQueue(res *analysis.Results, kind string) *float64 {
	if res.Server == nil {
		return nil
	}
	var sum *float64
	for _, w := range res.Server.Windows {
		for _, row := range w.Rows {
			if w.Window == kind && row.Name == "queue_depth" && row.Mean != nil {
				if sum == nil {
					sum = ref(0)
				}
				*sum += *row.Mean
			}
		}
	}
	return sum
}

// cachedFrom says how the cached tokens of a window are known.
func cachedFrom(f *analysis.WindowFacts) string {
	n := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	observed, inferred, none := n(f.CachedN), n(f.CachedInferN), n(f.CachedNoneN)
	switch {
	case f.CachedRatio == nil:
		return "not observed"
	case none > 0:
		return fmt.Sprintf("known of %d of %d requests", observed+inferred, observed+inferred+none)
	case inferred > 0 && observed > 0:
		return "observed, zeros inferred"
	case inferred > 0:
		return "inferred"
	}
	return "observed"
}

func ref(v float64) *float64 { return &v }
