package chart

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// stall is a pause within a stream, seconds.
type stall struct{ t, long float64 }

// fall is the waterfall: requests in order of release.
type fall struct {
	rel, ready, begin, wait, conn, ttft, e2e, end []float64 // seconds; NaN: absent
	bad                                           []int     // 0 ok, 1 abandoned or cancelled, 2 failed
	before                                        [2][]int  // abandoned, failed among the first i
	levels                                        [][]int   // which place stands for a block of 2, 4, 8 … of them
	until                                         []float64 // the latest end of this request and all before it
	stalls                                        map[int][]stall
}

var fallColors = map[string]string{"wait": "yellow", "lag": "brown", "connect": "purple", "prefill": "blue", "decode": "green", "whole": "sky", "tail": "grey", "stall": "black", "failed": "red", "abandoned": "orange"}

// newFall is nil where no request says when it was released.
func newFall(d *data) *fall {
	rel := d.column("released")
	var order []int
	for i, t := range rel {
		if !math.IsNaN(t) {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rel[a], rel[b]) })
	get := func(name string, by float64) []float64 {
		col, out := d.column(name), make([]float64, len(order))
		for k, i := range order {
			out[k] = math.NaN()
			if col != nil {
				out[k] = col[i] / by
			}
		}
		return out
	}
	f := &fall{rel: get("released", 1), ready: get("ready", 1), begin: get("released", 1), wait: get("slot_wait", 1e3), conn: get("connect", 1e3), ttft: get("ttft_ms", 1e3), e2e: get("e2e_ms", 1e3), end: get("stream_end_ms", 1e3), stalls: map[int][]stall{}}
	m := len(order)
	f.bad, f.until, f.before = make([]int, m), make([]float64, m), [2][]int{make([]int, m+1), make([]int, m+1)}
	due := get("due", 1)
	for k := range m {
		for _, t := range []float64{due[k], f.ready[k]} {
			if t < f.begin[k] {
				f.begin[k] = t
			}
		}
	}
	latest := math.Inf(-1)
	place := make([]int, d.Rows)
	for i := range place {
		place[i] = -1
	}
	for k, row := range order {
		place[row] = k
		switch d.word("outcome", row) {
		case "ok", "":
		case "abandoned", "cancelled":
			f.bad[k] = 1
		default:
			f.bad[k] = 2
		}
		latest = math.Max(latest, f.rel[k]+f.long(k))
		f.until[k] = latest
		for b := range f.before {
			f.before[b][k+1] = f.before[b][k]
			if f.bad[k] == b+1 {
				f.before[b][k+1]++
			}
		}
	}
	var below []int
	for size := m; size > 1; size = len(below) {
		next := make([]int, (size+1)/2)
		for i := range next {
			a, b := 2*i, min(2*i+1, size-1)
			if below != nil {
				a, b = below[a], below[b]
			}
			next[i] = a
			if f.worth(b) > f.worth(a) {
				next[i] = b
			}
		}
		f.levels = append(f.levels, next)
		below = next
	}
	rows, at, long := d.column("stall_row"), d.column("stall_t"), d.column("stall_ms")
	for k, row := range rows {
		if p := place[int(row)]; p >= 0 {
			f.stalls[p] = append(f.stalls[p], stall{at[k], long[k] / 1e3})
		}
	}
	return f
}

func (f *fall) last(i int) float64 {
	if !math.IsNaN(f.end[i]) {
		return f.end[i]
	}
	return f.e2e[i]
}

// long is how long a request took, 0 where that is not known.
func (f *fall) long(i int) float64 {
	if l := f.last(i); !math.IsNaN(l) {
		return l
	}
	return 0
}

// worth orders requests by how much they deserve to be drawn.
func (f *fall) worth(i int) float64 {
	if f.bad[i] > 0 {
		return -1 / (1 + f.long(i))
	}
	return f.long(i)
}

// inTime are the places whose requests a view can touch: [from, to).
func (f *fall) inTime(view [2]float64) (lo, hi int) {
	n := len(f.rel)
	lo, _ = slices.BinarySearchFunc(f.until, view[0], func(u, v float64) int {
		if u >= v {
			return 1
		}
		return -1
	})
	hi = n
	for a, b := lo, n; a < b; hi = b {
		m := (a + b) / 2
		if f.begin[m] > view[1] {
			b = m
		} else {
			a = m + 1
		}
	}
	if lo >= hi {
		lo = min(lo, max(0, n-1))
		hi = min(n, lo+1)
	}
	return lo, hi
}

// standsFor is the place that is drawn for places [a, b).
func (f *fall) standsFor(a, b int) int {
	if b-a <= 1 {
		return a
	}
	l := bits.Len(uint(b-a)) - 1
	level := f.levels[l-1]
	return level[min(a>>l, len(level)-1)]
}

