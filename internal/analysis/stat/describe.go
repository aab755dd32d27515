package stat

import (
	"math"
	"slices"
	"sort"
)

// Quantiles are those of every summary, in thousandths: integers, so that no
// rule depends on how 0.999 is rounded.
var Quantiles = [count]int{500, 750, 900, 950, 990, 999}

const count = 6

// Description is the distribution of one metric. Values that do not exist are
// nil.
type Description struct {
	N                  int64
	NEff               *float64
	Mean, SD, Min, Max *float64
	Q                  [count]*float64 // at Quantiles
	// CI are 95 % intervals of the mean and of Quantiles, where the sample carries
	// one.
	MeanCI *[2]float64
	QCI    [count]*[2]float64
	// MeanMore and More are, where an interval was asked for and the sample carries
	// none, about how many further units (samples, or groups of them) it would take.
	// Where none was asked for, More holds what TailUnits beyond a quantile above
	// the median would take of independent samples.
	MeanMore int64
	More     [count]int64
	// Tied says that there is no interval because so many values are the quantile
	// itself: it would be that value, whatever the sample, and more samples do not
	// change that.
	Tied [count]bool
}

// TailUnits is how many units must lie beyond a quantile for it to get an
// interval.
const TailUnits = 15

// Describe summarises xs, given in the order of the plan; it does not change xs.
// s nil asks for no intervals.
//
// The value of a quantile q is given when n ≥ 1 ÷ (1 − q): below that no sample
// is expected beyond it, and interpolation would print little but the maximum
// under another name. Its interval needs TailUnits samples beyond it.
func Describe(xs []float64, s *Sections) Description {
	d := points(xs)
	switch {
	case len(xs) == 0:
	case s != nil:
		d.intervals(sample{xs: xs}, *s)
	default:
		d.tail(float64(len(xs)))
	}
	return d
}

// points fills the values that need no order.
func points(xs []float64) Description {
	n := len(xs)
	d := Description{N: int64(n)}
	if n == 0 {
		return d
	}
	d.Mean = value(Mean(xs))
	d.SD = value(SD(xs))
	d.Min, d.Max = value(slices.Min(xs), true), value(slices.Max(xs), true)
	v, _ := quantilesOf(slices.Clone(xs))
	for i, q := range Quantiles {
		d.Q[i] = value(v[i], Given(int64(n), q))
	}
	return d
}

// Given reports whether n samples carry a value of the quantile of q
// thousandths. The median always has one.
func Given(n int64, q int) bool { return n > 0 && (q <= 500 || n*int64(1000-q) >= 1000) }

// tail fills More from the effective size.
func (d *Description) tail(eff float64) {
	g := 1.0
	if eff > 0 {
		g = max(1, float64(d.N)/eff)
	}
	for i, q := range Quantiles {
		if q <= 500 {
			continue
		}
		need := math.Ceil(float64(TailUnits*1000) / float64(1000-q) * g)
		if float64(d.N) < need {
			d.More[i] = int64(need) - d.N
		}
	}
}

// sample is a series of values, one after the other or in groups: ends[k] is
// where group k ends. Without groups every value is one.
type sample struct {
	xs   []float64
	ends []int
}

// units is the number of values or groups.
func (a sample) units() int {
	if a.ends != nil {
		return len(a.ends)
	}
	return len(a.xs)
}

// influence sums f − its mean over every unit, and gives the influence of the
// units on that mean.
func (a sample) influence(f func(x float64) float64) influence {
	n := len(a.xs)
	var all Acc
	for _, x := range a.xs {
		all.Add(f(x))
	}
	m := all.Sum() / float64(n)
	z := make([]float64, a.units())
	if a.ends == nil {
		for i, x := range a.xs {
			z[i] = f(x) - m
		}
		return newInfluence(z)
	}
	each, from := float64(n)/float64(len(z)), 0
	for k, to := range a.ends {
		var sum Acc
		for _, x := range a.xs[from:to] {
			sum.Add(f(x) - m)
		}
		z[k], from = sum.Sum()/each, to
	}
	return newInfluence(z)
}

