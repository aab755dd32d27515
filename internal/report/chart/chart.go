package chart

import (
	"fmt"

	"tokentape/internal/analysis"
)

// Chart is one chart of the page.
type Chart struct {
	ID    string // as on the page: "in-flight", "ttft-cdf"; unique
	Title string

	height float64 // on the page, pixels
	label  string  // what it shows, in words
	legend []key
	draw   func(c *pen, w, h float64, ink palette)
}

// Options of a picture. Sizes are in pixels of SVG, which any program scales.
type Options struct {
	Dark   bool
	Width  int // 0: DefaultWidth
	Height int // with title and legend; 0: as high as on the page, and these
}

// DefaultWidth is how wide the files are that the page saves.
const DefaultWidth = 960

// Sizes that a chart can have: in less, its axes overlap.
const (
	LeastWidth, MostWidth   = 240, 10_000
	LeastHeight, MostHeight = 120, 10_000
)

// Check says what is wrong with o.
func (o Options) Check() error {
	if o.Width != 0 && (o.Width < LeastWidth || o.Width > MostWidth) {
		return fmt.Errorf("width %d: from %d to %d pixels", o.Width, LeastWidth, MostWidth)
	}
	if o.Height != 0 && (o.Height < LeastHeight || o.Height > MostHeight) {
		return fmt.Errorf("height %d: from %d to %d pixels", o.Height, LeastHeight, MostHeight)
	}
	return nil
}

// All are the charts of the page of r, in its order: those for which the run has
// something to show. Results without Charts have none. lang is one of
// html.Languages. Errors: Results that hold a NaN.
func All(r *analysis.Results, lang string) ([]*Chart, error) {
	d, err := read(r, lang)
	if err != nil {
		return nil, err
	}
	s := &sheet{data: d, chosen: chosen(r)}
	s.makeTime()
	s.makeDists()
	s.makeFall()
	s.makeClient()
	return s.charts, nil
}

// chosen is the window that the page shows first.
func chosen(r *analysis.Results) (kind string) {
	for i := range r.Windows {
		if w := &r.Windows[i]; w.From != nil && (kind == "" || w.Kind == "steady") {
			kind = w.Kind
		}
	}
	if kind == "" && len(r.Windows) > 0 {
		kind = r.Windows[0].Kind
	}
	return kind
}

// SVG is the chart as a file of its own, with title, legend and description: the
// same bytes for the same chart. It holds no script and asks for nothing. Errors:
// those of Options.Check.
func (c *Chart) SVG(o Options) ([]byte, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	w, ink := float64(DefaultWidth), light
	if o.Width != 0 {
		w = float64(o.Width)
	}
	if o.Dark {
		ink = dark
	}
	p := &picture{title: c.Title, legend: c.legend, draw: c.draw}
	h := c.height + p.head(w).h
	if o.Height != 0 {
		h = float64(o.Height)
	}
	out := newPen(w, h)
	drawPicture(out, w, h, p, ink)
	return out.svg(c.Title, c.label, ink["paper"]), nil
}
