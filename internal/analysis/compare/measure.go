package compare

import (
	"fmt"
	"math"
	"slices"

	"tokentape/internal/analysis/stat"
)

// effect is a shift with what is known of its uncertainty.
type effect struct {
	shift  float64
	lo, hi float64
	level  float64
	p      float64
	method string
	why    string // by none: why
	pairs  int64
	a, b   float64 // by counts: the shares, over all runs of a side
}

// level of intervals.
const level = 0.95

// ofT is the effect of a shift whose ratio to its standard error is Student's.
func ofT(method string, shift, se, df float64) effect {
	e := effect{shift: shift, lo: shift, hi: shift, level: level, method: method, p: 1}
	if se > 0 {
		h := float64(se * stat.StudentQuantile(1-level, df))
		e.lo, e.hi = shift-h, shift+h
		e.p = stat.StudentTail(math.Abs(shift)/se, df)
	} else if shift != 0 {
		e.p = 0
	}
	return e
}

// measure compares one metric of two sides. rows are the paired plan rows, nil when
// nothing can be paired.
func (c *comparison) measure(n name, a, b *side, rows *pairedRows) Metric {
	def := n.entry()
	m := Metric{Name: n.text, Unit: def.Unit, Good: def.Better, Decides: slices.Contains(c.out.On, n.text), Tolerance: c.tolerance(n.text, len(a.runs)+len(b.runs) == 2), Method: ByNone}
	va, ciA := c.collect(n, a)
	vb, ciB := c.collect(n, b)
	var e effect
	ok := len(va) > 0 && len(vb) > 0
	switch {
	case !ok:
		m.A, m.B = values(va, false), values(vb, false)
		e = effect{method: ByNone, why: "not observed on " + lackingSide(a, b, va, vb)}
	case len(va) >= fewRuns && len(vb) >= fewRuns:
		m.A, m.B = values(va, true), values(vb, true)
		e = byRank(va, vb)
	case n.text == failedKey:
		m.A, m.B = values(va, false), values(vb, false)
		e = byCounts(a, b)
		m.A.Value, m.B.Value = ref(e.a), ref(e.b)
	case len(va)+len(vb) > 2:
		m.A, m.B = values(va, false), values(vb, false)
		shift, se, df, _ := stat.PooledShift(va, vb)
		e = ofT(ByT, shift, se, df)
	default:
		m.A, m.B = values(va, false), values(vb, false)
		var paired bool
		if e, paired = rows.effect(n, &m); !paired {
			e = byRatio(va[0], vb[0], ciA, ciB)
			if m.Unit == "share" { // whose change is the difference itself
				e = bySections(va[0], vb[0], ciA, ciB)
			}
		}
	}
	m.Method, m.Why, m.Pairs = e.method, e.why, e.pairs
	if !ok {
		return m
	}
	m.Shift = &e.shift
	scale := m.scale()
	if scale > 0 {
		m.Change = ref(e.shift / scale)
	}
	if e.method == ByNone {
		return m
	}
	e.bound(m.base(), m.Unit == "share")
	m.ShiftCI, m.Level, m.P = [2]*float64{ref(e.lo), ref(e.hi)}, &e.level, &e.p
	if scale > 0 {
		m.ChangeCI = [2]*float64{ref(e.lo / scale), ref(e.hi / scale)}
	}
	return m
}

// scale is what a shift is measured by: A's value, or 1 for shares, whose own
// differences are what one speaks of. 0: nothing to measure by.
func (m *Metric) scale() float64 {
	if m.Unit == "share" {
		return 1
	}
	return math.Abs(m.base())
}

// base is what B is held against: A's value, over the paired rows where rows are
// paired.
func (m *Metric) base() float64 {
	if m.PairedA != nil {
		return *m.PairedA
	}
	return *m.A.Value
}

// bound ends the interval of a shift from a where no value can be: below 0 none is, a
// share neither above 1.
func (e *effect) bound(a float64, share bool) {
	e.lo, e.hi = max(e.lo, min(-a, e.shift)), max(e.hi, min(-a, e.shift))
	if share {
		e.lo, e.hi = min(e.lo, max(1-a, e.shift)), min(e.hi, max(1-a, e.shift))
	}
}

// collect gathers a metric over the runs of a side, with the interval of the only
// run.
func (c *comparison) collect(n name, s *side) (vs []float64, ci [2]*float64) {
	for _, r := range s.runs {
		v, i := n.value(r, c.window(r, c.kind))
		if v != nil {
			vs, ci = append(vs, *v), i
		}
	}
	return vs, ci
}

