package stat

// RateInterval is the 95 % interval of a rate or share whose value is at and that
// comes about in the counts of bins, in order: their mean stands for at. ok is
// false when there is none.
func RateInterval(at float64, bins []float64, s Sections) (ci [2]float64, ok bool) {
	m, _ := Mean(bins)
	if m == 0 {
		return ci, false
	}
	z := make([]float64, len(bins))
	for i, x := range bins {
		z[i] = at * (x/m - 1)
	}
	f := newInfluence(z)
	sp, ok := f.section(s, BatchesCentre)
	if !ok {
		return ci, false
	}
	return *f.mean(at, sp), true
}
