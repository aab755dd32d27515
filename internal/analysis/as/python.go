package as

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The arithmetic of Python and numpy, whose last digits these tools print.

// pyRound is Python's round(x, digits): the decimal nearest to the exact value of
// x, ties to even.
func pyRound(x float64, digits int) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
	return v
}

// npRound is numpy.round(x, digits): scaled, rounded to the nearest integer, ties
// to even, and scaled back.
func npRound(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	v := math.RoundToEven(float64(x*scale)) / scale
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return x
	}
	return v
}

// pyFloat is Python's str(x): the fewest digits that read back as x, with a
// fraction or an exponent.
func pyFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pyFixed is Python's format(x, ".{digits}f").
func pyFixed(x float64, digits int) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// pySum is the sum from left to right, as Python's sum up to 3.11. (3.12 sums
// floats with compensation; no printed digit is known to differ.)
func pySum(xs []float64) float64 {
	s := 0.0
	for _, x := range xs {
		s += x
	}
	return s
}

// npSum is numpy.sum of a contiguous array: in pairs of blocks, eight partial
// sums within a block of at most 128.
func npSum(xs []float64) float64 {
	n := len(xs)
	if n < 8 {
		return pySum(xs)
	}
	if n <= 128 {
		var r [8]float64
		copy(r[:], xs)
		i := 8
		for ; i < n-n%8; i += 8 {
			for k := range r {
				r[k] += xs[i+k]
			}
		}
		s := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			s += xs[i]
		}
		return s
	}
	half := n / 2
	half -= half % 8
	return npSum(xs[:half]) + npSum(xs[half:])
}

// npMean is numpy.mean; NaN of none, as there.
func npMean(xs []float64) float64 {
	return npSum(xs) / float64(len(xs))
}

// npStd is numpy.std with its default of no degree of freedom less; NaN of none.
func npStd(xs []float64) float64 {
	m := npMean(xs)
	d := make([]float64, len(xs))
	for i, x := range xs {
		d[i] = float64((x - m) * (x - m))
	}
	return math.Sqrt(npMean(d))
}

// npPercentile is numpy.percentile(xs, q) with its default, linear interpolation
// at rank (n−1)q/100. xs must be sorted; NaN of none. As there, the interpolation
// runs from the nearer end.
func npPercentile(xs []float64, q float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	rank := float64(float64(n-1) * (q / 100))
	at := math.Floor(rank)
	i := int(min(max(at, 0), float64(n-1)))
	a, b := xs[i], xs[min(i+1, n-1)]
	t := rank - at
	d := b - a
	if t >= 0.5 {
		return b - float64(d*(1-t))
	}
	return a + float64(d*t)
}

// sorted is a sorted copy.
func sorted(xs []float64) []float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s
}
