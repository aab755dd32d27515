package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// What has no interval says why: too few batches or units, too few beyond the
// quantile, many values alike.
func TestWithoutInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	draw := func(n int) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = r.ExpFloat64()
		}
		return xs
	}
	at := func(d Description, q int) (ci *[2]float64, more int64, tied bool) {
		i := slices.Index(Quantiles[:], q)
		return d.QCI[i], d.More[i], d.Tied[i]
	}
	for name, c := range map[string]struct {
		n    int
		s    Sections
		q    int
		mean int64 // more for the mean, 0: it has an interval
		more int64 // the same of q
	}{
		"enough":               {1500, Sections{Batches: 10}, 990, 0, 0},
		"one less beyond":      {1499, Sections{Batches: 10}, 990, 0, 1},
		"no batches":           {400, Sections{Times: 2.5}, 500, 600, 600},
		"no batches, no size":  {400, Sections{}, 500, 1, 1},
		"few units":            {100, Sections{Batches: 5}, 500, 50, 50},
		"rounds beyond":        {1500, Sections{Batches: 10, Lives: 50}, 990, 0, 1500},
		"rounds enough at P90": {1500, Sections{Batches: 10, Lives: 50}, 900, 0, 0},
	} {
		d := Describe(draw(c.n), &c.s)
		ci, more, tied := at(d, c.q)
		if d.MeanMore != c.mean || (d.MeanCI == nil) != (c.mean > 0) || more != c.more || (ci == nil) != (c.more > 0) || tied {
			t.Errorf("%s: mean %v, %d more; P%d %v, %d more, tied %v", name, d.MeanCI, d.MeanMore, c.q, ci, more, tied)
		}
	}
	xs := draw(1000)
	for i := range xs {
		if i%2 == 0 {
			xs[i] = 5 // from the median on to P99
		}
	}
	d := Describe(xs, &Sections{Batches: 10})
	if ci, more, tied := at(d, 750); ci != nil || more != 0 || !tied {
		t.Errorf("half of the values alike: %v, %d more, tied %v", ci, more, tied)
	}
}

// Groups count as so many of equal size: one that holds half of all values is
// hardly more than that one.
func TestEqualGroups(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  float64
	}{{[]int{3, 3, 3, 3}, 4}, {[]int{0, 4, 4}, 2}, {[]int{100, 1, 1, 1}, 103. * 103 / 10003}} {
		var a sample
		for _, m := range c.sizes {
			a.xs = append(a.xs, make([]float64, m)...)
			a.ends = append(a.ends, len(a.xs))
		}
		if got := a.equal(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c.sizes, got, c.want)
		}
	}
}

// A rate whose counts fall by chance on one side of a border or the other has the
// width of what is even in it, and a part of the rest.
func TestRateOfBorders(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	bins, even := make([]float64, 400), make([]float64, 400)
	carry := 0.0
	for i := range bins {
		even[i] = 10 + 0.1*r.NormFloat64()
		next := 5 * r.Float64() // counted in the next bin
		bins[i] = even[i] + carry - next
		carry = next
	}
	s := Sections{Batches: 10}
	width := func(even []float64) float64 {
		ci, ok := RateInterval(10, bins, even, s)
		if !ok || ci[0] > 10 || ci[1] < 10 {
			t.Fatalf("%v, %v", ci, ok)
		}
		return ci[1] - ci[0]
	}
	plain, smooth := width(nil), width(even)
	e, _ := RateInterval(10, even, nil, s)
	if least := e[1] - e[0]; smooth > plain/1.5 || smooth < least {
		t.Errorf("width %v, of the even part %v, without it %v", smooth, least, plain)
	}
	if _, ok := RateInterval(0, make([]float64, 400), nil, s); ok {
		t.Error("no counts gave an interval")
	}
}
