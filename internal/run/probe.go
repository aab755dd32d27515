package run

import (
	"context"
	"errors"

	"tokentape/internal/pace"
	"tokentape/tape"
)

// Probe asks the server before all else of a run: book takes each of its requests
// when it has ended, emit the other lines. ctx ends with the run. An error ends the
// run before its load.
type Probe func(ctx context.Context, book func(*tape.Request), emit func(tape.Record)) error

// before puts the steps of the preflight on the tape, moved by shift to the run's
// epoch.
func (e *engine) before(shift int64) {
	for _, s := range e.cfg.Before {
		if s.T.OK {
			s.T.V -= shift
		}
		e.rec.put(&s)
	}
}

// probe does what Config.Probe says.
func (e *engine) probe() {
	if _, err := pace.New(e.clk).Wait(e.issue, 0); err != nil {
		return
	}
	ctx, cancel := context.WithCancelCause(e.work)
	defer cancel(nil)
	defer context.AfterFunc(e.issue, func() { cancel(context.Cause(e.issue)) })()
	err := e.cfg.Probe(ctx, func(q *tape.Request) {
		e.issued.Add(1)
		e.account(q, 0)
		e.rec.put(q)
	}, func(r tape.Record) { e.rec.put(r) })
	var stopped *StopError
	if err != nil && !errors.As(err, &stopped) {
		e.stop(tape.ReasonProbe, err.Error())
	}
}
