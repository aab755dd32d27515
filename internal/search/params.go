package search

import (
	"fmt"
	"math"
)

// What can be searched for, and to what end.
const (
	Rate        = "rate"        // requests per second, of an open loop
	Concurrency = "concurrency" // requests in flight, of a closed loop

	Highest = "highest" // the highest load that holds
	Goodput = "goodput" // the load with the most good requests per second
)

// Family is the chance, at most, that any decision of a search is wrong.
const Family = 0.05

// Lengths of looks, in declared ones.
const (
	enough  = 3 // at one place, until it counts as undecided: one look, and one twice as long
	most    = 7 // the same where looks are left: and one four times as long
	confirm = 4 // a measurement of the winner
	least   = 0.125
)

// How many looks are kept for measuring the winner again: Reserve once the limit lies
// between two places, since those measurements bisect as well; spare before, so that
// what is kept does not end the looks that are to find the two, and of goodput, whose
// measurements choose nothing.
const (
	Reserve = 4
	spare   = 1
)

// Params say what is searched. They are fixed before the first look.
type Params struct {
	For  string `json:"for"`  // Rate or Concurrency
	Goal string `json:"goal"` // Highest or Goodput
	// The least and the most load; both above 0.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Precision is the ratio, less 1, below which two loads are not told apart.
	Precision float64 `json:"precision"`
	// Share of requests that must be within the limits on requests, 0 to 1.
	Share float64 `json:"share"`
	// MostLooks is how many runs there are at most, ramp included.
	MostLooks int `json:"most_looks"`
	// AtMostS bounds the time of all looks together, in seconds; 0: no bound.
	AtMostS float64 `json:"at_most_s,omitempty"`
	// A look is Requests long, or takes DurationS; whichever comes first where both
	// are given, 0: not given.
	Requests  int64   `json:"requests_per_look,omitempty"`
	DurationS float64 `json:"duration_per_look_s,omitempty"`
	// Ramp asks for one run of a climbing load before the others.
	Ramp bool `json:"ramp,omitempty"`
	// Seed is that of the first look; others have their own.
	Seed int64 `json:"seed"`
}

// Alpha is the chance at most that one bound is wrong.
func (p Params) Alpha() float64 { return Family / float64(max(1, p.MostLooks)) }

// Least is how many requests a look takes at least to prove, all of them good, that
// a share holds.
func (p Params) Least(share float64) int64 {
	if share <= 0 {
		return 1
	}
	if share >= 1 {
		return math.MaxInt64
	}
	return int64(math.Ceil(math.Log(p.Alpha()) / math.Log(share)))
}

// SeedOf is the run seed of look n, from 1: no two are alike.
func (p Params) SeedOf(n int) int64 { return p.Seed + int64(n) }

// short is the length of a look that is to tell whether the limit is near: so many
// requests as prove, nearly all of them good, that the load holds.
func (p Params) short(at float64) float64 {
	n := float64(p.Requests)
	if p.For == Rate && p.DurationS > 0 && (n == 0 || at*p.DurationS < n) {
		n = at * p.DurationS
	}
	share := p.Share
	if share == 0 || n == 0 || p.Goal == Goodput {
		return 1
	}
	return min(1, max(least, math.Ceil(16*2*float64(p.Least(share))/n)/16))
}

// place makes x a load that can be asked for: whole for a concurrency, with four
// digits for a rate, and within the bounds.
func (p Params) place(x float64) float64 {
	x = min(max(x, p.From), p.To)
	if p.For == Concurrency {
		return math.Round(x)
	}
	if x == p.From || x == p.To {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-3)
	return min(max(math.Round(x/unit)*unit, p.From), p.To)
}

// close reports whether nothing between lo and hi is worth a look.
func (p Params) close(lo, hi float64) bool {
	if p.For == Concurrency && hi-lo <= 1 {
		return true
	}
	return hi <= lo*(1+p.Precision)*(1+1e-9)
}

// below is the next load to try where x did not hold when measured again.
func (p Params) below(x float64) float64 {
	y := p.place(x / (1 + p.Precision))
	if p.For == Concurrency && y >= x {
		y = p.place(x - 1)
	}
	return y
}

// estimate is how long a step may take in seconds, 0 where nothing is known: by what
// was asked, and by how much longer than that the look before took.
func (p Params) estimate(s Step, looks []Look) float64 {
	asked := func(at, times float64) float64 {
		t := 0.0
		if p.For == Rate && p.Requests > 0 {
			t = float64(p.Requests) / at
		}
		if p.DurationS > 0 && (t == 0 || p.DurationS < t) {
			t = p.DurationS
		}
		return t * times
	}
	t := asked(s.At, s.Times)
	for i := len(looks) - 1; i >= 0; i-- {
		l := looks[i]
		if l.Kind == KindRamp || l.TookS <= 0 {
			continue
		}
		if was := asked(l.At, l.Times); was > 0 {
			return max(t, t+max(0, l.TookS-was)) // what comes on top does not grow with the look
		}
		return l.TookS / l.Times * s.Times
	}
	return t
}

// Estimate is how long all declared looks take at most, in seconds, as far as it is
// known before the first: each twice as long as asked, at the least load. 0: not known.
func (p Params) Estimate() float64 {
	t := p.estimate(Step{At: p.From, Times: 2}, nil) * float64(p.MostLooks)
	if p.AtMostS > 0 && (t == 0 || t > p.AtMostS) {
		t = p.AtMostS
	}
	return t
}

// Enough is how many looks a search takes from its beginning where no place is looked at
// twice to find the limit: as many as reach To, halve what is left, and measure again.
func (p Params) Enough() int {
	n := p.beyond(p.From, p.To) + 1
	if p.Ramp {
		n++
	}
	return n
}

// beyond is how many looks are still needed when lo is the highest load that holds and
// nothing up to hi is known; hi itself is looked at, too.
func (p Params) beyond(lo, hi float64) (n int) {
	gap := 0
	for lo < hi {
		up := min(p.place(lo*2), hi)
		gap = max(gap, p.halvings(lo, up))
		lo, n = up, n+1
	}
	if p.short(hi) < 1 { // a short look that holds is made longer before what lies above is halved
		n++
	}
	return n + gap + Reserve
}

// halvings is how often the gap from lo to hi is halved until it is close.
func (p Params) halvings(lo, hi float64) (n int) {
	for !p.close(lo, hi) {
		at := p.place(math.Sqrt(lo * hi))
		if at <= lo || at >= hi {
			break
		}
		if n++; hi-at >= at-lo { // a concurrency's halves are not alike
			lo = at
		} else {
			hi = at
		}
	}
	return n
}

// Load writes a load with its unit.
func (p Params) Load(x float64) string {
	if p.For == Concurrency {
		return fmt.Sprintf("%.0f in flight", x)
	}
	return fmt.Sprintf("%.4g requests/s", x)
}
