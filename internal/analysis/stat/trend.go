package stat

import "math"

// trendT is the two-sided 99.9 % quantile of Student's t with 8 degrees of
// freedom: several series are looked at, so one look must be sure.
const trendT = 5.0413

// TrendPoints is how many batch values Trend takes.
const TrendPoints = 10

// Trend fits a straight line through TrendPoints values at equal distances and
// gives its rise from the first to the last point. sure is true when the slope
// differs from 0 at the 99.9 % level.
func Trend(ys []float64) (rise float64, sure bool) {
	if len(ys) != TrendPoints {
		return 0, false
	}
	m, _ := Mean(ys)
	const centre = float64(TrendPoints-1) / 2
	var sxy, sxx Acc
	for i, y := range ys {
		x := float64(i) - centre
		sxy.Add(float64(x * (y - m)))
		sxx.Add(float64(x * x))
	}
	slope := sxy.Sum() / sxx.Sum()
	var rest Acc
	for i, y := range ys {
		e := y - m - float64(slope*(float64(i)-centre))
		rest.Add(float64(e * e))
	}
	rise = float64(slope * (TrendPoints - 1))
	error2 := rest.Sum() / (TrendPoints - 2) / sxx.Sum()
	return rise, math.Abs(slope) > float64(trendT*math.Sqrt(error2)) && slope != 0
}

// BatchMeans are the means of b contiguous batches; ok is false below 2 values a
// batch.
func BatchMeans(xs []float64, b int) ([]float64, bool) {
	if len(xs) < 2*b {
		return nil, false
	}
	means := make([]float64, b)
	for i := range means {
		means[i], _ = Mean(xs[i*len(xs)/b : (i+1)*len(xs)/b])
	}
	return means, true
}
