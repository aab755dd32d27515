package run

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"tokentape/internal/pace"
	"tokentape/internal/plan"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// Prepare is what is done before the first row of the plan; the zero Prepare does
// nothing. All of it has ended when the plan's time begins, and any failure stops
// the run: the load would meet a cache in another state than was asked for.
type Prepare struct {
	Flush       []Flush         // empty the server's cache, one after the other; none: it is left as it is
	Source      workload.Source // of Rows items, sent from the first on
	Rows        int64
	Servers     int64 // each of which gets every item; 0 is 1
	Concurrency int64
	Output      int64 // output tokens of each
}

// Flush is a POST that empties a server's cache. Do sends it, and gives the status
// of the answer, 0 where none came; what its error says is masked.
type Flush struct {
	URL string // secrets masked
	Do  func(context.Context) (status int, err error)
}

// call sends a flush and records it, however it ended.
func (e *engine) call(f Flush) error {
	c := &tape.Call{What: tape.CallFlush, Phase: tape.PhasePrepare, Method: "POST", URL: f.URL, T: e.clk.Now()}
	status, err := f.Do(e.issue)
	c.TEnd, c.OK = e.clk.Now(), err == nil
	if status != 0 {
		c.Status = tape.Some(int64(status))
	}
	if err != nil {
		c.Message = err.Error()
	}
	e.rec.put(c)
	return err
}

// prepareServer does what Config.Prepare says.
func (e *engine) prepareServer() {
	p := e.cfg.Prepare
	if _, err := pace.New(e.clk).Wait(e.issue, 0); err != nil {
		return
	}
	for _, f := range p.Flush {
		if err := e.call(f); err != nil {
			e.stop(tape.ReasonPrepare, "prepare.flush: "+err.Error())
			return
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	servers := max(p.Servers, 1)
	n := p.Rows * servers
	for worker := range int(min(p.Concurrency, n)) {
		wg.Go(func() {
			for e.issue.Err() == nil {
				i := next.Add(1) - 1
				if i >= n || !e.prepareRow(i, i/servers, i%servers, worker) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// prepareRow sends a row to a server as request i, and reports whether to go on.
func (e *engine) prepareRow(i, at, server int64, worker int) bool {
	item, err := e.cfg.Prepare.Source.Item(at)
	if err != nil {
		e.stop(tape.ReasonDataset, fmt.Sprintf("row %d of the preparation: %s", at, err))
		return false
	}
	item.OutputLen = e.cfg.Prepare.Output
	row := plan.Row{Seq: tape.PrepareSeq + i, Due: plan.NoDue, Item: at, Phase: tape.PhasePrepare}
	j, err := e.prepareItem(row, item)
	if err != nil {
		e.stop(tape.ReasonDataset, "of the preparation: "+err.Error())
		return false
	}
	j.ready.Turn = tape.Some(server)
	j.ready.Abandon.Tokens, j.ready.Abandon.After = 0, 0 // the cache is to be filled
	req := e.begin(j, slot{e.clk.Now(), worker}, tape.Opt[int64]{}, 0)
	answer := e.send(j, req)
	if req.Outcome != tape.OutcomeOK {
		e.stop(tape.ReasonPrepare, fmt.Sprintf("row %d of the preparation: %s: %s", at, req.Outcome, req.Message))
	}
	e.write(j, req, answer.Text)
	return req.Outcome == tape.OutcomeOK
}
