package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// Difference says why two windows of one tape, beside each other in the report,
// do not show the same numbers.
type Difference struct {
	A    string          `json:"a"` // kinds of the windows
	B    string          `json:"b"`
	Rows []DifferenceRow `json:"rows"`
}

// DifferenceRow is one value in both windows and what makes the step from A to
// B. The changes of the parts add up to B − A, where each has one.
type DifferenceRow struct {
	Metric string           `json:"metric"` // "output_tokens_per_s", "ttft_ms.mean", "ttft_ms.p99" …
	Unit   string           `json:"unit"`
	A      *float64         `json:"a"`
	B      *float64         `json:"b"`
	Step   *float64         `json:"step"`   // B − A
	Change *float64         `json:"change"` // B ÷ A − 1
	Parts  []DifferencePart `json:"parts"`
}

// DifferencePart is one reason; Change is its share of B − A in the metric's
// unit, absent where only the reason is known.
type DifferencePart struct {
	Change *float64 `json:"change"`
	Why    string   `json:"why"`
}

// differences explains each window that exists against the one before it.
func (r *run) differences(ivs []window.Interval, tables []Window) []Difference {
	var out []Difference
	prev := -1
	for i := range ivs {
		if !ivs[i].OK {
			continue
		}
		if prev >= 0 {
			d := Difference{A: ivs[prev].Kind, B: ivs[i].Kind}
			d.Rows = append(r.rateDifferences(ivs[prev], ivs[i], &tables[prev], &tables[i]), r.latencyDifferences(ivs[prev], ivs[i], &tables[prev], &tables[i])...)
			out = append(out, d)
		}
		prev = i
	}
	return out
}

// rateDifferences takes the step from A to B in three: from A's way of counting
// to events, from A's interval to B's, from events to B's way of counting.
func (r *run) rateDifferences(a, b window.Interval, ta, tb *Window) []DifferenceRow {
	if a.Length() <= 0 || b.Length() <= 0 {
		return nil
	}
	fa, fb := r.flowIn(a.Each()), r.flowIn(b.Each())
	var rows []DifferenceRow
	for _, m := range []struct {
		name, unit, what string
		of               func(*System) *float64
		in               func(flow) float64
	}{
		{"output_tokens_per_s", "tokens/s", "tok/s", func(s *System) *float64 { return s.OutputTokensPerS }, func(f flow) float64 { return f.output }},
		{"requests_per_s", "requests/s", "requests/s", func(s *System) *float64 { return s.RequestsPerS }, func(f flow) float64 { return f.requests }},
		{"input_tokens_per_s", "tokens/s", "tok/s", func(s *System) *float64 { return s.InputTokensPerS }, func(f flow) float64 { return f.input }},
	} {
		row := differenceRow(m.name, m.unit, m.of(&ta.System), m.of(&tb.System))
		if row.Change == nil {
			continue
		}
		ea, eb := m.in(fa)/lengthS(a), m.in(fb)/lengthS(b)
		row.add(ea-*row.A, a)
		why := fmt.Sprintf("another interval, %.1f s against %.1f s", lengthS(a), lengthS(b))
		for _, part := range []struct {
			from, to    int64
			have, where string
		}{
			{a.From, min(a.To, b.From), a.Kind, "before"}, {max(a.From, b.To), a.To, a.Kind, "after"},
			{b.From, min(b.To, a.From), b.Kind, "before"}, {max(b.From, a.To), b.To, b.Kind, "after"},
		} {
			if part.to <= part.from || a.Spans != nil || b.Spans != nil { // of a union, before and after lie in each run
				continue
			}
			level, _, _, _ := r.flight.Over(part.from, part.to)
			d := float64(part.to-part.from) / 1e9
			why += fmt.Sprintf("; %s alone has %.1f s %s, with %s in flight and %s %s", part.have, d, part.where, digits(level), digits(m.in(r.byEvents(part.from, part.to))/d), m.what)
		}
		if a.From != b.From || a.To != b.To {
			row.Parts = append(row.Parts, DifferencePart{ref(eb - ea), why})
		}
		row.add(*row.B-eb, b)
		rows = append(rows, row)
	}
	return rows
}

