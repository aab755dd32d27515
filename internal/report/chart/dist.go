package chart

import (
	"math"

	"tokentape/internal/analysis"
)

// drawHistogram draws the bars of one distribution, and the marks of its statistics.
func drawHistogram(c *pen, w, h float64, b *analysis.Bins, log bool, unit string, marks []mark, ink palette) {
	n := len(b.Counts)
	edge := func(i int) float64 { return edgeOf(b, log, i) }
	top := 1.0
	for _, k := range b.Counts {
		top = math.Max(top, float64(k))
	}
	ends := around(edge(0), edge(n))
	one := ends[0] < edge(0) // all have one value
	f := newFrame(c, w, h, axes{x: ends, y: [2]float64{0, top * 1.12}, xLog: log, xUnit: unit, top: 14}, ink)
	inside(c, f.box, func() {
		c.fill = ink["blue"]
		for i, k := range b.Counts {
			if k != 0 {
				x0, x1 := f.x.at(edge(i)), f.x.at(edge(i+1))
				y := math.Min(f.y.at(float64(k)), f.y.at(0)-1)
				if one {
					c.fillRect(x0-4, y, 8, f.y.at(0)-y)
				} else {
					c.fillRect(x0+0.5, y, math.Max(1, x1-x0-1), f.y.at(0)-y)
				}
			}
		}
	})
	drawMarks(c, f, marks, ink)
}

// edgeOf is where bin i begins.
func edgeOf(b *analysis.Bins, log bool, i int) float64 {
	if log {
		return b.From * math.Pow(b.Step, float64(i))
	}
	return b.From + float64(float64(i)*b.Step)
}

// drawCDF draws cumulative shares on a logarithmic axis.
func drawCDF(c *pen, w, h float64, cdf []analysis.CDFEnd, unit string, marks []mark, ink palette) {
	lo, hi := math.Inf(1), 0.0
	for _, p := range cdf {
		if p.V > 0 {
			lo = math.Min(lo, p.V)
		}
		hi = math.Max(hi, p.V)
	}
	if math.IsInf(lo, 1) {
		lo = 1e-3
	}
	lo = math.Max(lo, hi/1e6)
	x := [2]float64{lo, lo + 1}
	if hi > 0 {
		x = around(lo, hi)
	}
	percent := func(v float64) string { return text(round(v*100)) + " %" }
	f := newFrame(c, w, h, axes{x: x, y: [2]float64{0, 1}, xLog: true, xUnit: unit, yText: percent, top: 14}, ink)
	inside(c, f.box, func() {
		c.stroke, c.width = ink["blue"], 2.25
		c.begin()
		line := path{c: c}
		for _, p := range cdf {
			line.to(f.x.at(p.V), f.y.at(p.Q))
		}
		c.strokePath()
	})
	drawMarks(c, f, marks, ink)
}

// drawCloud draws one value of requests against another, this on a logarithmic axis.
func drawCloud(c *pen, w, h float64, p *points, xUnit, color string, ink palette) {
	a, b, lo, hi := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for i, x := range p.t {
		y := p.v[i]
		if !finite(x) || !finite(y) || y <= 0 {
			continue
		}
		a, b, lo, hi = math.Min(a, x), math.Max(b, x), math.Min(lo, y), math.Max(hi, y)
	}
	if math.IsInf(a, 1) {
		a, b, lo, hi = 1, 10, 1, 10
	}
	room := b - a
	if room == 0 {
		room = math.Abs(a)
	}
	if room == 0 {
		room = 1
	}
	x := [2]float64{a - float64(room*0.04), b + float64(room*0.04)}
	if a >= 0 { // nothing has tokens below 0
		x[0] = math.Max(0, x[0])
	}
	f := newFrame(c, w, h, axes{x: x, y: [2]float64{lo / 1.15, hi * 1.15}, yLog: true, xUnit: xUnit}, ink)
	inside(c, f.box, func() {
		c.fill = ink[color]
		drawDots(c, f, p, [2]float64{f.x.lo, f.x.hi}, 0.5)
	})
}
