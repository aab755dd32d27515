package main

import (
	"math"
	"slices"
)

// quantile is the q-quantile of values, the nearest one there is; 0 of none. It sorts
// them.
func quantile(values []int64, q float64) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(math.Round(q*float64(len(values)-1)))]
}

// median is the middle of values, the mean of two middles; NaN of none. It leaves them
// in their order.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
