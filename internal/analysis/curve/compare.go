package curve

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tokentape/internal/analysis/compare"
	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
)

// CompareSchema names the format of a comparison of sweeps.
const CompareSchema = "tokentape.curve-compare/1"

// Comparison holds a sweep B against a sweep A, point by point.
type Comparison struct {
	Schema  string `json:"schema"`
	Verdict string `json:"verdict"` // as of compare: worse when it is at any point
	Line    string `json:"line"`
	Fit     bool   `json:"fit"`
	// On are the metrics that decide. Family is how many tests they make at all points:
	// p is corrected for that number (Holm).
	On     []string    `json:"on"`
	Family int         `json:"family"`
	Fields []string    `json:"fields"`
	A      Side        `json:"a"`
	B      Side        `json:"b"`
	Pairs  []PointPair `json:"points"`
	// OnlyA and OnlyB are points that the other sweep lacks, or has not measured.
	OnlyA []string `json:"only_a"`
	OnlyB []string `json:"only_b"`
	// Along are the deciding metrics along each curve.
	Along []Along `json:"along"`
	// Open are the reasons for which deciding metrics are undecided.
	Open     []Undecided `json:"undecided,omitempty"`
	Warnings []string    `json:"warnings"`
	// Both are the curves of the two sweeps over each other, for charts: At of a curve
	// begins with A or B.
	Both *Curves `json:"-"`
}

// Side is one sweep.
type Side struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Line string `json:"line"`
}

// PointPair is one point of both sweeps.
type PointPair struct {
	Label   string `json:"label"`
	At      []any  `json:"at"`
	Verdict string `json:"verdict"`
	// Kept says how the server kept up with an open loop on both sides, where it did not
	// on one: latencies then decide nothing.
	Kept string `json:"kept_up,omitempty"`
	Why  string `json:"why,omitempty"` // why it could not be compared
	// Of is the comparison of the runs, with p corrected over all points.
	Of *compare.Comparison `json:"comparison"`
}

// Along is one metric along one curve.
type Along struct {
	Metric string `json:"metric"`
	At     string `json:"at,omitempty"` // of the other fields
	Line   string `json:"line"`
	// Verdicts are those of the points in the order of the curve; "" where a point has
	// none.
	Points   []string `json:"points"`
	Verdicts []string `json:"verdicts"`
	// Crossing is where the change passes 0, between two points at which it is decided
	// the one way and the other; null: it does not.
	Crossing *float64 `json:"crossing"`
}

// Compare reads two sweeps and compares the points that both have. Errors: those of
// Read; nothing to compare.
func Compare(dirA, dirB string, o Options, co compare.Options) (*Comparison, error) {
	o.Window, o.FitOnly = co.Window, co.FitOnly
	var cs [2]*Curves
	for i, dir := range []string{dirA, dirB} {
		var err error
		if cs[i], err = Read(dir, o); err != nil {
			return nil, err
		}
	}
	a, b := cs[0], cs[1]
	if !sameFields(a.Fields, b.Fields) {
		return nil, fmt.Errorf("nothing to compare: %s varies %s, %s varies %s", dirA, strings.Join(a.Fields, ", "), dirB, strings.Join(b.Fields, ", "))
	}
	out := &Comparison{
		Schema: CompareSchema, Fit: true, Fields: a.Fields, Pairs: []PointPair{}, OnlyA: []string{}, OnlyB: []string{}, Along: []Along{}, Warnings: []string{},
		A: Side{dirA, a.Name, a.Line}, B: Side{dirB, b.Name, b.Line}, Both: overlay(a, b),
	}
	pairs := out.match(a, b)
	if len(pairs) == 0 {
		return nil, fmt.Errorf("nothing to compare: no point was measured in both; only in %s: %s; only in %s: %s", dirA, cmp.Or(list(out.OnlyA), "none"), dirB, cmp.Or(list(out.OnlyB), "none"))
	}
	at := map[int]int{} // point of a → pair
	var failed error
	for _, k := range pairs {
		pa, pb := &a.Points[k[0]], &b.Points[k[1]]
		p := PointPair{Label: pa.Label, At: pa.At, Verdict: compare.Undecided}
		at1 := co
		if co.Window == "" && (pa.Window == window.KindWhole || pb.Window == window.KindWhole) {
			at1.Window = window.KindWhole // where the points themselves are read
		}
		c, err := compare.Compare([]compare.Input{tapes(dirA, pa), tapes(dirB, pb)}, at1)
		if err != nil {
			p.Why, failed = err.Error(), cmp.Or(failed, err)
		}
		p.Of, p.Kept = c, kept(pa, pb)
		at[k[0]] = len(out.Pairs)
		out.Pairs = append(out.Pairs, p)
	}
	if !slices.ContainsFunc(out.Pairs, func(p PointPair) bool { return p.Of != nil }) {
		return nil, failed // a wrong question is wrong at every point
	}
	out.decide(a, b, pairs)
	for i := range a.Curves {
		out.along(a, &a.Curves[i], at)
	}
	out.cached(a, b, pairs)
	out.undecided()
	out.conclude(a, b)
	return out, nil
}

