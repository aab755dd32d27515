package analysis

import (
	"slices"

	"tokentape/internal/analysis/metric"
)

// rows derives the values of every request, in plan order. Failed requests have
// what they got as far as; their latencies enter no statistic.
func (r *run) rows() []Row {
	rows := make([]Row, len(r.reqs))
	for i := range r.reqs {
		q, f := &r.reqs[i], &r.facts[i]
		row := Row{
			Seq: q.Seq, Phase: string(q.Phase), Outcome: string(f.outcome), Cause: f.cause, Message: f.message, Finish: f.finish,
			DueS: scaled(q.Due, 1e9), ReleasedS: scaled(q.Released, 1e9), EndS: scaled(q.End, 1e9),
			SlotWaitMS: scaled(q.SlotWait, 1e6), PacerLagMS: scaled(q.PacerLag, 1e6),
			TTFTMS: milli(q.TTFT()), TTFOMS: milli(q.TTFO()), E2EMS: milli(q.E2E()), StreamEndMS: milli(q.StreamEnd()),
			TTFTDueMS: milli(q.TTFTFromDue()), E2EDueMS: milli(q.E2EFromDue()),
			Input: known(q.Input), Output: known(q.Output), Cached: known(q.Cached), Reasoning: known(q.ReasoningTokens), Asked: known(q.Asked), AskedInput: known(q.AskedInput),
			InputSource: q.InputSource, OutputSource: q.OutputSource,
			Events: q.Events, TokenEvents: q.TokenEvents, Status: f.status, DatasetRow: f.row, Attempts: f.attempts,
			ConnReused: f.reused, Flags: f.flags,
		}
		if t, ok := q.TPOT(); ok {
			row.TPOTMS = ref(t / 1e6)
		}
		if f.attempts > 1 {
			row.RetryWaitMS = ref(f.waited / 1e6)
		}
		if len(q.Contradicts) > 0 { // why counts that the tape holds are missing here
			row.Flags = append(slices.Clip(f.flags), usageContradicted)
		}
		row.ITLMeanMS, row.ITLMaxMS = itlStats(q)
		rows[i] = row
	}
	return rows
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
