package stat

import "math"

// BatchesMost is the greatest number of batches of an interval, BatchesLeast the
// least. Batches are contiguous in the order of the plan. Few long ones cost width
// (Student's t with 4 degrees of freedom is 2.78, with 9 2.26), but what reaches
// from one batch into the next, which makes intervals too narrow, is small then.
const (
	BatchesMost  = 10
	BatchesLeast = 5
)

// LeastUnits is how many units (requests) an interval takes at least.
const LeastUnits = 150

// Sections say which intervals the series of one window can have. They are
// decided once for the window, by what chance moves little, and not by each series
// for itself: a series that looks calm by chance is often one whose value is too
// small.
type Sections struct {
	// Batches is the number of batches, at most BatchesMost; below BatchesLeast there
	// is no interval.
	Batches int
	// Times is about how many times as many units the least number of batches takes; 1
	// or less where there is no telling.
	Times float64
	// Lives is the length of the window in service times where one request is known to
	// move others for about as long; what lies beyond a quantile then comes in clusters
	// of that length, and one is expected. 0: not known, not judged.
	Lives float64
}

// influence is a series whose mean is 0 and whose every term says by how much one
// unit of observation (a request, a stretch of time) moves a statistic.
type influence struct {
	z []float64
	g float64 // inefficiency
}

func newInfluence(z []float64) influence {
	g, _ := inefficiency(z)
	return influence{z, g}
}

// spread is the standard error of the series' mean and the number of batches it
// comes from.
type spread struct {
	err     float64
	batches int
}

// enough reports whether n units carry an interval at all.
func (s Sections) enough(n int) bool { return s.Batches >= BatchesLeast && n >= LeastUnits }

// more is how many further units an interval would take where n do not carry one,
// at least 1.
func (s Sections) more(n int) int64 {
	need := float64(max(n, LeastUnits))
	if s.Batches < BatchesLeast {
		need = max(need, float64(float64(n)*s.Times))
	}
	return int64(max(1, math.Ceil(need-float64(n))))
}

// section cuts the series into batches and takes the standard error from how their
// means differ. Batch means of a correlated series vary less than independent ones
// would; for a correlation that falls off exponentially the variance is too small
// by the factor 1 − (g² − 1) ÷ (2 g m) with m units a batch, which is put right.
func (f influence) section(s Sections) (out spread, ok bool) {
	n, b := len(f.z), min(s.Batches, BatchesMost)
	if !s.enough(n) {
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
