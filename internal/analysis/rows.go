package analysis

import (
	"iter"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// Rows are the derived values of every request, in plan order. Each row is made
// when it is asked for: a quarter of a million of them are never in memory at
// once. The zero Rows holds none.
type Rows struct {
	n  int
	at func(i int) Row
}

// RowsOf are rows that exist already.
func RowsOf(rows []Row) Rows {
	return Rows{len(rows), func(i int) Row { return rows[i] }}
}

// Len is the number of rows.
func (r Rows) Len() int { return r.n }

// At is the i-th row, 0-based, in plan order. It panics where no row is.
func (r Rows) At(i int) Row {
	if i < 0 || i >= r.n {
		panic("analysis: no such row")
	}
	return r.at(i)
}

// All yields every row with its index, in plan order.
func (r Rows) All() iter.Seq2[int, Row] {
	return func(yield func(int, Row) bool) {
		for i := range r.n {
			if !yield(i, r.at(i)) {
				return
			}
		}
	}
}

// member says for every request whether a window's cohort holds it.
type member struct {
	kind string
	in   []bool
}

// rows derives the values of every request. Failed requests have what they got
// as far as; their latencies enter no statistic.
func (r *run) rows(windows []member) Rows {
	return Rows{len(r.reqs), func(i int) Row {
		q, f := &r.reqs[i], &r.facts[i]
		row := Row{
			Seq: q.Seq, Phase: string(q.Phase), Outcome: string(f.outcome), Cause: f.cause, Message: f.message, Finish: f.finish,
			DueS: scaled(q.Due, 1e9), ReadyS: scaled(q.Ready, 1e9), ReleasedS: scaled(q.Released, 1e9), EndS: scaled(q.End, 1e9),
			SlotWaitMS: scaled(q.SlotWait, 1e6), PacerLagMS: scaled(q.PacerLag, 1e6), ConnectMS: scaled(f.conn, 1e6),
			TTFTMS: milli(q.TTFT()), TTFOMS: milli(q.TTFO()), E2EMS: milli(q.E2E()), StreamEndMS: milli(q.StreamEnd()),
			TTFTDueMS: milli(q.TTFTFromDue()), E2EDueMS: milli(q.E2EFromDue()),
			Input: known(q.Input), Output: known(q.Output), Reasoning: known(q.ReasoningTokens), Asked: known(q.Asked), AskedInput: known(q.AskedInput), ExpectedCached: known(f.expected), Recount: known(q.Recount),
			InputSource: q.InputSource, OutputSource: q.OutputSource,
			Status: f.status, DatasetRow: f.row, Attempts: f.attempts,
			ConnReused: f.reused, Flags: f.flags,
		}
		row.RowCache = r.rowCache(i)
		if r.header.Import == nil || q.Events > 0 {
			row.Events, row.TokenEvents = &q.Events, &q.TokenEvents
		}
		if r.untimed() {
			row.ReleasedS, row.EndS = nil, nil
		}
		if parts := r.parts(); parts != nil {
			p := &parts[q.Part]
			own := q.Seq - p.Seq
			if q.Seq >= tape.PrepareSeq {
				own = q.Seq - p.Prepare
			}
			part := int64(q.Part)
			row.Part, row.PartSeq = &part, &own
		}
		if q.Session {
			row.Session, row.Turn = f.session, &f.turn
		}
		r.draftRow(q, &row)
		if t, ok := q.TPOT(); ok {
			row.TPOTMS = ref(t / 1e6)
		}
		if f.attempts > 1 {
			row.RetryWaitMS = ref(f.waited / 1e6)
		}
		if len(q.Contradicts) > 0 { // why counts that the tape holds are missing here
			row.Flags = append(slices.Clip(row.Flags), usageContradicted)
		}
		row.ITLMeanMS, row.ITLMaxMS = itlStats(q)
		for _, w := range windows {
			if w.in[i] {
				row.Windows = append(row.Windows, w.kind)
			}
		}
		return row
	}}
}

// scaled is an integer of nanoseconds in units of unit nanoseconds.
func scaled(ns int64, unit float64) *float64 {
	if ns == metric.Absent {
		return nil
	}
	return ref(float64(ns) / unit)
}

func milli(ns int64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return ref(float64(ns) / 1e6)
}

func known(n int64) *int64 {
	if n == metric.Absent {
		return nil
	}
	return &n
}
