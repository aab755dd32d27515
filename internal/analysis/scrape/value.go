package scrape

import (
	"math"
)

// Value is a row of one source over the time that its readings cover.
type Value struct {
	Row    *Row
	Series string // what the row was made of, without labels
	Of     int    // how many series
	Counts string // what an observation is
	Token  bool   // an observation is one token

	N int64 // readings that had it

	// Of a gauge: the mean weighs each value with the time until the next reading,
	// and leaves gaps out. Min and Max of a row that is a mean of several series are
	// those of single ones.
	Mean, Min, Max, Last *float64

	// Of a counter, and what a rate or ratio was made from.
	Increase, PerSecond *float64
	Resets              int64

	Histogram *Distribution
}

// Values are the rows of the source in the time covered, in the order of Rows.
func (c *Cover) Values() []Value {
	var out []Value
	for i := range Rows {
		row := &Rows[i]
		v, ok := c.derived(row)
		for _, t := range c.src.tracks {
			if t != nil && t.row == row {
				if own, has := c.value(t); has {
					v, ok = own, true
					break
				}
			}
		}
		if ok {
			out = append(out, v)
		}
	}
	return out
}

// seconds is the time covered.
func (c *Cover) seconds() float64 { return float64(c.Covered) / 1e9 }

// value is what one alias says.
func (c *Cover) value(t *track) (Value, bool) {
	v := Value{Row: t.row, Series: t.alias.series, Of: t.series, Counts: t.alias.counts, Token: t.alias.token, Resets: c.resets(t)}
	switch t.row.Type {
	case Gauge:
		return v, c.gauge(t, &v)
	case Counter:
		grown, ok := c.grown(t.total)
		if !ok {
			return v, false
		}
		c.rate(&v, grown)
		return v, true
	}
	d, ok := c.distribution(t)
	v.Histogram, v.N = d, int64(c.Readings)
	return v, ok
}

func (c *Cover) rate(v *Value, grown float64) {
	v.Increase, v.N = &grown, int64(c.Readings)
	if s := c.seconds(); s > 0 {
		per := grown / s
		v.PerSecond = &per
	}
}

// gauge fills in what a gauge was; false where no reading had it.
func (c *Cover) gauge(t *track, v *Value) bool {
	var weighed, weight, plain float64
	lo, hi, last := math.Inf(1), math.Inf(-1), math.NaN()
	for _, p := range c.pieces {
		for i := p.a; i <= p.b; i++ {
			x, least, most := t.gaugeAt(i)
			if math.IsNaN(x) {
				continue
			}
			v.N++
			plain += x
			lo, hi, last = min(lo, least), max(hi, most), x
			if i < p.b {
				if d := c.src.Times[i+1] - c.src.Times[i]; d <= c.longest {
					weighed += float64(x * float64(d))
					weight += float64(d)
				}
			}
		}
	}
	if v.N == 0 {
		return false
	}
	mean := plain / float64(v.N)
	if weight > 0 {
		mean = weighed / weight
	}
	v.Mean, v.Min, v.Max, v.Last = &mean, &lo, &hi, &last
	return true
}

// gaugeAt is the row at a reading, and the least and the greatest of it: of a mean
// over series those of single ones. NaN: no series had a value.
func (t *track) gaugeAt(i int) (x, least, most float64) {
	n := 0.0
	least, most = math.Inf(1), math.Inf(-1)
	for _, col := range t.columns {
		v := col.at(i)
		if math.IsNaN(v) {
			continue
		}
		n++
		x += v
		least, most = min(least, v), max(most, v)
	}
	switch {
	case n == 0:
		return math.NaN(), 0, 0
	case t.row.Mean:
		return x / n, least, most
	}
	return x, x, x
}

// track is the one that a row is made of in the time covered, nil for none.
func (c *Cover) track(row string) *track {
	for _, t := range c.src.tracks {
		if t == nil || t.row.Name != row {
			continue
		}
		if _, ok := c.grown(t.total); ok {
			return t
		}
	}
	return nil
}

// derived makes a row that the page has no series for from two counters.
func (c *Cover) derived(row *Row) (Value, bool) {
	ratio := func(over, under string, plus float64) (Value, bool) {
		a, b := c.track(over), c.track(under)
		if a == nil || b == nil {
			return Value{}, false
		}
		num, _ := c.grown(a.total)
		den, _ := c.grown(b.total)
		if den <= 0 {
			return Value{}, false
		}
		mean := plus + num/den
		return Value{Row: row, Series: a.alias.series + " ÷ " + b.alias.series, Of: a.series + b.series, N: int64(c.Readings), Mean: &mean, Resets: c.resets(a, b)}, true
	}
	switch row.Name {
	case "cached_share":
		return ratio("cached_tokens", "prompt_tokens", 0)
	case "cache_hit_rate":
		return ratio("cache_hits", "cache_queries", 0)
	case "accept_rate":
		return ratio("accepted_tokens", "drafted_tokens", 0)
	case "accept_length":
		return ratio("accepted_tokens", "verify_steps", 1)
	case "generation_throughput":
		t := c.track("generation_tokens")
		if t == nil || c.Covered <= 0 {
			return Value{}, false
		}
		grown, _ := c.grown(t.total)
		mean := grown / c.seconds()
		v := Value{Row: row, Series: t.alias.series, Of: t.series, N: int64(c.Readings), Mean: &mean, Resets: c.resets(t)}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, p := range c.pieces {
			for i := p.a + 1; i <= p.b; i++ {
				if r := t.rateAt(c.src, i); !math.IsNaN(r) && c.src.Times[i]-c.src.Times[i-1] <= c.longest {
					lo, hi = min(lo, r), max(hi, r)
				}
			}
		}
		if lo <= hi {
			v.Min, v.Max = &lo, &hi
		}
		return v, true
	}
	return Value{}, false
}

// rateAt is how much a counter grew a second up to reading i, NaN at the first.
func (t *track) rateAt(s *Source, i int) float64 {
	if i < 1 || i >= len(s.Times) || s.Times[i] <= s.Times[i-1] || i < t.total.start {
		return math.NaN()
	}
	return (t.total.at(i) - t.total.at(i-1)) / (float64(s.Times[i]-s.Times[i-1]) / 1e9)
}
