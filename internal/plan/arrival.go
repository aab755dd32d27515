package plan

// An arrival process is a sequence of gaps with mean 1 in operational time, in
// which one request is expected per unit. A curve turns operational time into
// nanoseconds. Every process thus runs under every ramp (time rescaling), and
// the ramp does not change what the process draws.

// arrivals are the processes by their name in load.arrivals. Each makes its
// function of gaps; drawing is the only thing that it may do with r.
var arrivals = map[string]func(q Params, r *rng) func() float64{
	"constant": constantGaps,
	"poisson":  poissonGaps,
	"gamma":    gammaGaps,
}

// maxDue is 100 years in nanoseconds: beyond it a schedule is a mistake, and
// well below it integers and floats still agree.
const maxDue = 100 * 365 * 86400 * 1_000_000_000

// curve is the time at which s requests are expected to have come after the
// first, in nanoseconds, capped a little above maxDue. It never falls.
type curve func(s float64) int64

// schedule draws due times in issue order; the first is 0.
type schedule struct {
	gap   func() float64
	curve curve
	scale float64 // of operational time; 1 unless conditioned
	s     float64
	last  int64
	begun bool
}

func newSchedule(q Params) *schedule {
	s := &schedule{gap: arrivals[q.Arrivals](q, newRNG(q.ArrivalSeed, "arrivals")), scale: 1}
	switch {
	case len(q.Stages) > 0:
		s.curve = stageCurve(q.Stages)
	case q.RampShape != "":
		s.curve = rampCurve(q)
	case q.Arrivals == "constant":
		s.curve = exactCurve(q.Rate)
	default:
		s.curve = steadyCurve(q.Rate)
	}
	if q.Conditioned {
		s.scale = conditionedScale(q)
	}
	return s
}

// next is the due time of the next request.
func (s *schedule) next() int64 {
	if s.begun {
		s.s += s.gap()
	}
	s.begun = true
	// The last bit of a curve may fall where neighbours are less than a
	// nanosecond apart.
	s.last = max(s.last, s.curve(float64(s.s*s.scale)))
	return s.last
}

// nanoseconds rounds seconds, capped so that the conversion is defined.
func nanoseconds(sec float64) int64 {
	ns := float64(sec * 1e9)
	if !(ns < 2*maxDue) {
		return 2 * maxDue
	}
	return int64(ns + 0.5)
}

// steadyCurve is a rate of r requests/s from the start: t = s ÷ r.
func steadyCurve(r float64) curve {
	return func(s float64) int64 { return nanoseconds(s / r) }
}
