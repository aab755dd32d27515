package scrape

import (
	"math"
	"slices"
)

// Distribution is what a histogram counted in the time covered.
type Distribution struct {
	N    float64  // observations
	Mean *float64 // sum ÷ observations: exact
	// bounds and the observations at or below each.
	bounds, below []float64
	Warnings      []string
}

// Bounded is a quantile of which the buckets tell no more than the bounds.
type Bounded struct {
	// Value is by linear interpolation in the bucket, as histogram_quantile of
	// Prometheus; nil in the bucket without an upper bound.
	Value *float64
	Low   float64
	High  *float64 // nil: no upper bound
}

// distribution is the difference of a histogram between the ends of the time
// covered. Values of the last bucket stand for all where the page gives no bucket
// +Inf and no count.
func (c *Cover) distribution(t *track) (*Distribution, bool) {
	d := &Distribution{}
	total, counted := c.grown(t.count)
	bounds := make([]float64, 0, len(t.buckets))
	for b := range t.buckets {
		bounds = append(bounds, b)
	}
	slices.Sort(bounds)
	scale := t.alias.scale
	if scale == 0 {
		scale = 1
	}
	var before float64
	fell := false
	seen := false
	for _, b := range bounds {
		n, ok := c.grown(t.buckets[b])
		if !ok {
			continue
		}
		seen = true
		if n < before {
			fell = fell || before-n > 1e-9*before
			n = before
		}
		d.bounds, d.below, before = append(d.bounds, b*scale), append(d.below, n), n
	}
	if !counted && !seen {
		return nil, false
	}
	if fell {
		d.Warnings = append(d.Warnings, "buckets that fall from one bound to the next were raised to the one before")
	}
	last := len(d.bounds) - 1
	switch infinite := last >= 0 && math.IsInf(d.bounds[last], 1); {
	case infinite && counted && math.Abs(total-before) > 1e-9*total:
		d.Warnings = append(d.Warnings, "the count and the bucket +Inf differ: the bucket is taken")
		total = before
	case infinite:
		total = before
	case !counted:
		d.Warnings = append(d.Warnings, "no bucket +Inf and no count: what lies above the last bound is not known")
		total = before
	case seen && total < before:
		d.Warnings = append(d.Warnings, "the count is below the last bucket, which is taken")
		total = before
	case seen:
		d.Warnings = append(d.Warnings, "no bucket +Inf: the count stands for it")
	}
	d.N = total
	if sum, ok := c.grown(t.sum); ok && total > 0 {
		if mean := sum / total; mean >= 0 {
			d.Mean = &mean
		} else {
			d.Warnings = append(d.Warnings, "the sum fell: no mean")
		}
	}
	return d, true
}

// Quantile is the q-quantile, 0 < q < 1; false without observations or buckets.
func (d *Distribution) Quantile(q float64) (Bounded, bool) {
	if d.N <= 0 || len(d.bounds) == 0 {
		return Bounded{}, false
	}
	rank := q * d.N
	low, before := 0.0, 0.0
	for i, b := range d.bounds {
		if d.below[i] < rank || d.below[i] == before {
			low, before = b, d.below[i]
			continue
		}
		if math.IsInf(b, 1) {
			return Bounded{Low: low}, true
		}
		if i == 0 && b <= 0 {
			low = b
		}
		v := low + (b-low)*((rank-before)/(d.below[i]-before))
		return Bounded{Value: &v, Low: low, High: &b}, true
	}
	return Bounded{Low: low}, true
}
