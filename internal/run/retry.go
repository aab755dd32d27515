package run

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"tokentape/tape"
)

// Retry says which ends of an attempt are followed by another one, and how long
// after. The zero Retry tries nothing again. A request that waits keeps its slot:
// the client has it in hand, and its latency spans the wait.
type Retry struct {
	// On are outcome classes (tape.Outcome…), statuses such as "429", and "4xx" or
	// "5xx". What ended well, was cancelled or abandoned is never tried again.
	On []string
	// The wait before attempt n+1 is Initial × Factor^(n−1), at most Max.
	Initial, Max time.Duration
	Factor       float64
	// Jitter is the share of each wait, 0 to 1, by which Seed draws it longer or
	// shorter; Max still holds.
	Jitter float64
	Seed   int64
	// RetryAfter waits at least as long as the answer asked. When that is longer
	// than Max the request is not tried again: to come back earlier is what the
	// server asked not to do, and nothing may hold a slot without a bound.
	RetryAfter bool
}

// takes reports whether an attempt that ended so is to be followed by another.
func (r *Retry) takes(req *tape.Request) bool {
	if !req.Outcome.Failed() {
		return false
	}
	return slices.ContainsFunc(r.On, func(on string) bool {
		if on == string(req.Outcome) {
			return true
		}
		if req.Outcome != tape.OutcomeStatus {
			return false
		}
		status := strconv.Itoa(req.HTTP.Status)
		return on == status || len(on) == 3 && on[1:] == "xx" && on[0] == status[0]
	})
}

// wait is how long to wait after attempt n (from 1), in nanoseconds; not ok: the
// server asked for longer than Max.
func (r *Retry) wait(req *tape.Request, n int) (ns int64, ok bool) {
	w := 0.0
	if r.Initial > 0 { // 0 × ∞ is no number
		w = math.Min(float64(r.Initial)*math.Pow(r.Factor, float64(n-1)), float64(r.Max))
	}
	if r.Jitter > 0 {
		w *= 1 + r.Jitter*(2*draw("retry", r.Seed, req.Seq, int64(n))-1)
	}
	ns = min(int64(w), int64(r.Max))
	if r.RetryAfter && req.RetryAfter.OK {
		return max(ns, req.RetryAfter.V), req.RetryAfter.V <= int64(r.Max)
	}
	return ns, true
}

// draw is uniform in (0, 1), by name, seed and numbers alone: no order of events
// can move it.
func draw(name string, seed int64, of ...int64) float64 {
	h := sha256.Sum256(fmt.Appendf(nil, "tokentape.run/1 %s %d %d", name, seed, of))
	return (float64(binary.BigEndian.Uint64(h[:8])>>12) + 0.5) / (1 << 52)
}

// FlagRetryCut is the flag of a request whose attempts ended early because the run
// was stopped.
const FlagRetryCut = "retry_cut"

// again enters a failed attempt into the log and waits until the next one is due.
// It reports false, and leaves req as it is but for a flag or a word in the
// message, when there is to be none. released is that of the attempt.
func (e *engine) again(req *tape.Request, try int, released int64) bool {
	r := &e.cfg.Retry
	if try >= e.cfg.Attempts || !r.takes(req) {
		return false
	}
	wait, ok := r.wait(req, try)
	if !ok {
		req.Message += fmt.Sprintf("; not tried again: Retry-After %s is longer than load.retry.backoff.max %s", time.Duration(req.RetryAfter.V), r.Max)
		return false
	}
	if !e.backOff(req.TEnd.V + wait) {
		req.Flags = append(req.Flags, FlagRetryCut)
		return false
	}
	at := tape.Attempt{
		TReleased: tape.Some(released), TEnd: req.TEnd, Status: req.HTTP.Status,
		Outcome: req.Outcome, Cause: req.Cause, Message: req.Message,
		RetryAfter: req.RetryAfter, Wait: e.clk.Now() - req.TEnd.V,
	}
	*req = tape.Request{
		Type: req.Type, Seq: req.Seq, ID: req.ID, Phase: req.Phase, Worker: req.Worker, Ref: req.Ref, Session: req.Session, Turn: req.Turn,
		TDue: req.TDue, TReady: req.TReady, TReleased: req.TReleased,
		AttemptLog: append(req.AttemptLog, at),
	}
	return true
}

// backOff waits until t; false: the run was stopped, at once or meanwhile.
func (e *engine) backOff(t int64) bool {
	if wait := t - e.clk.Now(); wait > 0 {
		over := make(chan struct{})
		timer := e.clk.AfterFunc(wait, func() { close(over) })
		defer timer.Stop()
		select {
		case <-over:
		case <-e.retry.Done():
		}
	}
	return e.retry.Err() == nil
}
