package search

import (
	"math"
	"testing"
)

// TestMD1 holds the truth of the other tests against Erlang's formula where that has
// digits, and against the wait of nobody.
func TestMD1(t *testing.T) {
	for _, rho := range []float64{0.3, 0.7, 0.85} {
		for n := range 9 {
			sum, fact := 0.0, 1.0
			for j := range n + 1 {
				if j > 0 {
					fact *= float64(j)
				}
				x := rho * float64(n-j)
				sum += math.Pow(-x, float64(j)) / fact * math.Exp(x)
			}
			if want := (1 - rho) * sum; math.Abs(md1(rho, n)-want) > 1e-9 {
				t.Errorf("load %v, %d services: %v, Erlang says %v", rho, n, md1(rho, n), want)
			}
		}
	}
}
