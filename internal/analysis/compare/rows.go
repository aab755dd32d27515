package compare

import (
	"cmp"
	"slices"

	"tokentape/internal/analysis/stat"
)

// pairedRows are the plan rows that ended well in the window on both sides, in plan
// order.
type pairedRows struct {
	matched Matched
	a, b    []planRow
	pairs   [len(rowMetrics)]*stat.Pairs // by metric, made when asked for
	sets    [len(rowMetrics)][2][]float64
}

// pairRows pairs two runs of one plan; nil when the plans are not the same.
func (c *comparison) pairRows(a, b *side) *pairedRows {
	if len(a.runs) != 1 || len(b.runs) != 1 {
		return nil
	}
	x, y := a.runs[0], b.runs[0]
	if h := x.res.About.PlanSHA256; h == "" || h != y.res.About.PlanSHA256 {
		return nil
	}
	p := &pairedRows{}
	in := func(rows []planRow) []planRow {
		var out []planRow
		for _, r := range rows {
			if slices.Contains(r.windows, c.kind) {
				out = append(out, r)
			}
		}
		slices.SortStableFunc(out, func(a, b planRow) int { return cmp.Compare(a.seq, b.seq) })
		return out
	}
	ra, rb := in(x.rows), in(y.rows)
	for len(ra) > 0 && len(rb) > 0 {
		switch k := cmp.Compare(ra[0].seq, rb[0].seq); {
		case k < 0:
			p.matched.OnlyA++
			ra = ra[1:]
		case k > 0:
			p.matched.OnlyB++
			rb = rb[1:]
		default:
			if ra[0].item == rb[0].item {
				p.a, p.b = append(p.a, ra[0]), append(p.b, rb[0])
			} else {
				p.matched.Foreign++
			}
			ra, rb = ra[1:], rb[1:]
		}
	}
	p.matched.OnlyA += int64(len(ra))
	p.matched.OnlyB += int64(len(rb))
	p.matched.Paired = int64(len(p.a))
	return p
}

// of are the pairs of one metric, made once.
func (p *pairedRows) of(i int) *stat.Pairs {
	if p.pairs[i] == nil {
		var a, b []float64
		for k := range p.a {
			if x, y := p.a[k].values[i], p.b[k].values[i]; x != nil && y != nil {
				a, b = append(a, *x), append(b, *y)
			}
		}
		p.pairs[i], p.sets[i] = stat.NewPairs(a, b), [2][]float64{a, b}
	}
	return p.pairs[i]
}

// effect compares a statistic over the pairs, and sets the metric's paired values: the
// shift is their difference exactly. paired is false when the metric cannot be paired.
func (p *pairedRows) effect(n name, m *Metric) (e effect, paired bool) {
	if p == nil || n.stat < 0 || stats[n.stat].quantile < 0 {
		return e, false
	}
	i := slices.IndexFunc(rowMetrics[:], func(r rowMetric) bool { return r.key == n.key })
	if i < 0 {
		return e, false
	}
	pairs := p.of(i)
	a, b := p.sets[i][0], p.sets[i][1]
	q := stats[n.stat].quantile
	if len(a) == 0 || q > 0 && !stat.Given(int64(len(a)), q) {
		return e, false
	}
	var shift, se, df float64
	var ok bool
	if q == 0 {
		shift, se, df, ok = pairs.Mean()
	} else {
		shift, se, df, ok = pairs.Quantile(slices.Index(stat.Quantiles[:], q))
	}
	m.PairedA, m.PairedB = ref(stat.At(a, q)), ref(stat.At(b, q))
	switch {
	case ok:
		e = ofT(ByRows, shift, se, df)
	case q <= 500: // a block has no tail
		if e, ok = byBlocks(pairs, q, shift, m.scale(), m.Tolerance); ok {
			break
		}
		fallthrough
	default:
		e = effect{shift: shift, method: ByNone, why: tooFew(pairs, len(a), q, n.text)}
	}
	e.pairs = int64(len(a))
	return e, true
}
