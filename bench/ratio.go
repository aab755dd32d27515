package main

import "math"

// ratio is one client's figure over another's, from runs that took turns.
type ratio struct {
	OfMedians float64   `json:"of_medians"` // median of the one's runs ÷ median of the other's
	Median    float64   `json:"median"`     // of the pairs' ratios
	Pairs     []float64 `json:"pairs"`      // in the order in which they ran
}

// newRatio is a over b; a[i] and b[i] ran next to each other. A figure of 0 or none on
// either side gives no ratio: NaN.
func newRatio(a, b []float64) ratio {
	r := ratio{OfMedians: over(median(a), median(b)), Pairs: []float64{}}
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
