package chart

import "math"

// grid cuts time into buckets.
type grid struct {
	From  float64 `json:"from"`
	Step  float64 `json:"step"`
	N     int     `json:"n"`
	Start float64 `json:"start"`
	To    float64 `json:"to"`
}

// points are values at times.
type points struct{ t, v []float64 }

// series is one line of a chart over time: values of a grid, or points. NaN is absent.
type series struct {
	name, plain string // a word, or a text; neither: not in the legend
	color       string
	kind        string // step, area; of points line, dots
	width       float64
	dash        []float64
	alpha       float64
	grid        *grid
	values      []float64
	points      *points
}

// all are the values of a series.
func (s *series) all() []float64 {
	if s.points != nil {
		return s.points.v
	}
	return s.values
}

// level is a line across a chart.
type level struct {
	v    float64
	text string
}

// bucketEdge is where bucket i of a grid begins, and bucket i - 1 ends.
func bucketEdge(g *grid, i int) float64 {
	switch {
	case i <= 0:
		return g.Start
	case i >= g.N:
		return g.To
	}
	return g.From + float64(float64(i)*g.Step)
}

// visible are the buckets of a grid that a view shows.
func visible(g *grid, view [2]float64) (a, b int) {
	return min(max(int(math.Floor((view[0]-g.From)/g.Step)), 0), g.N-1), min(max(int(math.Ceil((view[1]-g.From)/g.Step)), 1), g.N)
}

// extent is the least value of the series in view that is above 0, and the greatest.
func extent(list []series, levels []level, view [2]float64) (lo, hi float64) {
	lo = math.Inf(1)
	see := func(v float64) {
		if finite(v) {
			if v > hi {
				hi = v
			}
			if v > 0 && v < lo {
				lo = v
			}
		}
	}
	for _, s := range list {
		if s.points != nil {
			for i, t := range s.points.t {
				if t >= view[0] && t <= view[1] {
					see(s.points.v[i])
				}
			}
			continue
		}
		a, b := visible(s.grid, view)
		for i := a; i < b; i++ {
			see(s.values[i])
		}
	}
	for _, l := range levels {
		see(l.v)
	}
	if math.IsInf(lo, 1) {
		lo = 1
	}
	return lo, hi
}

// drawTime draws series over time.
func drawTime(c *pen, w, h float64, list []series, levels []level, view [2]float64, spans [][2]float64, ink palette) {
	_, hi := extent(list, levels, view)
	top := 1.0
	if hi > 0 {
		top = hi * 1.08
	}
	f := newFrame(c, w, h, axes{x: view, y: [2]float64{0, top}, xUnit: "s"}, ink)
	bands(c, f, spans, ink)
	inside(c, f.box, func() {
		for i := range list {
			s := &list[i]
			c.stroke, c.fill, c.width = ink[s.color], ink[s.color], 1.5
			if s.width != 0 {
				c.width = s.width
			}
			c.dashes(s.dash...)
			switch {
			case s.kind == "dots":
				drawDots(c, f, s.points, view, s.alpha)
			case s.points != nil:
				drawPoints(c, f, s.points, view)
			default:
				drawBuckets(c, f, s, view)
			}
			c.dashes()
			c.alpha = 1
		}
		for _, l := range levels {
			c.stroke, c.width = ink["grey"], 1
			c.dashes(6, 4)
			y := f.y.at(l.v)
			c.stretch(f.box.x, y, f.box.x+f.box.w, y)
			c.dashes()
			c.fill, c.align, c.baseline = ink["faint"], "right", "alphabetic"
			by := -3.0
			if y-f.box.y < 14 {
				by = 12
			}
			c.fillText(l.text, f.box.x+f.box.w-4, y+by)
		}
	})
}

// path draws a line that breaks where a value is absent.
type path struct {
	c  *pen
	on bool
}

func (p *path) to(x, y float64) {
	if p.on {
		p.c.line(x, y)
	} else {
		p.c.move(x, y)
	}
	p.on = true
}