// add is the part that a window's way of counting has.
func (d *DifferenceRow) add(change float64, w window.Interval) {
	if w.ByEvents || change == 0 {
		return
	}
	d.Parts = append(d.Parts, DifferencePart{ref(change), w.Kind + " counts its own requests whole, not what happened in its interval (warm-up and tail requests, requests that reach over its edges)"})
}

func lengthS(w window.Interval) float64 { return float64(w.Length()) / 1e9 }

func differenceRow(name, unit string, a, b *float64) DifferenceRow {
	d := DifferenceRow{Metric: name, Unit: unit, A: a, B: b, Parts: []DifferencePart{}}
	if a != nil && b != nil {
		d.Step = ref(*b - *a)
		if *a != 0 {
			d.Change = ref(*b / *a - 1)
		}
	}
	return d
}

// latencyDifferences takes the mean apart by requests that are in one window
// alone, and says where the tail of a window is.
func (r *run) latencyDifferences(a, b window.Interval, ta, tb *Window) []DifferenceRow {
	const inA, inB = 1, 2
	where := make(map[int]int, len(a.Cohort)+len(b.Cohort))
	for _, i := range a.Cohort {
		where[i] |= inA
	}
	for _, i := range b.Cohort {
		where[i] |= inB
	}
	var rows []DifferenceRow
	for _, m := range []struct {
		key  string
		of   func(*metric.Request) (float64, bool)
		tail bool
	}{
		{"ttft_ms", ms((*metric.Request).TTFT), true},
		{"tpot_ms", func(q *metric.Request) (float64, bool) { v, ok := q.TPOT(); return v / 1e6, ok }, false},
		{"e2e_ms", ms((*metric.Request).E2E), true},
	} {
		sa, sb := ta.Metrics[m.key], tb.Metrics[m.key]
		if sa == nil || sb == nil || sa.Mean == nil || sb.Mean == nil {
			continue
		}
		row := differenceRow(m.key+".mean", "ms", sa.Mean, sb.Mean)
		var n [4]int64
		var sum [4]stat.Acc
		beyond := map[int]int64{} // of A's p99, by where
		for i := range r.reqs {   // in plan order
			at := where[i]
			if at == 0 {
				continue
			}
			v, ok := m.of(&r.reqs[i])
			if !ok {
				continue
			}
			n[at]++
			sum[at].Add(v)
			if at&inA != 0 && sa.P99 != nil && v > *sa.P99 {
				beyond[at]++
			}
		}
		mean := func(at int) float64 { return sum[at].Sum() / float64(n[at]) }
		both := inA | inB
		switch {
		case n[inA] == 0 && n[inB] == 0:
			row.Parts = append(row.Parts, DifferencePart{ref(0), "the same requests"})
		case n[both] == 0:
			row.Parts = append(row.Parts, DifferencePart{ref(*sb.Mean - *sa.Mean), "no request is in both"})
		default:
			if n[inA] > 0 {
				row.Parts = append(row.Parts, DifferencePart{ref(mean(both) - *sa.Mean),
					fmt.Sprintf("%s in %s alone, mean %s ms; %s in both, mean %s ms", plural(n[inA], "request"), a.Kind, digits(mean(inA)), thousands(n[both]), digits(mean(both)))})
			}
			if n[inB] > 0 {
				row.Parts = append(row.Parts, DifferencePart{ref(*sb.Mean - mean(both)),
					fmt.Sprintf("%s in %s alone, mean %s ms", plural(n[inB], "request"), b.Kind, digits(mean(inB)))})
			}
		}
		rows = append(rows, row)
		if !m.tail || sa.P99 == nil || sb.P99 == nil {
			continue
		}
		row = differenceRow(m.key+".p99", "ms", sa.P99, sb.P99)
		if total := beyond[inA] + beyond[both]; total > 0 && n[inA] > 0 {
			row.Parts = append(row.Parts, DifferencePart{nil,
				fmt.Sprintf("of the %s beyond %s's p99, %d are in %s alone", plural(total, "request"), a.Kind, beyond[inA], a.Kind)})
		}
		rows = append(rows, row)
	}
	return rows
}
