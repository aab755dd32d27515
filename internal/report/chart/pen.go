package chart

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// palette are colours by name.
type palette map[string]string

var (
	light = palette{
		"text": "#24292f", "faint": "#5b6470", "grid": "#e3e6ea", "axis": "#9aa3ad", "paper": "#ffffff", "band": "rgba(0,114,178,.08)", "edge": "rgba(0,114,178,.45)",
		"blue": "#2763a3", "orange": "#b15f1f", "green": "#1e8160", "purple": "#8f4873", "sky": "#2f99db", "yellow": "#b38d37", "grey": "#7b7b85", "red": "#a13832", "brown": "#79501f", "black": "#24292f",
	}
	dark = palette{
		"text": "#e6e9ec", "faint": "#a3abb5", "grid": "#2a3038", "axis": "#66707c", "paper": "#14181d", "band": "rgba(86,180,233,.12)", "edge": "rgba(86,180,233,.55)",
		"blue": "#54b8fb", "orange": "#f88e3e", "green": "#4bb183", "purple": "#d289bf", "sky": "#a5dbf1", "yellow": "#f0d169", "grey": "#9c9a9a", "red": "#ee5b61", "brown": "#cda681", "black": "#e6e9ec",
	}
)

// style is what save keeps.
type style struct {
	fill, stroke    string
	width, alpha    float64
	bold            bool
	align, baseline string
	dash            string
	open            int // groups that are open
}

// pen has the part of a canvas's methods that drawings use, and makes SVG.
type pen struct {
	style
	w, h  float64
	out   strings.Builder
	d     strings.Builder
	stack []style
	clips int
}

func newPen(w, h float64) *pen {
	return &pen{w: w, h: h, style: style{fill: "#000", stroke: "#000", width: 1, alpha: 1, align: "left", baseline: "alphabetic"}}
}

