package scrape

// Count is what a counter, or the observations of a histogram, grew since the first
// reading of the source, reading by reading: what Value.Increase is the difference of.
type Count struct {
	Row    *Row
	Series string
	T      []int64   // of the readings
	N      []float64 // grown, or observations
	Sum    []float64 // of the observations, in the row's unit; nil of a counter
}

// Counts are the counters and histograms of the source, at at most most readings
// evenly chosen among all, the first and the last with them; 0: all readings.
func (s *Source) Counts(most int) []Count {
	n := len(s.Times)
	if most <= 1 || most > n {
		most = n
	}
	at := make([]int, most)
	for k := range at {
		if most > 1 {
			at[k] = k * (n - 1) / (most - 1)
		}
	}
	var out []Count
	for i := range Rows {
		row := &Rows[i]
		for _, t := range s.tracks {
			if t == nil || t.row != row {
				continue
			}
			total := t.total
			if row.Type == Histogram {
				total = t.count
			}
			if total == nil {
				continue
			}
			c := Count{Row: row, Series: t.alias.series}
			for _, k := range at {
				if k < total.start {
					continue
				}
				c.T, c.N = append(c.T, s.Times[k]), append(c.N, total.at(k))
				if t.sum != nil {
					c.Sum = append(c.Sum, t.sum.at(k))
				}
			}
			if len(c.T) > 0 {
				out = append(out, c)
			}
			break
		}
	}
	return out
}
