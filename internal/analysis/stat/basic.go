package stat

import "math"

// Sum adds in order with Neumaier's compensation.
func Sum(xs []float64) float64 {
	var a Acc
	for _, x := range xs {
		a.Add(x)
	}
	return a.Sum()
}

// Acc is a compensated running sum.
type Acc struct{ s, c float64 }

// Add adds x.
func (a *Acc) Add(x float64) {
	t := float64(a.s + x)
	if math.Abs(a.s) >= math.Abs(x) {
		a.c += float64(float64(a.s-t) + x)
	} else {
		a.c += float64(float64(x-t) + a.s)
	}
	a.s = t
}

// Sum is the value so far.
func (a *Acc) Sum() float64 { return a.s + a.c }

// Mean is the arithmetic mean; ok is false for no values.
func Mean(xs []float64) (float64, bool) {
	if len(xs) == 0 {
		return 0, false
	}
	return Sum(xs) / float64(len(xs)), true
}

// SD is the standard deviation with n − 1; ok is false below 2 values.
func SD(xs []float64) (float64, bool) {
	if len(xs) < 2 {
		return 0, false
	}
	m, _ := Mean(xs)
	return math.Sqrt(sumSquares(xs, m) / float64(len(xs)-1)), true
}

// sumSquares is Σ(x − m)².
func sumSquares(xs []float64, m float64) float64 {
	var a Acc
	for _, x := range xs {
		d := x - m
		a.Add(float64(d * d))
	}
	return a.Sum()
}

// Quantile is the q-quantile (0 ≤ q ≤ 1) of sorted values by linear
// interpolation at rank (n − 1)q. ok is false for no values.
func Quantile(sorted []float64, q float64) (float64, bool) {
	n := len(sorted)
	if n == 0 {
		return 0, false
	}
	rank := float64(float64(n-1) * q)
	i := floorRank(n, q)
	if i == n-1 {
		return sorted[i], true
	}
	f := rank - float64(i)
	return sorted[i] + float64(f*(sorted[i+1]-sorted[i])), true
}

// floorRank is the whole part of the rank (n − 1)q.
func floorRank(n int, q float64) int { return min(int(float64(float64(n-1)*q)), n-1) }
