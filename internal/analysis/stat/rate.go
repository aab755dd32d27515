package stat

import "math"

// RateInterval is the 95 % interval of a rate or share whose value is at and that
// comes about in the counts of bins, in order: their mean stands for at. ok is
// false when there is none.
//
// even, where it is given, are the same counts with each spread over the time that
// it took to come about. With a fixed number in flight most of what bins differ by
// is on which side of a border a count fell, which batches have at all their
// borders and the whole at its two ends alone: of the variance that bins have above
// even, the whole has 1 ÷ batches.
func RateInterval(at float64, bins, even []float64, s Sections) (ci [2]float64, ok bool) {
	f, sp, ok := rate(at, bins, s)
	if !ok {
		return ci, false
	}
	if even != nil {
		g, smooth, ok := rate(at, even, s)
		if !ok {
			return ci, false
		}
		least := float64(smooth.err * smooth.err)
		f, sp.err = g, math.Sqrt(least+max(0, float64(sp.err*sp.err)-least)/float64(sp.batches))
	}
	return *f.mean(at, sp), true
}

func rate(at float64, bins []float64, s Sections) (f influence, sp spread, ok bool) {
	m, _ := Mean(bins)
	if m == 0 {
		return f, sp, false
	}
	z := make([]float64, len(bins))
	for i, x := range bins {
		z[i] = float64(at * (x/m - 1))
	}
	f = newInfluence(z)
	sp, ok = f.section(s)
	return f, sp, ok
}