func sameFields(a, b []string) bool {
	x, y := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(x, y)
}

// match pairs measured points by the values of their fields, whatever their order.
func (o *Comparison) match(a, b *Curves) (pairs [][2]int) {
	key := func(c *Curves, p *Point) string {
		at := make([]any, len(a.Fields))
		for i, f := range a.Fields {
			at[i] = p.At[slices.Index(c.Fields, f)]
		}
		return keyOf(at)
	}
	index := map[string]int{}
	for i := range b.Points {
		if b.Points[i].State == Measured {
			index[key(b, &b.Points[i])] = i
		}
	}
	used := map[int]bool{}
	for i := range a.Points {
		if a.Points[i].State != Measured {
			continue
		}
		k, ok := index[key(a, &a.Points[i])]
		if !ok {
			o.OnlyA = append(o.OnlyA, a.Points[i].Label)
			continue
		}
		used[k] = true
		pairs = append(pairs, [2]int{i, k})
	}
	for i := range b.Points {
		if b.Points[i].State == Measured && !used[i] {
			o.OnlyB = append(o.OnlyB, b.Points[i].Label)
		}
	}
	return pairs
}

// tapes are those of a point's measured runs.
func tapes(dir string, p *Point) compare.Input {
	in := compare.Input{Path: dir + " " + p.Label}
	for _, r := range p.Runs {
		if r.State != Measured || r.LeftOut {
			continue
		}
		if path, err := Tape(filepath.Join(dir, filepath.FromSlash(r.Path))); err == nil {
			in.Tapes = append(in.Tapes, path)
		}
	}
	return in
}

// kept says on which side a load was not kept up with; "" on none.
func kept(a, b *Point) string {
	un := func(p *Point) bool { return p.Backlog != nil && p.Backlog.State == Unstable }
	state := func(p *Point) string {
		if p.Backlog == nil {
			return "of no open loop"
		}
		return p.Backlog.State
	}
	if !un(a) && !un(b) {
		return ""
	}
	return "A " + state(a) + ", B " + state(b)
}

