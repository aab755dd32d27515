package plan

import "math"

// replay makes the rows of a trace: those of the window, in the order of their
// times, due at round((t − t₀)·scale), where t₀ is the time of the first.
func (p *Plan) replay(times []int64) error {
	q := p.Params
	if times == nil {
		return issue("load.arrivals", "a trace with timestamps (workload.dataset.format: mooncake, burstgpt or azure)", "replay needs rows with timestamps, and these have none")
	}
	from, to := 0, len(times)
	for from < to && times[from] < q.Replay.From {
		from++
	}
	for q.Replay.To > 0 && to > from && times[to-1] >= q.Replay.To {
		to--
	}
	if from == to {
		return issue("load.replay.from", "widen the window", "no row of the trace, whose times go from 0 s to %s, is left by load.replay", seconds(times[len(times)-1]))
	}
	want := int64(to - from)
	if q.Requests > 0 {
		if want = q.Requests + q.Warmup; want > int64(to-from) {
			return issue(q.bound(), "ask for fewer, or widen load.replay", "%d measured and %d warm-up requests are more than the %d rows of the trace's window", q.Requests, q.Warmup, to-from)
		}
	}
	if want > MaxRows {
		return tooMany(q, want)
	}
	p.rows = make([]row, 0, want)
	for i := range int(want) {
		due := scaled(times[from+i]-times[from], q.Replay.Scale)
		if q.Duration > 0 && due >= q.Duration {
			break
		}
		if due > maxDue {
			return issue("load.replay.scale", "make it smaller", "row %d of the trace would be due after more than 100 years", from+i)
		}
		p.rows = append(p.rows, row{due: due, item: int64(from + i), output: q.Output, warmup: int64(i) < q.Warmup})
	}
	return p.someMeasured()
}

// scaled is t·scale, rounded; exact when scale is 1.
func scaled(t int64, scale float64) int64 {
	if scale == 1 {
		return t
	}
	v := math.Round(float64(float64(t) * scale))
	if !(v < 2*maxDue) {
		return 2 * maxDue
	}
	return int64(v)
}

func (q Params) checkReplay() error {
	r := q.Replay
	switch {
	case r == nil || !(r.Scale >= 1e-6 && r.Scale <= 1e6) || r.From < 0 || r.To < 0 || r.To > 0 && r.To <= r.From:
		return issue("load.replay", "scale above 0, from before to", "is no part of a trace")
	case q.Rate != 0 || len(q.Stages) > 0 || q.RampShape != "" || q.Conditioned || q.Stagger != 0:
		return issue("load.arrivals", "", "a rate, stages, a ramp, conditioning or staggering beside replay has no effect")
	case q.Repeat != RepeatNone || q.Order != OrderFile:
		return issue("load.arrivals", "", "replay sends each row once, in the order of time")
	}
	return nil
}
