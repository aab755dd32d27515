package main

import (
	"math"
	"slices"
)

// ratio is one client's figure over another's, from runs that took turns.
type ratio struct {
	OfMedians float64   `json:"of_medians"` // median of the one's runs ÷ median of the other's
	OfLeast   float64   `json:"of_least"`   // least of the one's runs ÷ least of the other's
	Median    float64   `json:"median"`     // of the pairs' ratios
	Pairs     []float64 `json:"pairs"`      // in the order in which they ran
}

// newRatio is a over b; a[i] and b[i] ran next to each other. A figure of 0 or none on
// either side gives no ratio: NaN.
func newRatio(a, b []float64) ratio {
	r := ratio{OfMedians: over(median(a), median(b)), OfLeast: math.NaN(), Pairs: []float64{}}
	if len(a) > 0 && len(b) > 0 {
		r.OfLeast = over(slices.Min(a), slices.Min(b))
	}
	for i := range min(len(a), len(b)) {
		r.Pairs = append(r.Pairs, over(a[i], b[i]))
	}
	r.Median = median(r.Pairs)
	return r
}

func over(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// sound reports whether there is a ratio at all.
func (r ratio) sound() bool {
	for _, v := range append([]float64{r.OfMedians, r.OfLeast, r.Median}, r.Pairs...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