// decide takes latencies of unstable loads out of what decides, corrects the rest
// over all points, and gives every point its verdict.
func (o *Comparison) decide(a, b *Curves, pairs [][2]int) {
	var all []*compare.Comparison
	for i := range o.Pairs {
		p := &o.Pairs[i]
		if p.Of == nil {
			continue
		}
		if p.Kept != "" {
			for k := range p.Of.Pairs[0].Metrics {
				m := &p.Of.Pairs[0].Metrics[k]
				if key, stat := split(m.Name); stat != "" && slices.Contains(latencies, key) {
					m.Decides = false
				}
			}
		}
		all = append(all, p.Of)
	}
	compare.Together(all)
	for i := range o.Pairs {
		p := &o.Pairs[i]
		if p.Of != nil {
			p.Verdict = p.Of.Pairs[0].Verdict
			o.Family, o.Fit = p.Of.Family, o.Fit && p.Of.Fit
			for _, m := range p.Of.On {
				if !slices.Contains(o.On, m) {
					o.On = append(o.On, m)
				}
			}
		}
		pa, pb := &a.Points[pairs[i][0]], &b.Points[pairs[i][1]]
		if p.Kept != "" && pa.Backlog != nil && pb.Backlog != nil {
			switch {
			case pa.Backlog.State == Stable:
				p.Verdict = compare.Worse
			case pb.Backlog.State == Stable:
				p.Verdict = compare.Better
			}
		}
	}
}

// along puts the verdicts of each metric in the order of a curve.
func (o *Comparison) along(a *Curves, g *Curve, at map[int]int) {
	axis := slices.Index(a.Fields, g.Axis)
	for _, name := range o.On {
		l := Along{Metric: name, At: g.At, Points: []string{}, Verdicts: []string{}}
		var steps []step
		for _, i := range g.Points {
			k, ok := at[i]
			if !ok {
				continue
			}
			p := &o.Pairs[k]
			s := step{label: p.Label}
			s.x, _ = a.value(i, axis)
			if p.Of != nil {
				for n := range p.Of.Pairs[0].Metrics {
					if m := &p.Of.Pairs[0].Metrics[n]; m.Name == name && m.Decides {
						s.verdict, s.change = m.Verdict, m.Change
					}
				}
			}
			steps = append(steps, s)
			l.Points, l.Verdicts = append(l.Points, s.label), append(l.Verdicts, s.verdict)
		}
		if len(steps) == 0 {
			continue
		}
		l.Line, l.Crossing = course(steps, g.Numeric, sweep.ShortName(g.Axis))
		o.Along = append(o.Along, l)
	}
}

// step is one point of a metric's course along a curve.
type step struct {
	label   string
	x       float64
	verdict string
	change  *float64
}

// course says in words how a metric goes along a curve.
func course(steps []step, numeric bool, axis string) (line string, crossing *float64) {
	by := map[string][]string{}
	for _, s := range steps {
		by[s.verdict] = append(by[s.verdict], s.label)
	}
	n := len(steps)
	for _, v := range []string{compare.Better, compare.Worse, compare.Same} {
		if len(by[v]) == n {
			return fmt.Sprintf("%s at every point (%d)", v, n), nil
		}
	}
	parts := func() string {
		var out []string
		for _, v := range []string{compare.Better, compare.Worse, compare.Same, compare.Undecided, compare.Differs, ""} {
			if len(by[v]) > 0 {
				out = append(out, cmp.Or(v, "not judged")+" at "+list(by[v]))
			}
		}
		return strings.Join(out, ", ")
	}
	if len(by[compare.Better]) == 0 || len(by[compare.Worse]) == 0 {
		if len(by[compare.Better])+len(by[compare.Worse]) == 0 && len(by[compare.Same]) == 0 {
			return "undecided at every point", nil
		}
		return parts(), nil
	}
	if !numeric {
		return parts(), nil
	}
	// One change of sides among the points that are decided is a crossing.
	last, from, to, turns := -1, -1, -1, 0
	for i, s := range steps {
		if s.verdict != compare.Better && s.verdict != compare.Worse {
			continue
		}
		if last >= 0 && steps[last].verdict != s.verdict {
			from, to = last, i
			turns++
		}
		last = i
	}
	if turns > 1 {
		return parts() + ": the sides change more than once", nil
	}
	for i := from; i < to; i++ {
		p, q := &steps[i], &steps[i+1]
		if p.change == nil || q.change == nil || *p.change**q.change > 0 || *p.change == *q.change {
			continue
		}
		share := *p.change / (*p.change - *q.change)
		x := p.x + float64(share*(q.x-p.x))
		if p.x > 0 && q.x > 0 { // ladders are of factors
			x = math.Exp(math.Log(p.x) + float64(share*(math.Log(q.x)-math.Log(p.x))))
		}
		crossing = ref(x)
		break
	}
	line = fmt.Sprintf("%s up to %s, %s from %s", steps[from].verdict, steps[from].label, steps[to].verdict, steps[to].label)
	if crossing != nil {
		line += fmt.Sprintf(": crossing at %s≈%.2g", axis, *crossing)
	}
	if rest := len(by[compare.Undecided]) + len(by[compare.Same]) + len(by[""]); rest > 0 {
		line += fmt.Sprintf(" (%d of %d points do not differ, or are open)", rest, n)
	}
	return line, crossing
}

