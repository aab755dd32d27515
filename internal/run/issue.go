package run

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"tokentape/internal/exchange"
	"tokentape/internal/pace"
	"tokentape/internal/plan"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// job is one row, ready to go out.
type job struct {
	row   plan.Row
	item  workload.Item
	ready *exchange.Prepared
	input *inputCount // nil: not counted
	group string      // of prompts that begin alike

	session *session // nil: none
	freedAt int64    // when it gave its slot back
}

// prepare is for the one goroutine that stages rows.
func (e *engine) prepare(row plan.Row) (*job, error) {
	if m, ok := e.known.find(row); ok {
		ready := m.ready
		ready.Abandon = e.cfg.Abandon.of(row.Seq)
		return &job{row: row, item: workload.Item{Ref: m.ref}, ready: &ready, input: m.input, group: m.group}, nil
	}
	item, err := e.cfg.Source.Item(row.Item)
	if err != nil {
		return nil, fmt.Errorf("row %d of the plan: %w", row.Seq, err)
	}
	if row.Session > 0 {
		session, err := e.openSession(row, item)
		if err != nil {
			return nil, fmt.Errorf("row %d of the plan (dataset row %d): %w", row.Seq, row.Item, err)
		}
		return e.prepareTurn(row, session)
	}
	j, err := e.prepareItem(row, item)
	if err == nil {
		e.known.keep(row, j, j.input != nil || e.inputs == nil)
	}
	return j, err
}

func (e *engine) prepareItem(row plan.Row, item workload.Item) (*job, error) {
	if item.OutputLen == 0 {
		item.OutputLen = row.Output
	}
	ready, err := e.cfg.Exchange.Prepare(item)
	if err != nil {
		return nil, fmt.Errorf("row %d of the plan (dataset row %d): %w", row.Seq, row.Item, err)
	}
	ready.Abandon = e.cfg.Abandon.of(row.Seq)
	j := &job{row: row, item: item, ready: ready, input: e.inputs.count(item)}
	if e.cfg.Group != nil {
		j.group = e.cfg.Group(item, row.Phase == tape.PhasePrepare)
	}
	j.item = workload.Item{Ref: item.Ref} // the body holds the rest
	return j, nil
}

// pace releases the rows in order: when due, and when a slot is free. It returns
// when the last one is released.
func (e *engine) pace(staged *staging) {
	p := pace.New(e.clk)
	if _, err := p.Wait(e.issue, e.base); err != nil {
		return
	}
	c := &crew{baton: make(chan struct{}), over: make(chan struct{})}
	e.wg.Go(func() { e.lead(p, staged, c) })
	<-c.over
}

// crew are the goroutines that send. One of them leads: it waits for the next row.
type crew struct {
	baton   chan struct{} // who has sent waits for it, to lead again; closed in the end
	over    chan struct{} // closed when no more rows are to be sent
	waiting atomic.Int64
}

// mostWaiting is how many goroutines are kept for the next row: a stack that sending
// has made large need not be made again.
const mostWaiting = 256

// lead waits for the next row and sends it itself; another goroutine leads on from
// there. So a row that is due, or has got its slot, waits for no goroutine to begin:
// the one that has the processor goes on, and it is the next row, which has more
// time, that waits for another.
func (e *engine) lead(p *pace.Pacer, staged *staging, c *crew) {
	growStack(0)
	for {
		j, s, freedAt, ok := e.next(p, staged)
		if !ok {
			close(c.baton)
			close(c.over)
			return
		}
		req := e.begin(j, s, e.due(j.row), freedAt)
		select {
		case c.baton <- struct{}{}:
		default:
			e.wg.Go(func() { e.lead(p, staged, c) })
		}
		if j.session != nil {
			e.converse(j, s, req)
		} else {
			e.serve(j, s, req)
		}
		if !c.wait() {
			return
		}
	}
}

