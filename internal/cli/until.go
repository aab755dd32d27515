package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
	"tokentape/internal/clock"
	"tokentape/internal/run"
	"tokentape/internal/spec"
)

// When a point is judged that ends as soon as it is exact: first after untilFirst, then
// whenever it is longer by untilGrowth. A look reads the tape as a report does, on this
// machine's processor: looks far apart cost a small share of the run, and a few looks
// keep small the harm of stopping at a moment that looks exact by chance.
const (
	untilFirst  = 3 * time.Second
	untilGrowth = 1.3
)

// obeyUntil ends the issuing of a point as soon as the interval of its steady window is
// as narrow as asked for. The judgement is that of the report: the same code reads the
// tape at path as far as it has been written.
func obeyUntil(u *spec.Until, path string, clk *clock.Clock, cfg *run.Config, log *runLog) {
	if u == nil || u.RelativeWidth <= 0 {
		return
	}
	enough := make(chan string, 1)
	cfg.Enough = enough
	cfg.Samplers = append(cfg.Samplers, func(ctx context.Context, _ func() run.Gauges, _ func(any)) {
		for at := float64(untilFirst); ; at *= untilGrowth {
			if clk.SleepUntil(ctx, int64(at)) != nil || ctx.Err() != nil {
				return
			}
			begun := clk.Now()
			width, value, ok := widthOf(u, path)
			log.say("until", "%s", untilText(u, width, value, ok)+fmt.Sprintf(", looked at for %s", time.Duration(clk.Now()-begun).Round(time.Millisecond)))
			if ok && width <= u.RelativeWidth {
				enough <- untilText(u, width, value, ok)
				return
			}
		}
	})
}

// widthOf is half the width of the interval over the value, and the value; false where
// there is no interval yet.
func widthOf(u *spec.Until, path string) (width, value float64, ok bool) {
	res, err := analyse(path, analysis.Options{Windows: []string{string(window.KindSteady)}}, "")
	if err != nil {
		return 0, 0, false
	}
	metric, what, _ := strings.Cut(u.Metric, ".")
	for _, w := range res.Windows {
		s := w.Metrics[metric]
		if s == nil {
			continue
		}
		v := map[string]*float64{"mean": s.Mean, "p50": s.P50, "p90": s.P90, "p95": s.P95, "p99": s.P99}[what]
		ci := s.CI[what]
		if v == nil || *v <= 0 || ci[0] == nil || ci[1] == nil {
			return 0, 0, false
		}
		return (*ci[1] - *ci[0]) / 2 / *v, *v, true
	}
	return 0, 0, false
}

func untilText(u *spec.Until, width, value float64, ok bool) string {
	if !ok {
		return u.Metric + " has no interval yet"
	}
	return fmt.Sprintf("%s is known to ±%.3g %% (%.4g), %.3g %% were asked for", u.Metric, 100*width, value, 100*u.RelativeWidth)
}
