package stat

import "slices"

// Holm adjusts the p-values of one family for their number: a result may be called
// at 5 % when its adjusted value is at most 0.05, and then the chance of a false
// call anywhere in the family is at most 5 %, however the tests hang together
// (Holm 1979).
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	most := 0.0
	for i, k := range order {
		most = max(most, min(1, float64(len(ps)-i)*ps[k]))
		out[k] = most
	}
	return out
}