// wait waits for the baton; false when nobody wants this goroutine any more.
func (c *crew) wait() (lead bool) {
	if c.waiting.Add(1) <= mostWaiting {
		_, lead = <-c.baton
	}
	c.waiting.Add(-1)
	return lead
}

// growStack leaves the goroutine the stack of 8 KiB that sending takes. A goroutine
// begins with less, and to grow it three times on the way down to the first byte
// written is a quarter of what that way costs.
//
//go:noinline
func growStack(i int) byte {
	var room [5 << 10]byte
	room[i] = 1
	return room[len(room)-1-i]
}

// next waits until a row is due and has its slots; freedAt is that of its session's
// place. Not ok: there is to be none.
func (e *engine) next(p *pace.Pacer, staged *staging) (j *job, s slot, freedAt int64, ok bool) {
	if j, ok = staged.take(); !ok {
		return nil, s, 0, false
	}
	if j.row.Due != plan.NoDue {
		if _, err := p.Wait(e.issue, e.base+j.row.Due); err != nil {
			return nil, s, 0, false
		}
	}
	var err error
	if j.session != nil {
		if j.session.place, err = e.places.take(e.issue); err != nil {
			return nil, s, 0, false
		}
		freedAt = j.session.place.freedAt
	}
	s, err = e.slots.take(e.issue)
	return j, s, freedAt, err == nil
}

// due is the planned send of a row that waits for no answer.
func (e *engine) due(row plan.Row) tape.Opt[int64] {
	if row.Due == plan.NoDue {
		return tape.Opt[int64]{}
	}
	return tape.Some(e.base + row.Due)
}

// begin enters a row into the books as issued, now. due is its planned send, ready when the load rules
// allowed it but for its due time and its slot, which need not be in it.
func (e *engine) begin(j *job, s slot, due tape.Opt[int64], ready int64) *tape.Request {
	req := &tape.Request{
		Type: "request", Seq: j.row.Seq, Phase: j.row.Phase, Worker: s.id, TDue: due,
		Ref: tape.Ref{Row: j.item.Ref.Row, Offset: j.item.Ref.Offset, SHA256: j.item.Ref.SHA256, Data: int64(j.item.Ref.Data)},
	}
	req.ID = e.cfg.Header.Run + "-" + strconv.FormatInt(j.row.Seq, 10)
	if j.row.Session > 0 {
		req.Session, req.Turn = tape.Some(e.cfg.Header.Run+"-s"+strconv.FormatInt(j.row.Session, 10)), j.row.Turn
	}
	ready = max(ready, s.freedAt)
	if due.OK {
		ready = max(ready, due.V)
	}
	req.TReady = tape.Some(ready)
	if e.cfg.Cached != nil && j.row.Turn == 0 && j.row.Phase != tape.PhasePrepare { // what a later turn finds depends on the answers
		if n, ok := e.cfg.Cached(j.item.Ref); ok {
			req.Asked.Cached = tape.Some(n)
		}
	}
	req.Asked.Group = j.group
	e.issued.Add(1)
	e.inFlight.Add(1)
	e.told(j.row.Phase)
	if j.row.Phase == tape.PhaseMeasure {
		e.mu.Lock()
		e.counts.issuedMeasured++
		if j.row.Turn == 0 {
			e.counts.drawnMeasured += 1 + j.left()
		}
		e.mu.Unlock()
	}
	return req
}

// serve sends one request, gives its slot back and records it.
func (e *engine) serve(j *job, s slot, req *tape.Request) (answer exchange.Answer) {
	answer = e.send(j, req)
	s.freedAt = e.clk.Now()
	j.freedAt = s.freedAt
	e.slots.put(s)
	if j.left() > 0 { // the next turn must not wait for the counting
		e.wg.Go(func() { e.write(j, req, answer.Text) })
	} else {
		e.write(j, req, answer.Text)
	}
	return answer
}

