package compare

import (
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// Options choose what decides. The zero Options are the defaults.
type Options struct {
	// Window is the table that is compared; "": steady where every run has it, else
	// whole.
	Window string
	// On are the metrics that decide; empty: DefaultOn.
	On []string
	// Tolerance is the relative change that does not matter (of shares: the
	// difference itself), 0 to 1; PerMetric wins over it. Negative is refused.
	Tolerance *float64
	PerMetric map[string]float64
	// FitOnly leaves runs out that are not fit for use, and says which.
	FitOnly bool
	// Open opens the tapes; nil: tape.OpenFile.
	Open func(path string) (*tape.Reader, error)
}

// DefaultTolerance is 2 %: less than that between two settings rarely decides
// anything, and rarely survives another day.
const DefaultTolerance = 0.02

// LoneTolerance is the default of one run a side, 10 %: nothing is known there of how
// runs of one server differ among themselves, and on a real machine they do by
// several percent.
const LoneTolerance = 0.1

// Alpha is the chance that any metric that decides is called different where none
// is.
const Alpha = 0.05

// fewRuns is the least number of runs a side for a rank test: with fewer, no result
// of it could be called at 5 % after correction.
const fewRuns = 5

// comparison is one in the making.
type comparison struct {
	o     Options
	sides []*side
	kind  string // of the window
	names []name
	out   *Comparison
	// leftOut are the runs that FitOnly left out, in words.
	leftOut []string
}

// Compare reads the tapes of all sides, two or more, and compares each further one
// with the first. Errors name what is wrong with the input: a tape that cannot be
// read, a run on both sides, a metric or window that does not exist.
func Compare(in []Input, o Options) (*Comparison, error) {
	if len(in) < 2 {
		return nil, fmt.Errorf("one side only: there is nothing to compare it with")
	}
	windows := []string{window.KindSteady, window.KindWhole}
	if o.Window != "" {
		if err := window.Check(o.Window); err != nil {
			return nil, err
		}
		windows = []string{o.Window}
	}
	pairing := true
	for _, s := range in {
		if len(s.Tapes) == 0 {
			return nil, fmt.Errorf("%s: no tape", s.Path)
		}
		pairing = pairing && len(s.Tapes) == 1
	}
	c := &comparison{o: o}
	for i, s := range in {
		side, err := load(label(i), s, o.Open, windows, pairing)
		if err != nil {
			return nil, err
		}
		c.sides = append(c.sides, side)
	}
	if err := c.distinct(); err != nil {
		return nil, err
	}
	if o.FitOnly {
		if err := c.fitOnly(); err != nil {
			return nil, err
		}
	}
	return c.compare()
}

// label is A, B … Z, then S27 …
func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("S%d", i+1)
}

// distinct refuses a run that stands twice: it would be compared with itself.
func (c *comparison) distinct() error {
	seen := map[string]string{}
	for _, s := range c.sides {
		for _, r := range s.runs {
			if first, ok := seen[r.ref.TapeSHA256]; ok {
				return fmt.Errorf("%s and %s are the same tape", first, r.ref.Path)
			}
			seen[r.ref.TapeSHA256] = r.ref.Path
		}
	}
	return nil
}

// fitOnly leaves out what is not fit for use.
func (c *comparison) fitOnly() error {
	for _, s := range c.sides {
		var kept []*run
		for _, r := range s.runs {
			if r.ref.Fit {
				kept = append(kept, r)
			} else {
				c.leftOut = append(c.leftOut, fmt.Sprintf("%s: left out: %s: %s", s.name, r.ref.Path, r.ref.Verdict))
			}
		}
		if s.runs = kept; len(kept) == 0 {
			return fmt.Errorf("%s: no run of it is fit for use", s.path)
		}
	}
	return nil
}

func (c *comparison) compare() (*Comparison, error) {
	c.out = &Comparison{Schema: Schema, Fit: true, Alpha: Alpha, Warnings: append([]string{}, c.leftOut...)}
	if err := c.chooseWindow(); err != nil {
		return nil, err
	}
	for _, s := range c.sides {
		for _, r := range s.runs {
			var err error
			if r.service, r.serviceCI, err = service(c.window(r, c.kind)); err != nil {
				return nil, fmt.Errorf("%s: %w", r.ref.Path, err)
			}
			r.service[failedKey] = failedShare(&r.res.Counts)
		}
	}
	c.names = c.allNames()
	if err := c.chooseOn(); err != nil {
		return nil, err
	}
	for _, s := range c.sides {
		side := Side{Name: s.name, Path: s.path}
		for _, r := range s.runs {
			side.Runs = append(side.Runs, r.ref)
			c.out.Fit = c.out.Fit && r.ref.Fit
		}
		c.out.Sides = append(c.out.Sides, side)
		c.out.Warnings = append(c.out.Warnings, c.warnings(s)...)
	}
	for _, b := range c.sides[1:] {
		c.out.Pairs = append(c.out.Pairs, c.pair(c.sides[0], b))
	}
	Together([]*Comparison{c.out})
	return c.out, nil
}