func lackingSide(a, b *side, va, vb []float64) string {
	switch {
	case len(va) == 0 && len(vb) == 0:
		return "either side"
	case len(va) == 0:
		return a.name
	}
	return b.name
}

// values describe a metric on one side: by the median where ranks decide, else by
// the mean.
func values(vs []float64, median bool) Value {
	v := Value{Runs: len(vs), All: vs}
	if len(vs) == 0 {
		v.All = []float64{}
		return v
	}
	mean, _ := stat.Mean(vs)
	v.Value, v.Min, v.Max = ref(mean), ref(slices.Min(vs)), ref(slices.Max(vs))
	if sd, ok := stat.SD(vs); ok && mean != 0 {
		v.Spread = ref(sd / math.Abs(mean))
	}
	if median {
		x, _ := stat.Quantile(slices.Sorted(slices.Values(vs)), 0.5)
		v.Value = &x
	}
	return v
}

func byRank(a, b []float64) effect {
	e := effect{method: ByRank, p: stat.RankSum(a, b)}
	e.shift, e.lo, e.hi, e.level, _ = stat.Shift(a, b, level) // 5 and 5 always have an interval
	return e
}

// byCounts compares the shares of failed requests, counted over all runs of a side.
func byCounts(a, b *side) effect {
	okA, failedA := a.ends()
	okB, failedB := b.ends()
	n, m := okA+failedA, okB+failedB
	e := effect{method: ByCounts, level: level, p: stat.Fisher(failedA, n, failedB, m), a: float64(failedA) / float64(n), b: float64(failedB) / float64(m)}
	e.shift, e.lo, e.hi = stat.ShareShift(failedA, n, failedB, m, level)
	return e
}

// ends counts the requests of a side that ended well, and that failed.
func (s *side) ends() (ok, failed int64) {
	for _, r := range s.runs {
		ok, failed = ok+r.ref.OK, failed+r.ref.Failed
	}
	return ok, failed
}

// bySections joins the intervals that each of two runs has by itself into one of
// their difference, whatever their shape: the distances to the ends that matter add
// up by squares (Zou and Donner 2008). p is that of a Student's t with the
// half-width towards 0, so that it is 5 % where the interval ends at 0. How many
// batches an interval came from is not in the results; the fewest possible give the
// heaviest tail, and a p that is never too small after correction.
func bySections(a, b float64, ciA, ciB [2]*float64) effect {
	e := effect{shift: b - a, level: level, method: BySection, p: 1}
	if ciA[0] == nil || ciA[1] == nil || ciB[0] == nil || ciB[1] == nil {
		return effect{shift: e.shift, method: ByNone, why: "one run a side, and too few samples (or none by time) for an interval within it"}
	}
	down, up := math.Hypot(b-*ciB[0], *ciA[1]-a), math.Hypot(*ciB[1]-b, a-*ciA[0])
	e.lo, e.hi = e.shift-down, e.shift+up
	h := down
	if e.shift < 0 {
		h = up
	}
	switch {
	case h > 0:
		const df = stat.BatchesLeast - 1
		e.p = stat.StudentTail(math.Abs(e.shift)/h*stat.StudentQuantile(1-level, df), df)
	case e.shift != 0:
		e.p = 0
	}
	return e
}

// byRatio is bySections of logarithms: the interval of the ratio b ÷ a, which the
// tolerance is about and which does not reach below 0, given as a shift from a. Where
// an end is 0 there is no logarithm, and bySections serves.
func byRatio(a, b float64, ciA, ciB [2]*float64) effect {
	for _, v := range []*float64{&a, &b, ciA[0], ciA[1], ciB[0], ciB[1]} {
		if v == nil || *v <= 0 {
			return bySections(a, b, ciA, ciB)
		}
	}
	logs := func(ci [2]*float64) [2]*float64 { return [2]*float64{ref(math.Log(*ci[0])), ref(math.Log(*ci[1]))} }
	e := bySections(math.Log(a), math.Log(b), logs(ciA), logs(ciB))
	e.shift, e.lo, e.hi = b-a, float64(a*math.Expm1(e.lo)), float64(a*math.Expm1(e.hi))
	return e
}

func ref(v float64) *float64 { return &v }

// plural is "1 run", "2 runs".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
