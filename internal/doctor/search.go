package doctor

import (
	"context"
	"slices"
	"time"

	"tokentape/tape"
)

// Goal is what a search for the envelope looks for.
type Goal struct {
	Limit  time.Duration // of the 99th percentile of a stamp's error
	Rates  []float64     // tokens/s of a stream, each searched by itself
	From   int64         // streams of the first load
	Most   int64         // streams that descriptors and memory allow
	Budget time.Duration // for all loads together
	Finer  int           // loads between the last that held and the first that did not
}

// Try sends one load and tells how far its stamps were off.
type Try func(ctx context.Context, streams int64, rate float64) (tape.EnvelopePoint, error)

// kept is the share of the events asked for that must have come: a server that falls
// behind makes a load lighter, and says nothing of the client.
const kept = 0.9

// Search doubles the streams until the limit is passed twice in a row at the same load,
// for a moment's disturbance is no limit, then looks between. now is the time in ns and
// took how long one try takes: none is begun that would end after the budget. The points
// come in order of rate and streams. Its error is the first of try; what was found
// before is returned with it.
func Search(ctx context.Context, g Goal, now func() int64, took time.Duration, try Try) ([]tape.EnvelopePoint, error) {
	var points []tape.EnvelopePoint
	begun := now()
	for i, rate := range g.Rates {
		// Each rate gets its share of what is left.
		left := int64(g.Budget) - (now() - begun)
		end := now() + left/int64(len(g.Rates)-i)
		found, err := searchRate(ctx, g, rate, func() bool { return now()+int64(took) <= end }, try)
		points = append(points, found...)
		if err != nil {
			return order(points), err
		}
	}
	return order(points), nil
}

func searchRate(ctx context.Context, g Goal, rate float64, may func() bool, try Try) (points []tape.EnvelopePoint, err error) {
	once := func(n int64) (held, ok bool) {
		for range 2 {
			if !may() || err != nil {
				return false, false
			}
			var p tape.EnvelopePoint
			if p, err = try(ctx, n, rate); err != nil {
				return false, false
			}
			p.Held = p.Error <= int64(g.Limit) && p.Events >= kept*float64(n)*rate
			points = append(points, p)
			if p.Held {
				return true, true
			}
		}
		return false, true
	}
	low, high := int64(0), int64(0) // the most that held, the least that did not
	for n := min(max(g.From, 1), g.Most); ; n = min(2*n, g.Most) {
		held, ok := once(n)
		if !ok {
			return points, err
		}
		if !held {
			high = n
			break
		}
		if low = n; n >= g.Most {
			return points, nil
		}
	}
	for range g.Finer {
		n := (low + high) / 2
		if n <= low || n < 1 || high-low < max(high/8, 2) {
			break
		}
		held, ok := once(n)
		if !ok {
			break
		}
		if held {
			low = n
		} else {
			high = n
		}
	}
	return points, err
}

// order sorts the points, and keeps of each load the try that went best.
func order(points []tape.EnvelopePoint) []tape.EnvelopePoint {
	slices.SortStableFunc(points, func(a, b tape.EnvelopePoint) int {
		switch {
		case a.Rate != b.Rate:
			return sign(a.Rate - b.Rate)
		case a.Streams != b.Streams:
			return sign(float64(a.Streams - b.Streams))
		case a.Held != b.Held:
			return map[bool]int{true: -1, false: 1}[a.Held]
		}
		return sign(float64(a.Error - b.Error))
	})
	return slices.CompactFunc(points, func(a, b tape.EnvelopePoint) bool { return a.Rate == b.Rate && a.Streams == b.Streams })
}

func sign(d float64) int {
	switch {
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}