// window of a run, nil when it does not exist.
func (c *comparison) window(r *run, kind string) *analysis.Window {
	for i := range r.res.Windows {
		if w := &r.res.Windows[i]; w.Kind == kind && w.From != nil {
			return w
		}
	}
	return nil
}

// chooseWindow takes the one asked for, else the first that every run has. A window
// of one kind is never compared with one of another.
func (c *comparison) chooseWindow() error {
	kinds := []string{window.KindSteady, window.KindWhole}
	if c.o.Window != "" {
		kinds = []string{c.o.Window}
	}
	var lacking string
	for i, kind := range kinds {
		missing := ""
		for _, s := range c.sides {
			for _, r := range s.runs {
				if c.window(r, kind) == nil && missing == "" {
					missing = r.ref.Path + ": " + why(r, kind)
				}
			}
		}
		if missing != "" {
			lacking = missing // of the last kind there is nothing to fall back on
			continue
		}
		c.kind, c.out.Window = kind, kind
		switch {
		case c.o.Window != "":
			c.out.WindowWhy = "asked for"
		case i == 0:
			c.out.WindowWhy = "every run has it"
		default:
			c.out.WindowWhy = "not every run has a steady window: " + lacking
			c.out.Warnings = append(c.out.Warnings, "the whole of the runs is compared, start-up and end included: "+lacking)
		}
		return nil
	}
	return fmt.Errorf("nothing to compare: %s", lacking)
}

func why(r *run, kind string) string {
	for _, w := range r.res.Windows {
		if w.Kind == kind && w.Why != "" {
			return w.Why
		}
	}
	return "no " + kind + " window"
}

// chooseOn resolves the metrics that decide. One that no run has is refused by name
// when it was asked for; of the defaults, what needs a stream is replaced.
func (c *comparison) chooseOn() error {
	known := make([]string, len(c.names))
	for i, n := range c.names {
		known[i] = n.text
	}
	for _, m := range c.o.On {
		if !slices.Contains(known, m) {
			return unknown(m, known)
		}
		if !slices.Contains(c.out.On, m) {
			c.out.On = append(c.out.On, m)
		}
	}
	for m := range c.o.PerMetric {
		if !slices.Contains(known, m) {
			return unknown(m, known)
		}
	}
	if len(c.out.On) > 0 {
		return nil
	}
	for _, m := range DefaultOn {
		if !c.observed(m) {
			m = unstreamed
		}
		if !slices.Contains(c.out.On, m) && c.observed(m) {
			c.out.On = append(c.out.On, m)
		}
	}
	for _, s := range c.sides {
		if _, failed := s.ends(); failed > 0 && !slices.Contains(c.out.On, failedKey) {
			c.out.On = append(c.out.On, failedKey)
		}
	}
	if len(c.out.On) == 0 {
		return fmt.Errorf("nothing to compare: no run has %s", strings.Join(append(slices.Clone(DefaultOn), unstreamed), ", "))
	}
	return nil
}

func unknown(m string, known []string) error {
	var keys []string
	for _, k := range known {
		if key := parse(k).key; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return fmt.Errorf("%q is no metric of these runs; known: %s; those of requests with .mean, .p50, .p75, .p90, .p95, .p99, .p999 or .max", m, strings.Join(keys, ", "))
}

// observed reports whether any run has the value.
func (c *comparison) observed(m string) bool {
	n := parse(m)
	for _, s := range c.sides {
		for _, r := range s.runs {
			if v, _ := n.value(r, c.window(r, c.kind)); v != nil {
				return true
			}
		}
	}
	return false
}

// tolerance of a metric; lone: of one run a side.
func (c *comparison) tolerance(m string, lone bool) float64 {
	if t, ok := c.o.PerMetric[m]; ok {
		return t
	}
	if c.o.Tolerance != nil {
		return *c.o.Tolerance
	}
	if lone && m != failedKey {
		return LoneTolerance
	}
	return DefaultTolerance
}