// draw draws all requests of the view.
func (f *fall) draw(c *pen, w, h float64, view [2]float64, spans [][2]float64, ink palette) {
	lo, hi := f.inTime(view)
	a := float64(lo)
	count := math.Max(1, float64(hi-lo))
	b := a + count
	fr := newFrame(c, w, h, axes{x: view, y: [2]float64{b, a}, xUnit: "s", noY: true}, ink)
	bands(c, fr, spans, ink)
	bx := fr.box
	px := bx.h / math.Max(1e-9, count)
	lines := math.Min(math.Ceil(count), math.Floor(bx.h))
	sx := (fr.x.hi - fr.x.lo) / bx.w
	inside(c, bx, func() {
		for k := 0.0; k < lines; k++ {
			from := math.Floor(a + float64(k*count)/lines)
			p, y, height := int(a)+int(k), bx.y+float64(k*px), px
			if px >= 1 {
				if px > 3 {
					height = px - 1
				}
				height = math.Max(1, height)
			} else {
				p = f.standsFor(int(from), int(math.Max(from+1, math.Floor(a+float64((k+1)*count)/lines))))
				y, height = bx.y+float64(k*bx.h)/lines, math.Ceil(bx.h/lines)
			}
			if p >= len(f.rel) {
				break
			}
			f.request(c, fr, p, y, height, sx, ink)
		}
	})
	for k := 0.0; k < bx.h; k++ {
		n := float64(len(f.rel))
		from := math.Min(n, math.Floor(a+float64(k*count)/bx.h))
		to := math.Min(n, math.Max(from+1, math.Floor(a+float64((k+1)*count)/bx.h)))
		for _, e := range []struct {
			kind  int
			x     float64
			color string
		}{{1, 3, "failed"}, {0, 8, "abandoned"}} {
			bad := f.before[e.kind][int(to)] - f.before[e.kind][int(from)]
			if bad == 0 {
				continue
			}
			c.fill = ink[fallColors[e.color]]
			c.alpha = 0.35 + float64(0.65*math.Min(1, float64(bad)/(to-from)*2))
			c.fillRect(bx.x+bx.w+e.x, bx.y+k, 4, 1)
			c.alpha = 1
		}
	}
	c.fill, c.align, c.baseline = ink["faint"], "right", "top"
	c.fillText(num(math.Floor(a)+1), bx.x-6, bx.y)
	c.baseline = "alphabetic"
	c.fillText(num(math.Min(float64(len(f.rel)), math.Ceil(b))), bx.x-6, bx.y+bx.h)
}

// request draws one line.
func (f *fall) request(c *pen, fr frame, p int, y, h, sx float64, ink palette) {
	bar := func(from, to float64, color string, share float64) {
		if !(to > from) || to < fr.x.lo || from > fr.x.hi {
			return
		}
		x0, x1 := fr.x.at(math.Max(from, fr.x.lo-sx)), fr.x.at(math.Min(to, fr.x.hi+sx))
		c.fill = ink[fallColors[color]]
		c.fillRect(x0, y+float64(h*(1-share))/2, math.Max(x1-x0, 0.75), math.Max(1, h*share))
	}
	there := func(x float64) bool { return !math.IsNaN(x) }
	r, wait, conn, ttft, e2e, end, bad := f.rel[p], f.wait[p], f.conn[p], f.ttft[p], f.e2e[p], f.end[p], f.bad[p]
	if !there(conn) {
		conn = 0
	}
	ready := r
	if f.ready[p] < r {
		ready = f.ready[p]
	}
	if wait > 0 {
		bar(ready-wait, ready, "wait", 0.5)
	}
	if r-ready > sx*0.75 {
		bar(ready, r, "lag", 0.5)
	}
	if conn > 0 {
		bar(r, r+conn, "connect", 1)
	}
	if bad > 0 {
		stop, from, color := f.long(p), r+conn, "abandoned"
		if there(ttft) {
			bar(r+conn, r+ttft, "prefill", 0.6)
			from = r + ttft
		}
		if bad > 1 {
			color = "failed"
		}
		bar(from, r+math.Max(stop, sx*2), color, 1)
		return
	}
	switch {
	case there(ttft):
		bar(r+conn, r+ttft, "prefill", 1)
		if there(e2e) {
			bar(r+ttft, r+e2e, "decode", 1)
		}
	case there(e2e):
		bar(r+conn, r+e2e, "whole", 1)
	}
	if there(end) && there(e2e) {
		bar(r+e2e, r+end, "tail", 0.4)
	}
	if h >= 2 {
		for _, s := range f.stalls[p] {
			bar(s.t, s.t+s.long, "stall", 0.5)
		}
	}
}

// has reports whether something of that kind is drawn.
func (f *fall) has(kind string) bool {
	some := func(vs []float64) bool { return slices.ContainsFunc(vs, func(v float64) bool { return v > 0 }) }
	switch kind {
	case "wait":
		return some(f.wait)
	case "lag":
		for i, t := range f.ready {
			if t < f.rel[i] {
				return true
			}
		}
		return false
	case "connect":
		return some(f.conn)
	case "prefill", "decode":
		return some(f.ttft)
	case "whole":
		for i := range f.rel {
			if f.bad[i] == 0 && math.IsNaN(f.ttft[i]) && !math.IsNaN(f.e2e[i]) {
				return true
			}
		}
		return false
	case "stall":
		return len(f.stalls) > 0
	case "failed":
		return slices.Contains(f.bad, 2)
	case "abandoned":
		return slices.Contains(f.bad, 1)
	}
	return true // tail
}
