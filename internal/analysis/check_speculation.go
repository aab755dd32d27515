package analysis

import (
	"fmt"

	"tokentape/internal/analysis/metric"
)

// Beyond these shares, counts of speculation are said not to be those of the
// stream.
const (
	uncountedShare = 0.02 // of output tokens, made in steps that no verify count holds
	stepsPerEvent  = 0.1  // that token events and verify steps may differ
)

const speculationContradicted = "speculation" // the check, and with _contradicted the flag of its rows

// speculationCheck: what the server says of its drafts contradicts neither itself
// nor the stream. Counts that cannot be true were taken for not known before.
func (r *run) speculationCheck() Check {
	c := Check{Name: speculationContradicted, Severity: SeverityNote, Result: ResultPass, Unit: "requests", Limit: ref(0),
		Do: "use none of the numbers of speculation that are named until it is known which count is wrong; the tape holds them as they came"}
	type example struct {
		metric.Contradiction
		seq, n int64
	}
	var kinds []*example // in the order in which they are met
	var off int64
	r.okMeasured(func(q *metric.Request) {
		if q.Drafts == nil || len(q.Drafts.Contradicts) == 0 {
			return
		}
		off++
	next:
		for _, f := range q.Drafts.Contradicts {
			for _, k := range kinds {
				if k.Kind == f.Kind {
					k.n++
					continue next
				}
			}
			kinds = append(kinds, &example{f, q.Seq, 1})
		}
	})
	s := r.drafts()
	told := max(s.Verify.N, s.Accepted.N, s.Drafted.N, s.Listed)
	if told == 0 && off == 0 {
		c.Result, c.Why = ResultNone, "the server told nothing of speculation"
		return c
	}
	c.Value, c.Why = ref(float64(off)), fmt.Sprintf("no contradiction in what %s say of speculation", plural(told, "answer"))
	var found []string
	for _, k := range kinds {
		found = append(found, fmt.Sprintf("%s in %s (request %d: %s, %s)", k.Kind, plural(k.n, "answer"), k.seq, thousands(k.Got), thousands(k.Than)))
	}
	if v, ok := s.Uncounted.Value(); ok && v > uncountedShare {
		found = append(found, fmt.Sprintf("%s of %s output tokens are neither an accepted draft nor of a verify step: steps that no count holds made them, and the acceptance length is above what a verify step yields",
			thousands(s.Uncounted.Over), thousands(s.Uncounted.Under)))
	}
	if v, ok := s.EventsPerStep.Value(); ok && (v < 1-stepsPerEvent || v > 1+stepsPerEvent) {
		found = append(found, fmt.Sprintf("%s token events after the first ones, %s verify steps: events are not steps here, and tokens per event is no acceptance length",
			thousands(s.EventsPerStep.Over), thousands(s.EventsPerStep.Under)))
	}
	if len(found) > 0 {
		c.Result, c.Why = ResultMiss, join(found, "; ")
	}
	if off == 0 { // no count is at fault, and there is none to hold against a limit
		c.Value, c.Limit, c.Unit = nil, nil, ""
		c.Do = "read each number of speculation as what its own two counts say, and no more"
	}
	return c
}