// cached says where the prefix cache served the one side and not the other: what
// differs there is not the server alone.
func (o *Comparison) cached(a, b *Curves, pairs [][2]int) {
	n, at := 0, [2]int{}
	most := 0.0
	for _, k := range pairs {
		x, y := a.Points[k[0]].Values["cached_ratio"].Value, b.Points[k[1]].Values["cached_ratio"].Value
		if x == nil || y == nil || math.Abs(*x-*y) <= unlikeCache {
			continue
		}
		if n++; math.Abs(*x-*y) > most {
			most, at = math.Abs(*x-*y), k
		}
	}
	if n > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("points are unlike: cached share differs at %d of %d, most at %s: A %.2f, B %.2f: part of what differs is the prefix cache", n, len(pairs), a.Points[at[0]].Label, *a.Points[at[0]].Values["cached_ratio"].Value, *b.Points[at[1]].Values["cached_ratio"].Value))
	}
}

// conclude gives the one verdict and line.
func (o *Comparison) conclude(a, b *Curves) {
	o.Verdict = compare.Same
	for _, v := range []string{compare.Worse, compare.Better, compare.Undecided} {
		if slices.ContainsFunc(o.Pairs, func(p PointPair) bool { return p.Verdict == v }) {
			o.Verdict = v
			break
		}
	}
	var parts []string
	for _, l := range o.Along {
		name := l.Metric
		if l.At != "" {
			name += " at " + l.At
		}
		parts = append(parts, name+" "+l.Line)
	}
	o.Line = fmt.Sprintf("B against A at %d points: %s", len(o.Pairs), strings.Join(parts, "; "))
	if len(parts) > 6 {
		o.Line = fmt.Sprintf("B against A at %d points: %s", len(o.Pairs), o.Verdict)
	}
	for _, p := range o.Pairs {
		if p.Kept != "" {
			o.Warnings = append(o.Warnings, p.Label+": "+p.Kept+": latencies of a load that is not kept up with decide nothing")
		}
		if p.Why != "" {
			o.Warnings = append(o.Warnings, p.Label+": not compared: "+p.Why)
		}
	}
	for _, s := range []struct {
		name string
		c    *Curves
	}{{"A", a}, {"B", b}} {
		for _, n := range s.c.Notes {
			o.Warnings = append(o.Warnings, s.name+": "+n)
		}
	}
	if a.Prompts != b.Prompts {
		o.Warnings = append(o.Warnings, fmt.Sprintf("A sent %s prompts, B %s", cmp.Or(a.Prompts, "unknown"), cmp.Or(b.Prompts, "unknown")))
	}
	lone := slices.ContainsFunc(o.Pairs, func(p PointPair) bool {
		return p.Of != nil && (len(p.Of.Sides[0].Runs) == 1 || len(p.Of.Sides[1].Runs) == 1)
	})
	if o.Verdict == compare.Undecided && len(o.Open) == 1 {
		o.Line += ": " + o.Open[0].Why
	}
	if lone {
		o.Line += "; between-run variance unknown"
	}
	if !o.Fit {
		o.Line += ". NOT to be relied on: runs are not fit for use"
	}
}
