package plan

// poissonGaps are exponential with mean 1, by inversion: −ln u.
func poissonGaps(_ Params, r *rng) func() float64 {
	return func() float64 { return -ln(r.uniform()) }
}

// conditionedScale stretches operational time so that the N measured arrivals
// span exactly N − 1 units, (N − 1) ÷ r seconds without a ramp: the offered rate
// of the run is then r and not a random number with a spread of r ÷ √N. With
// N = 1 there is no span to stretch.
func conditionedScale(q Params) float64 {
	if q.Requests < 2 {
		return 1
	}
	gap := arrivals[q.Arrivals](q, newRNG(q.ArrivalSeed, "arrivals"))
	var s, first float64
	for i := int64(1); i < q.Warmup+q.Requests; i++ {
		s += gap()
		if i == q.Warmup {
			first = s
		}
	}
	return float64(q.Requests-1) / (s - first)
}
