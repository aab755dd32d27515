package stat

// ShareBounds are the exact bounds of Clopper and Pearson for the share good of n,
// each wrong with probability alpha at most, 0 < alpha < 1: the share lies above lo,
// and it lies below hi, each by itself at level 1 − alpha. good and n need not be
// whole: for samples that hang together give the effective ones, n ÷ g and as much
// of good (Korn and Graubard, Surv. Methodol. 24 (1998) 193). n ≤ 0 gives 0 and 1.
func ShareBounds(good, n, alpha float64) (lo, hi float64) {
	if !(n > 0) {
		return 0, 1
	}
	good = min(max(good, 0), n)
	bad := n - good
	lo, hi = 0, 1
	if good > 0 {
		lo = betaQuantile(alpha, good, bad+1)
	}
	if bad > 0 {
		hi = betaQuantile(1-alpha, good+1, bad)
	}
	return lo, hi
}

// betaQuantile is the x with I_x(a, b) = p.
func betaQuantile(p, a, b float64) float64 {
	lo, hi := 0.0, 1.0
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if beta(mid, a, b) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}