// equal is how many units of equal size pin the values down as well as these
// groups, of whose values those of one hang together wholly at worst (Kish 1965:
// (Σm)² ÷ Σm², m the sizes).
func (a sample) equal() float64 {
	if a.ends == nil {
		return float64(len(a.xs))
	}
	var square, from float64
	for _, to := range a.ends {
		m := float64(to) - from
		square += float64(m * m)
		from = float64(to)
	}
	return float64(float64(len(a.xs))*float64(len(a.xs))) / max(1, square)
}

// intervals fills NEff, MeanCI, QCI, MeanMore, More and Tied.
func (d *Description) intervals(a sample, s Sections) {
	n := len(a.xs)
	centre := a.influence(func(x float64) float64 { return x })
	d.NEff = value(d.effective(centre), true)
	units := len(centre.z)
	sp, ok := centre.section(s)
	if ok {
		d.MeanCI = centre.mean(*d.Mean, sp)
	} else {
		d.MeanMore = s.more(units)
	}
	equal := a.equal()
	var sorted []float64
	for i, q := range Quantiles {
		p := float64(q) / 1000
		more := int64(0)
		if !ok {
			more = s.more(units)
		}
		if q > 500 {
			more = max(more, int64(math.Ceil(float64(units)*(TailUnits/((1-p)*equal)-1))))
			if s.Lives > 0 {
				more = max(more, int64(math.Ceil(float64(units)*(1/((1-p)*s.Lives)-1))))
			}
		}
		if more > 0 {
			d.More[i] = more
			continue
		}
		if sorted == nil {
			sorted = slices.Clone(a.xs)
			slices.Sort(sorted)
		}
		at, _ := Quantile(sorted, p)
		f := a.influence(func(x float64) float64 { return one(x <= at) })
		sp, ok := f.section(s)
		if !ok { // of values that no arithmetic bears, such as times of absurd size
			continue
		}
		lo, hi := ranks(n, p, sp, f.g*f.design(p)*float64(n)/float64(units))
		first, _ := slices.BinarySearch(sorted, at)
		past := first + sort.Search(n-first, func(k int) bool { return sorted[first+k] > at })
		if float64(past-first) > alike*(hi-lo) {
			d.Tied[i] = true
			continue
		}
		d.QCI[i] = &[2]float64{min(at, atRank(sorted, lo)), max(at, atRank(sorted, hi))}
	}
}

// alike is the share of the ranks between the ends of an interval that values
// equal to the quantile may take.
const alike = 0.25

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// design is the variance of one unit's share of values at or below the
// p-quantile, against that of a single value.
func (f influence) design(p float64) float64 {
	return sumSquares(f.z, 0) / float64(len(f.z)) / float64(p*(1-p))
}

// effective is how many independent samples would pin the mean down as well: n ÷ g,
// for groups the variance of the samples ÷ the squared standard error of their
// mean; never above n.
func (d *Description) effective(f influence) float64 {
	n := float64(d.N)
	k := float64(len(f.z))
	error2 := sumSquares(f.z, 0) / k * f.g / k
	if d.SD == nil || error2 <= 0 {
		return n
	}
	return min(n, float64(*d.SD**d.SD)/error2)
}

// atRank is the value at a rank between 0 and n − 1, linear between neighbours;
// beyond the ends it is the end.
func atRank(sorted []float64, rank float64) float64 {
	n := len(sorted)
	rank = min(max(rank, 0), float64(n-1))
	i := min(int(rank), n-1)
	if i == n-1 {
		return sorted[i]
	}
	return sorted[i] + float64((rank-float64(i))*(sorted[i+1]-sorted[i]))
}

// value is a pointer to v, or nil.
func value(v float64, ok bool) *float64 {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
