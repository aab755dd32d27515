package stat

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestStretch(t *testing.T) {
	for _, c := range []struct {
		name string
		ys   []float64
		i, j int
		sure bool
	}{
		{"an outage at the end", []float64{10, 11, 9, 10, 10, 11, 10, 0, 0, 0}, 7, 10, true},
		{"at the start", []float64{0, 0, 10, 11, 9, 10, 10, 11, 10, 10}, 0, 2, true},
		{"in the middle", []float64{10, 11, 9, 0, 0, 10, 10, 11, 10, 10}, 3, 5, true},
		{"a step half-way", []float64{10, 11, 9, 10, 10, 6, 5, 6, 6, 7}, 5, 10, true},
		{"without noise", []float64{4, 4, 4, 4, 4, 4, 4, 4, 2, 2}, 8, 10, true},
		{"a line", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0, 5, false},
		{"noise", []float64{10, 12, 9, 11, 8, 10, 12, 9, 11, 10}, 0, 0, false},
		{"one value", []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, 0, 0, false},
		{"too few", []float64{5, 0}, 0, 0, false},
	} {
		i, j, shift, sure := Stretch(c.ys)
		if sure != c.sure || sure && (i != c.i || j != c.j) {
			t.Errorf("%s: %d to %d by %v, sure %v", c.name, i, j, shift, sure)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ys := rapid.SliceOfN(rapid.Float64Range(0, 1e6), TrendPoints, TrendPoints).Draw(t, "ys")
		i, j, shift, sure := Stretch(ys)
		if sure && (i < 0 || j > len(ys) || i >= j || j-i == len(ys) || shift == 0) {
			t.Fatalf("%d to %d by %v", i, j, shift)
		}
	})
}

// TestStretchQuantile: series of one level look like a stretch in about one of
// 1,000, and not in none.
func TestStretchQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const draws = 20000
	ys, found := make([]float64, TrendPoints), 0
	for range draws {
		for k := range ys {
			ys[k] = 100 + r.NormFloat64()
		}
		if _, _, _, sure := Stretch(ys); sure {
			found++
		}
	}
	if found < draws/2000 || found > draws/500 {
		t.Errorf("%d of %d", found, draws)
	}
}