func drawBuckets(c *pen, f frame, s *series, view [2]float64) {
	g := s.grid
	a, b := visible(g, view)
	edge := func(i int) float64 {
		return f.x.at(math.Min(math.Max(bucketEdge(g, i), view[0]-g.Step), view[1]+g.Step))
	}
	c.begin()
	if s.kind == "area" {
		c.alpha = 0.18
		c.move(edge(a), f.y.at(0))
		for i := a; i < b; i++ {
			v := s.values[i]
			if math.IsNaN(v) {
				v = 0
			}
			c.line(edge(i), f.y.at(v))
			c.line(edge(i+1), f.y.at(v))
		}
		c.line(edge(b), f.y.at(0))
		c.close()
		c.fillPath()
		c.alpha = 1
		c.begin()
	}
	line := path{c: c}
	for i := a; i < b; i++ {
		if math.IsNaN(s.values[i]) {
			line.on = false
			continue
		}
		y := f.y.at(s.values[i])
		line.to(edge(i), y)
		c.line(edge(i+1), y)
	}
	c.strokePath()
}

func drawPoints(c *pen, f frame, p *points, view [2]float64) {
	c.begin()
	line := path{c: c}
	for i := range p.t {
		if math.IsNaN(p.v[i]) {
			line.on = false
			continue
		}
		if i+1 < len(p.t) && p.t[i+1] < view[0] || i > 0 && p.t[i-1] > view[1] {
			continue
		}
		line.to(f.x.at(p.t[i]), f.y.at(p.v[i]))
	}
	c.strokePath()
	if len(p.t) == 1 && !math.IsNaN(p.v[0]) {
		c.fillRect(f.x.at(p.t[0])-2, f.y.at(p.v[0])-2, 4, 4)
	}
}

// drawDots draws a cloud: single dots, or where these are many cells of it, the
// fuller the darker.
func drawDots(c *pen, f frame, p *points, view [2]float64, alpha float64) {
	shown := func(i int) bool { return p.t[i] >= view[0] && p.t[i] <= view[1] && finite(p.v[i]) }
	defer func() { c.alpha = 1 }()
	if len(p.t) <= 3000 {
		half := 1.5
		if c.alpha = alpha; len(p.t) <= 20 { // a few are seen alone
			half, c.alpha = 2.5, 1
		}
		for i := range p.t {
			if shown(i) {
				x := f.x.at(p.t[i])
				if len(p.t) <= 20 { // the first is sent at 0
					x = math.Max(x, f.box.x+half)
				}
				c.fillRect(x-half, f.y.at(p.v[i])-half, 2*half, 2*half)
			}
		}
		return
	}
	const cell = 2
	w, h := int(math.Ceil(f.box.w/cell))+1, int(math.Ceil(f.box.h/cell))+1
	cells := make([]int, w*h)
	for i := range p.t {
		if !shown(i) {
			continue
		}
		x, y := int((f.x.at(p.t[i])-f.box.x)/cell), int((f.y.at(p.v[i])-f.box.y)/cell)
		if x >= 0 && x < w && y >= 0 && y < h {
			cells[y*w+x]++
		}
	}
	for i, k := range cells {
		if k == 0 {
			continue
		}
		c.alpha = math.Min(1, 0.25+float64(0.15*math.Log2(float64(k))))
		c.fillRect(f.box.x+float64(i%w*cell), f.box.y+float64(i/w*cell), cell, cell)
	}
}

// ruled is a window of the ruler.
type ruled struct {
	kind   string
	spans  [][2]float64
	chosen bool
}

// drawRuler draws the windows as bars over the time axis.
func drawRuler(c *pen, w, h float64, windows []ruled, view [2]float64, ink palette) {
	b := box{x: 58, w: math.Max(10, w-72)}
	x := newScale(view[0], view[1], b.x, b.x+b.w, false)
	each := h / math.Max(1, float64(len(windows)))
	for i, win := range windows {
		y := float64(float64(i)*each) + 2
		c.fill = ink["blue"]
		for _, s := range win.spans {
			from, to := math.Max(b.x, x.at(s[0])), math.Min(b.x+b.w, x.at(s[1]))
			if to <= from {
				continue
			}
			c.fill = ink["blue"]
			c.alpha = 0.28
			if win.chosen {
				c.alpha = 0.85
			}
			c.fillRect(from, y, to-from, each-4)
			c.alpha = 1
		}
		c.fill = ink["faint"]
		if win.chosen {
			c.fill = ink["text"]
		}
		c.align, c.baseline = "right", "middle"
		cs := []rune(win.kind)
		cs = cs[:min(60, len(cs))]
		name := win.kind
		for len(cs) > 4 && wide(name) > 52 {
			cs = cs[:len(cs)-1]
			name = string(cs) + "…"
		}
		c.fillText(name, b.x-6, y+each/2-2)
	}
}
