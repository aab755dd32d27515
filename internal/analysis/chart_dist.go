package analysis

import (
	"math"
	"slices"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// Distribution is one metric over the cohort of one window.
type Distribution struct {
	Window string   `json:"window"`
	Metric string   `json:"metric"`
	Unit   string   `json:"unit"`
	N      int64    `json:"n"`
	Linear Bins     `json:"linear"`
	Log    *Bins    `json:"log"` // nil where no value is above 0
	CDF    []CDFEnd `json:"cdf"`
}

// Bins are counts between edges: bin i is [From + i·Step, From + (i+1)·Step), on a
// logarithmic axis [From·Step^i, From·Step^(i+1)); the last one holds its upper
// edge too. Under and Over are the values outside.
type Bins struct {
	From   float64 `json:"from"`
	Step   float64 `json:"step"`
	Counts []int64 `json:"counts"`
	Under  int64   `json:"under"`
	Over   int64   `json:"over"`
}

// CDFEnd says that the share Q of the values is at most V: a quantile as in the
// tables.
type CDFEnd struct {
	Q float64 `json:"q"`
	V float64 `json:"v"`
}

// bars is how many bars a histogram of n values has: at most 60, and fewer where most
// would hold a value or none.
func bars(n int64) int { return int(min(60, max(8, math.Round(1.5*math.Sqrt(float64(n)))))) }

// linearShare is where the linear bars end, so that one outlier does not squeeze all
// others into the first.
const linearShare = 0.995

// distKeys are the metrics with a distribution, in the order of the page.
var distKeys = []struct {
	key string
	of  func(*metric.Request) (float64, bool)
}{
	{"ttft_ms", ms((*metric.Request).TTFT)},
	{"tpot_ms", tpotMS},
	{itlKey, nil},
	{"e2e_ms", ms((*metric.Request).E2E)},
	{"ttft_from_due_ms", ms((*metric.Request).TTFTFromDue)},
}

func (r *run) distributions(windows []window.Interval) []Distribution {
	var out []Distribution
	for _, w := range windows {
		if !w.OK {
			continue
		}
		for _, k := range distKeys {
			var vs []stat.Weighted
			if k.of == nil {
				vs = r.gapValues(w.Cohort)
			} else {
				var xs []float64
				for _, i := range w.Cohort {
					if v, ok := k.of(&r.reqs[i]); ok {
						xs = append(xs, v)
					}
				}
				slices.Sort(xs)
				vs = make([]stat.Weighted, len(xs))
				for i, x := range xs {
					vs[i] = stat.Weighted{V: x, N: 1}
				}
			}
			if len(vs) == 0 {
				continue
			}
			def, _ := catalog.Find(k.key, catalog.KindMetric)
			out = append(out, distribution(w.Kind, k.key, def.Unit, vs))
		}
	}
	return out
}

// gapValues are the ITL gaps of a cohort in milliseconds, from a histogram with at
// most 0.1 % error however many there are.
func (r *run) gapValues(cohort []int) []stat.Weighted {
	var h *stat.Histogram
	if p := r.later.pool(cohort); p != nil && p.gaps != nil {
		h = p.gaps
	} else {
		h = new(stat.Histogram)
		var s metric.Stream
		for _, i := range cohort {
			s.Load(&r.reqs[i])
			h.AddAll(s.Gaps())
		}
	}
	vs := h.Values()
	for i := range vs {
		vs[i].V /= 1e6
	}
	return vs
}

// distribution draws bins and quantiles from values in rising order.
func distribution(kind, key, unit string, vs []stat.Weighted) Distribution {
	d := Distribution{Window: kind, Metric: key, Unit: unit}
	upTo := make([]int64, len(vs)) // values up to and with vs[i]
	for i, v := range vs {
		d.N += v.N
		upTo[i] = d.N
	}
	at := func(rank int64) float64 { i, _ := slices.BinarySearch(upTo, rank+1); return vs[i].V }
	quantile := func(q float64) float64 {
		rank := float64(d.N-1) * q
		i := min(int64(rank), d.N-1)
		a, b := at(i), at(min(i+1, d.N-1))
		return a + (rank-float64(i))*(b-a)
	}
	for _, q := range cdfShares(d.N) {
		d.CDF = append(d.CDF, CDFEnd{q, quantile(q)})
	}
	least, most := vs[0].V, vs[len(vs)-1].V
	// Where the tail is short the bars go to its end.
	end := quantile(linearShare)
	if most <= least+(end-least)*1.5 {
		end = most
	}
	n := bars(d.N)
	step := (end - least) / float64(n)
	if !(step > 0) {
		step = max(1e-6, math.Abs(least)/1e6)
	} else {
		step = roundUp(step)
	}
	from := math.Floor(least/step) * step
	d.Linear = fill(vs, from, step, max(1, int(math.Ceil((end-from)/step-1e-9))), func(v float64) float64 { return (v - from) / step })

	first := slices.IndexFunc(vs, func(v stat.Weighted) bool { return v.V > 0 })
	if first < 0 {
		return d
	}
	low := vs[first].V
	if zero := upTo[first] - vs[first].N; zero == 0 || most/low > 1e6 { // gaps within a burst would take the whole axis
		low = max(low, most/1e6)
	}
	ratio := max(math.Pow(most/low, 1/float64(n)), 1.000001)
	bins := fill(vs, low, ratio, n, func(v float64) float64 {
		if v < low {
			return -1
		}
		return math.Log(v/low) / math.Log(ratio)
	})
	d.Log = &bins
	return d
}

// fill counts values; place is where a value lies, in bins.
func fill(vs []stat.Weighted, from, step float64, n int, place func(float64) float64) Bins {
	b := Bins{From: from, Step: step, Counts: make([]int64, n)}
	for _, v := range vs {
		switch p := place(v.V); {
		case p < 0:
			b.Under += v.N
		case p < float64(n):
			b.Counts[int(p)] += v.N
		case p <= float64(n)+1e-6:
			b.Counts[n-1] += v.N
		default:
			b.Over += v.N
		}
	}
	return b
}

// roundUp is the next of 1, 2, 2.5 or 5 times a power of ten that is no less than
// x.
func roundUp(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, k := range []float64{1, 2, 2.5, 5} {
		if k*unit >= x {
			return k * unit
		}
	}
	return 10 * unit
}

// cdfShares are the quantiles of a CDF: every hundredth, and the tail as far as n
// values reach.
func cdfShares(n int64) []float64 {
	if n == 1 {
		return []float64{0, 1}
	}
	var qs []float64
	for i := range 100 {
		qs = append(qs, float64(i)/100)
	}
	for i := 991; i < 1000; i++ {
		if n >= 200 {
			qs = append(qs, float64(i)/1000)
		}
	}
	for i := 9991; i < 10000; i++ {
		if n >= 2000 {
			qs = append(qs, float64(i)/10000)
		}
	}
	return append(qs, 1)
}
