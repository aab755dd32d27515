package stat

import "math"

// BatchesCentre is the greatest number of batches of an interval, BatchesTail
// that of a quantile above the median, BatchesLeast the least of either. Batches
// are contiguous in the order of the plan.
const (
	BatchesCentre = 20
	BatchesTail   = 10
	BatchesLeast  = 5
)

// Sections say when an interval can be had from one series of samples.
type Sections struct {
	// Long is how many batches, at most, are long enough in time for what happens
	// in one to have little to do with the next; it can be a fraction, and
	// below BatchesLeast there is no interval.
	Long float64
	// Worst is the inefficiency, at the upper end of what it may be, of the slowest
	// series that the same units are known to carry; 0: none. What hangs together in
	// one of them hangs together in all, even where it does not show.
	Worst float64
	// Open: nothing bounds how far the correlation reaches, and a run that happened to
	// see no burst looks calm, and is sure of too small a value. The more of it a run
	// shows, the longer it must be to be believed: Least · g² units, not Least · g.
	Open bool
	// Least is how many effective samples an interval needs, counted with the
	// upper end of what the correlation may be. 0 stands for LeastEffective.
	Least float64
}

// LeastEffective is the least number of effective samples of an interval, where
// Sections ask for no more.
const LeastEffective = 150

// eachBatch is how many effective samples a batch must hold: with fewer, batches
// hang together nearly as much as samples do.
const eachBatch = 8

// surely is the one-sided 95 % quantile of the normal distribution.
const surely = 1.645

// influence is a series whose mean is 0 and whose every term says by how much one
// unit of observation (a request, a stretch of time) moves a statistic.
type influence struct {
	z      []float64
	g, off float64 // inefficiency and its relative standard error
}

func newInfluence(z []float64) influence {
	g, off := inefficiency(z)
	return influence{z, g, off}
}

// sure is g at the upper end of what it may be.
func (f influence) sure() float64 { return f.g * (1 + float64(surely*f.off)) }

// spread is the standard error of the series' mean and the number of batches it
// comes from. ok is false when it cannot be had; more is then about how many
// times as many units it would take.
type spread struct {
	err     float64
	batches int
}

// section cuts the series into as many batches as carry enough on their own, up
// to most, and takes the standard error from how their means differ.
// Batch means of a correlated series vary less than independent ones would; for
// a correlation that falls off exponentially the variance is too small by the
// factor 1 − (g² − 1) ÷ (2 g m) with m units a batch, which is put right.
func (f influence) section(s Sections, most int) (out spread, ok bool) {
	n := len(f.z)
	g := max(f.sure(), s.Worst)
	low := float64(n) / g
	if s.Open {
		low /= g
	}
	b := int(min(float64(most), low/eachBatch, s.Long))
	if low < s.least() || b < BatchesLeast {
		return spread{}, false
	}
	means := make([]float64, b)
	for i := range means {
		means[i], _ = Mean(f.z[i*n/b : (i+1)*n/b])
	}
	v := sumSquares(means, 0) / float64(b-1) / float64(b)
	short := (float64(f.g*f.g) - 1) / (2 * f.g * float64(n)) * float64(b)
	return spread{math.Sqrt(v / (1 - min(short, 0.5))), b}, true
}

func (s Sections) least() float64 {
	if s.Least > 0 {
		return s.Least
	}
	return LeastEffective
}

// more is how many further units an interval would take, at least 1.
func (f influence) more(s Sections) int64 {
	n := float64(len(f.z))
	g := max(f.sure(), s.Worst)
	need := max(s.least(), eachBatch*BatchesLeast) * g
	if s.Open {
		need *= g
	}
	if s.Long < BatchesLeast && s.Long > 0 {
		need = max(need, n*BatchesLeast/s.Long)
	}
	return int64(max(1, math.Ceil(need-n)))
}

// mean is the 95 % interval of a mean whose influence is f: Student's t over the
// batches, bent for skewness by Willink's cubic transformation (Willink, Commun.
// Stat. Theory Methods 34 (2005) 753; with batches: Tafazzoli and Wilson, IIE
// Trans. 43 (2011) 110).
func (f influence) mean(at float64, s spread) *[2]float64 {
	t := t95(s.batches - 1)
	lo, hi := bend(-t, f.skew(s.batches)), bend(t, f.skew(s.batches))
	return &[2]float64{at - float64(hi*s.err), at - float64(lo*s.err)}
}

// skew is a ÷ (6 √b), a the skewness of one batch mean of b: that of the units,
// which fades with the square root of how many effective ones a batch holds.
func (f influence) skew(b int) float64 {
	n := float64(len(f.z))
	m2 := sumSquares(f.z, 0) / n
	if m2 <= 0 {
		return 0
	}
	var a Acc
	for _, z := range f.z {
		a.Add(float64(float64(z*z) * z))
	}
	unit := a.Sum() / n / float64(m2*math.Sqrt(m2))
	return unit * math.Sqrt(f.g/n) / 6
}

// bend is (∛(1 + 6a(t − a)) − 1) ÷ 2a, and t for a = 0.
func bend(t, a float64) float64 {
	if math.Abs(a) < 1e-6 {
		return t
	}
	return (cbrt(1+float64(6*a*(t-a))) - 1) / (2 * a)
}

// cbrt is the cube root by Newton's rule. math.Cbrt may give other last bits on
// a processor that fuses products into sums.
func cbrt(x float64) float64 {
	if x < 0 {
		return -cbrt(-x)
	}
	if x == 0 {
		return 0
	}
	y := max(1, x)
	for range 200 {
		next := (float64(2*y) + x/float64(y*y)) / 3
		if next >= y {
			break
		}
		y = next
	}
	return y
}

// ranks are the 95 % bounds of the rank of the p-quantile among n sorted values,
// counted from 0: how many values lie below it has mean np and the standard
// error of the share below it, n · s.err; Student's t, half a rank for
// continuity, and the skewness of a binomial count of as many effective samples
// (Cornish and Fisher) give the bounds. The interval of the quantile is the
// values there (Woodruff, J. Am. Stat. Assoc. 47 (1952) 635; with effective sizes:
// Korn and Graubard, Surv. Methodol. 24 (1998) 193).
func ranks(n int, p float64, s spread, g float64) (lo, hi float64) {
	t := t95(s.batches - 1)
	half := float64(t * s.err * float64(n))
	centre := float64(float64(n)*p) - 0.5 + float64(g*(1-2*p)*(float64(t*t)-1)/6)
	return centre - half, centre + half
}

// HalfWidth is t(b − 1) · √(Σ(value − whole)² ÷ (b − 1) ÷ b), the half-width of
// the 95 % interval of whole from b ≥ 2 batch values.
func HalfWidth(values []float64, whole float64) float64 {
	b := len(values)
	return float64(t95(b-1) * math.Sqrt(sumSquares(values, whole)/float64(b-1)/float64(b)))
}

// t95 is the two-sided 95 % quantile of Student's t with df ≥ 1 degrees of
// freedom; 1.96 beyond the table.
func t95(df int) float64 {
	if df <= len(t95s) {
		return t95s[df-1]
	}
	return 1.96
}

var t95s = [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
	2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860}

// minBatch is the least effective size of a batch of Paired.
const minBatch = 2

// evenly cuts n samples into b parts of sizes as equal as can be.
func evenly(n int) func(b int) []int {
	return func(b int) []int {
		borders := make([]int, b+1)
		for i := range borders {
			borders[i] = i * n / b
		}
		return borders
	}
}