// send makes all attempts of a request, and enters its end into the books: before
// its slot is free, since a stop rule must come first.
func (e *engine) send(j *job, req *tape.Request) (answer exchange.Answer) {
	// Stamped here, where the sending starts: what it took to get a goroutine
	// going is the client's, and belongs to the pacer's lag, not to TTFT.
	req.TReleased = tape.Some(e.clk.Now())
	released := req.TReleased.V
	for try := 1; ; try++ {
		answer = e.cfg.Exchange.Do(e.work, j.ready, req)
		req.Attempts = try
		if answer.Example != nil {
			e.rec.put(answer.Example)
		}
		if !e.again(req, try, released) {
			break
		}
		released = e.clk.Now()
	}
	now := e.clk.Now()
	e.inFlight.Add(-1)
	e.account(req, j.left())
	if e.cfg.Ended != nil {
		e.cfg.Ended(Ended{T: now, Seq: req.Seq, Phase: req.Phase, Outcome: req.Outcome, Cause: req.Cause, Status: req.HTTP.Status, Message: req.Message, Attempts: req.Attempts})
	}
	return answer
}

// write counts what is left to count, and puts the request on the tape.
func (e *engine) write(j *job, req *tape.Request, text string) {
	e.outputs.count(req, text)
	if n, ok := j.input.wait(); ok {
		req.Asked.Input = tape.Some(n)
		if !req.Tokens.Input.OK && req.HTTP.Status/100 == 2 && !e.cfg.Least {
			req.Tokens.Input, req.Tokens.InputSource = tape.Some(n), tape.SourceTokenizer
		}
	}
	e.lags.add(req)
	if e.cfg.Written != nil {
		e.cfg.Written(req)
	}
	e.rec.put(req)
}

// account enters an ended request into the books and applies the stop rules. left
// is how many turns would have followed in its session.
func (e *engine) account(req *tape.Request, left int64) {
	e.mu.Lock()
	c := &e.counts
	switch {
	case req.Outcome == tape.OutcomeOK, req.Outcome == tape.OutcomeAbandoned && req.HTTP.Status/100 == 2:
		c.anyOK = true
	case c.first == nil && req.Outcome.Failed():
		c.first = req
	}
	var reason, message string
	if req.Phase == tape.PhaseMeasure {
		c.endedMeasured++
		switch req.Outcome {
		case tape.OutcomeOK:
			c.ok++
		case tape.OutcomeCancelled:
			c.cancelled++
		case tape.OutcomeAbandoned:
			c.abandoned++
		default:
			c.failed[string(req.Outcome)]++
		}
	} else {
		c.preparation++
		if req.Phase == tape.PhaseTail {
			c.tail++
		}
		if req.Phase == tape.PhaseWarmup {
			c.warmup++
			if req.Outcome.Failed() {
				c.warmupFailed += 1 + left // the rest of a session fails with it
			}
			if w := e.cfg.Plan.Warmup(); c.warmupFailed == w {
				reason, message = tape.ReasonWarmup, fmt.Sprintf("all %d warm-up requests failed; the last: %s: %s", w, req.Outcome, req.Message)
			}
		}
	}
	if !c.anyOK && refused(req) {
		reason, message = tape.ReasonRefused, req.Message
	}
	tailDone := e.cfg.Tail && c.endedMeasured == e.cfg.Plan.Planned()
	e.mu.Unlock()
	if reason != "" {
		e.stop(reason, message)
	}
	if tailDone {
		e.cancelIssue(errMeasuredDone)
	}
}

// refused reports an answer that every further request would get too, because
// the address, the key or the model is wrong.
func refused(req *tape.Request) bool {
	switch req.Outcome {
	case tape.OutcomeNotStream, tape.OutcomeRedirect:
		return true
	case tape.OutcomeStatus:
		switch req.HTTP.Status {
		case 401, 403, 404, 405:
			return true
		}
	}
	return false
}
