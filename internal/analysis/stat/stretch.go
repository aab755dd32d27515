package stat

import "math"

// stretchT is the 99.9 % quantile of the largest t of all stretches of 10
// independent normal values, complements taken for one (2 million draws;
// TestStretchQuantile draws anew).
const stretchT = 8.78

// Stretch finds the contiguous stretch ys[i:j], of at most half of TrendPoints
// values, that stands out most from the rest: the one with the largest t of a difference of two means,
// spread taken from within both. shift is its mean less that of the rest; sure is
// true when even the largest of all stretches is as large in fewer than one of
// 1,000 series of one level. A step is a stretch at an end.
func Stretch(ys []float64) (i, j int, shift float64, sure bool) {
	n := len(ys)
	if n != TrendPoints {
		return 0, 0, 0, false
	}
	best := -1.0
	for a := range n {
		for b := a + 1; b <= min(n, a+n/2); b++ {
			in := append([]float64(nil), ys[a:b]...)
			out := append(append([]float64(nil), ys[:a]...), ys[b:]...)
			mi, _ := Mean(in)
			mo, _ := Mean(out)
			var rest Acc
			for _, y := range in {
				rest.Add(float64((y - mi) * (y - mi)))
			}
			for _, y := range out {
				rest.Add(float64((y - mo) * (y - mo)))
			}
			k := float64(b - a)
			d := float64((mi - mo) * math.Sqrt(k*(float64(n)-k)/float64(n)))
			if d == 0 {
				continue
			}
			t := math.Inf(1)
			if r := rest.Sum(); r > 0 {
				t = math.Abs(d) / math.Sqrt(r/float64(n-2))
			}
			if t >= best { // of two halves, the later
				best, i, j, shift = t, a, b, mi-mo
			}
		}
	}
	return i, j, shift, best > stretchT
}