func n(x float64) string { return text(toFixed(x, 2)) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// esc makes a text fit for XML, which has no place for some characters.
func esc(s string) string {
	return escapes.Replace(strings.Map(func(r rune) rune {
		switch {
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xfffe, r == 0xffff:
			return 0xfffd
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
}

var rgba = regexp.MustCompile(`^rgba\((\d+,\d+,\d+),([.\d]+)\)$`)

func paint(name, color string) string {
	if m := rgba.FindStringSubmatch(color); m != nil {
		return name + `="rgb(` + m[1] + `)" ` + name + `-opacity="` + m[2] + `"`
	}
	return name + `="` + color + `"`
}

func (p *pen) put(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *pen) save() { p.stack = append(p.stack, p.style) }
func (p *pen) restore() {
	was := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	for ; p.open > was.open; p.open-- {
		p.put("</g>")
	}
	p.style = was
}
func (p *pen) begin()            { p.d.Reset() }
func (p *pen) move(x, y float64) { p.d.WriteString("M" + n(x) + " " + n(y)) }
func (p *pen) line(x, y float64) { p.d.WriteString("L" + n(x) + " " + n(y)) }
func (p *pen) close()            { p.d.WriteString("Z") }
func (p *pen) rect(x, y, w, h float64) {
	p.d.WriteString("M" + n(x) + " " + n(y) + "h" + n(w) + "v" + n(h) + "h" + n(-w) + "Z")
}
func (p *pen) clip() {
	p.clips++
	p.put(`<clipPath id="c%d"><path d="%s"/></clipPath><g clip-path="url(#c%[1]d)">`, p.clips, p.d.String())
	p.open++
}
func (p *pen) translate(x, y float64) {
	p.put(`<g transform="translate(%s %s)">`, n(x), n(y))
	p.open++
}
func (p *pen) dashes(a ...float64) {
	s := make([]string, len(a))
	for i, x := range a {
		s[i] = text(x)
	}
	p.dash = strings.Join(s, " ")
}
func (p *pen) opacity() string {
	if p.alpha < 1 {
		return ` opacity="` + n(p.alpha) + `"`
	}
	return ""
}
func (p *pen) strokePath() {
	dash := ""
	if p.dash != "" {
		dash = ` stroke-dasharray="` + p.dash + `"`
	}
	p.put(`<path d="%s" fill="none" %s stroke-width="%s"%s%s/>`, p.d.String(), paint("stroke", p.stroke), n(p.width), dash, p.opacity())
}
func (p *pen) fillPath() {
	p.put(`<path d="%s" %s%s/>`, p.d.String(), paint("fill", p.fill), p.opacity())
}
func (p *pen) fillRect(x, y, w, h float64) {
	p.put(`<rect x="%s" y="%s" width="%s" height="%s" %s%s/>`, n(x), n(y), n(w), n(h), paint("fill", p.fill), p.opacity())
}
func (p *pen) fillText(s string, x, y float64) {
	anchor := map[string]string{"left": "start", "right": "end", "center": "middle"}[p.align]
	dy := map[string]string{"middle": "0.35em", "top": "0.8em", "alphabetic": "0"}[p.baseline]
	bold := ""
	if p.bold {
		bold = ` font-weight="bold"`
	}
	p.put(`<text x="%s" y="%s" dy="%s" text-anchor="%s" %s%s%s>%s</text>`, n(x), n(y), dy, anchor, paint("fill", p.fill), bold, p.opacity(), esc(s))
}

// stretch draws a straight line.
func (p *pen) stretch(x0, y0, x1, y1 float64) {
	p.begin()
	p.move(x0, y0)
	p.line(x1, y1)
	p.strokePath()
}

// wide is about how wide a text will be.
func wide(s string) float64 {
	w := 0.0
	for _, r := range s {
		if r < 0x2e80 {
			w += 6.2
		} else {
			w += 11
		}
	}
	return w
}

// svg is the file; about says what it shows to those who cannot see it.
func (p *pen) svg(title, about, paper string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" font-family="system-ui, sans-serif" font-size="11" role="img"><title>%s</title><desc>%s</desc><rect width="100%%" height="100%%" fill="%s"/>%s</svg>`+"\n",
		text(p.w), text(p.h), esc(title), esc(about), paper, p.out.String())
}

// key is an entry of a legend.
type key struct {
	color, text string
	dash        bool
}

// picture is a chart that stands alone.
type picture struct {
	title  string
	legend []key
	draw   func(c *pen, w, h float64, ink palette)
}

type placedKey struct {
	key
	x, y float64
}

type pictureHead struct {
	title string
	keys  []placedKey
	h     float64
}

// short cuts a text to 90 characters.
func short(s string) string {
	if cs := []rune(s); len(cs) > 90 {
		return string(cs[:89]) + "…"
	}
	return s
}

// head places title and legend over a picture w wide.
func (o *picture) head(w float64) pictureHead {
	h := pictureHead{title: short(o.title), h: 26}
	x, y := 12.0, 36.0
	for _, k := range o.legend {
		k.text = short(k.text)
		long := 17 + wide(k.text)
		if x > 12 && x+long > w-12 {
			x = 12
			y += 16
		}
		h.keys = append(h.keys, placedKey{k, x, y})
		x += long + 16
		h.h = y + 10
	}
	return h
}

func drawPicture(c *pen, w, h float64, o *picture, ink palette) {
	head := o.head(w)
	c.align, c.baseline, c.bold = "left", "alphabetic", true
	c.fill = ink["text"]
	c.fillText(head.title, 12, 18)
	c.bold = false
	for _, k := range head.keys {
		c.fill = ink[k.color]
		bars := [][2]float64{{0, 12}}
		if k.dash {
			bars = [][2]float64{{0, 5}, {7, 5}}
		}
		for _, b := range bars {
			c.fillRect(k.x+b[0], k.y-6, b[1], 4)
		}
		c.fill = ink["faint"]
		c.fillText(k.text, k.x+17, k.y)
	}
	c.save()
	c.translate(0, head.h)
	o.draw(c, w, h-head.h, ink)
	c.restore()
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
