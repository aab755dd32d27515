package chart

import "math"

// scale maps [lo, hi] to pixels.
type scale struct {
	lo, hi  float64
	a, k, l float64
	log     bool
}

func newScale(lo, hi, a, b float64, log bool) scale {
	if log {
		lo = math.Max(lo, 1e-12)
		if !(hi > lo) {
			hi = lo * 10
		}
		l := math.Log(lo)
		return scale{lo, hi, a, (b - a) / (math.Log(hi) - l), l, true}
	}
	if !(hi > lo) {
		hi = lo + 1
	}
	return scale{lo: lo, hi: hi, a: a, k: (b - a) / (hi - lo)}
}

// at is where a value lies. float64(…) keeps machines that can from multiplying and
// adding in one step, which rounds otherwise.
func (s scale) at(v float64) float64 {
	if s.log {
		return s.a + float64((math.Log(math.Max(v, s.lo))-s.l)*s.k)
	}
	return s.a + float64((v-s.lo)*s.k)
}

type box struct{ x, y, w, h float64 }

// frame is the inner box of a chart and its scales.
type frame struct {
	box  box
	x, y scale
}

// axes say what a frame shows.
type axes struct {
	x, y       [2]float64
	xLog, yLog bool
	top        float64 // 0: 8
	noY        bool
	xUnit      string
	yText      func(float64) string
}

// newFrame draws axes and grid and gives the scales of the inner box.
func newFrame(c *pen, w, h float64, o axes, ink palette) frame {
	top := 8.0
	if o.top != 0 {
		top = o.top
	}
	// A unit stands at the end of the axis and no number on it; a long one below the numbers.
	unit, foot, unitY, end := wide(o.xUnit), 22.0, 7.0, w
	switch {
	case unit > 44:
		foot, unitY = 36, 21
	case unit > 0:
		end = w - unit - 8
	}
	b := box{x: 58, y: top, w: math.Max(10, w-58-14), h: math.Max(10, h-top-foot)}
	x := newScale(o.x[0], o.x[1], b.x, b.x+b.w, o.xLog)
	y := newScale(o.y[0], o.y[1], b.y+b.h, b.y, o.yLog)
	c.width, c.baseline, c.align = 1, "middle", "right"
	var list []float64
	switch {
	case o.noY:
	case o.yLog && y.hi > 8*y.lo:
		list = logTicks(y.lo, y.hi, b.h/30)
	default:
		list = ticks(y.lo, y.hi, math.Max(3, b.h/32))
	}
	yText := tick
	if o.yText != nil {
		yText = o.yText
	}
	for _, v := range list {
		at := round(y.at(v)) + 0.5
		c.stroke = ink["grid"]
		c.stretch(b.x, at, b.x+b.w, at)
		c.fill = ink["faint"]
		c.fillText(yText(v), b.x-6, at)
	}
	c.stroke = ink["axis"]
	c.stretch(b.x, b.y+b.h+0.5, b.x+b.w, b.y+b.h+0.5)
	c.align, c.baseline, c.fill = "center", "top", ink["faint"]
	last := -1e9
	if o.xLog && x.hi > 8*x.lo {
		list = logTicks(x.lo, x.hi, b.w/60)
	} else {
		list = ticks(x.lo, x.hi, b.w/80)
	}
	for _, v := range list {
		at, text := x.at(v), tick(v)
		half := wide(text) / 2
		c.stretch(round(at)+0.5, b.y+b.h, round(at)+0.5, b.y+b.h+4)
		if at-half < last+8 || at+half > end {
			continue
		}
		c.fillText(text, at, b.y+b.h+7)
		last = at + half
	}
	if unit > 0 {
		c.align = "right"
		c.fillText(o.xUnit, w-2, b.y+b.h+unitY)
	}
	return frame{b, x, y}
}

func inside(c *pen, b box, draw func()) {
	c.save()
	c.begin()
	c.rect(b.x, b.y-1, b.w, b.h+2)
	c.clip()
	draw()
	c.restore()
}

// bands shade the chosen window and mark its ends.
func bands(c *pen, f frame, spans [][2]float64, ink palette) {
	for _, s := range spans {
		a, b := f.x.at(math.Max(s[0], f.x.lo)), f.x.at(math.Min(s[1], f.x.hi))
		if b < a {
			continue
		}
		c.fill = ink["band"]
		c.fillRect(a, f.box.y, b-a, f.box.h)
		c.stroke = ink["edge"]
		c.dashes(3, 3)
		for _, t := range s {
			if t >= f.x.lo && t <= f.x.hi {
				c.stretch(f.x.at(t), f.box.y, f.x.at(t), f.box.y+f.box.h)
			}
		}
		c.dashes()
	}
}

// around is a range with room on both sides where its ends are all but the same.
func around(lo, hi float64) [2]float64 {
	if hi > 0 && hi-lo < float64(hi*0.001) {
		return [2]float64{lo * 0.9, hi * 1.1}
	}
	return [2]float64{lo, hi}
}

// drawMarks draws the marks of statistics over a distribution.
func drawMarks(c *pen, f frame, marks []mark, ink palette) {
	last := -1e9
	for _, m := range marks {
		if math.IsNaN(m.v) || m.v < f.x.lo || m.v > f.x.hi {
			continue
		}
		x := round(f.x.at(m.v)) + 0.5
		c.stroke, c.width = ink["text"], 1
		c.dashes(2, 3)
		c.stretch(x, f.box.y, x, f.box.y+f.box.h)
		c.dashes()
		half := wide(m.text) / 2
		if x-half < last+4 {
			continue
		}
		c.fill, c.align, c.baseline = ink["faint"], "center", "alphabetic"
		c.fillText(m.text, x, f.box.y-3)
		last = x + half
	}
}

// mark is a statistic.
type mark struct {
	v    float64
	text string
}
