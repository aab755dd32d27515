package scrape

import "math"

// Point is one value of a gauge over time, or several readings as one: their mean,
// least and greatest.
type Point struct {
	T              int64 // of the first reading
	V, Least, Most float64
}

// Line is a gauge over time.
type Line struct {
	Row    *Row
	Series string
	Points []Point
}

// Lines are the gauges of the source over all its readings, at most most points
// each; 0: all readings. Where there are more readings, neighbours become one
// point. generation_throughput of a page that has no such gauge is the growth of
// its counter between readings. Nothing stands where nothing was read.
func (s *Source) Lines(most int) []Line {
	var out []Line
	for i := range Rows {
		row := &Rows[i]
		for _, t := range s.tracks {
			if t == nil || t.row != row || row.Type != Gauge {
				continue
			}
			if p := s.thin(most, t.gaugeAt); p != nil {
				out = append(out, Line{row, t.alias.series, p})
				break
			}
		}
		if n := len(out); row.Name == "generation_throughput" && (n == 0 || out[n-1].Row != row) {
			for _, t := range s.tracks {
				if t == nil || t.row.Name != "generation_tokens" || t.total == nil {
					continue
				}
				if p := s.thin(most, func(i int) (x, least, most float64) { x = t.rateAt(s, i); return x, x, x }); p != nil {
					out = append(out, Line{row, t.alias.series, p})
					break
				}
			}
		}
	}
	return out
}

func (s *Source) thin(most int, at func(i int) (x, least, most float64)) []Point {
	n := len(s.Times)
	if most <= 0 || most > n {
		most = n
	}
	var out []Point
	for k := range most {
		p := Point{Least: math.Inf(1), Most: math.Inf(-1)}
		var sum, count float64
		for i := k * n / most; i < (k+1)*n/most; i++ {
			x, least, top := at(i)
			if math.IsNaN(x) {
				continue
			}
			if count == 0 {
				p.T = s.Times[i]
			}
			sum, count = sum+x, count+1
			p.Least, p.Most = min(p.Least, least), max(p.Most, top)
		}
		if count > 0 {
			p.V = sum / count
			out = append(out, p)
		}
	}
	return out
}
