package tape

import "fmt"

// MaxTokens bounds what a count of tokens of one request can mean. A count above
// it stays on the tape as it came and enters no number: no model has a context of
// a billion tokens, and sums of counts below it cannot wrap.
const MaxTokens = 1_000_000_000

// Check proves what must hold for every request: stamps in order, one kind a
// DT entry, the event stamps where the events say, counts not negative. The
// error names the first rule that is broken. t_due stands outside the order.
func (r *Request) Check() error {
	if r.Phase == "" || r.Outcome == "" {
		return fmt.Errorf("phase %q and outcome %q must not be empty", r.Phase, r.Outcome)
	}
	if err := r.checkOrder(); err != nil {
		return err
	}
	if err := r.checkEvents(); err != nil {
		return err
	}
	if r.Attempts < 0 || len(r.AttemptLog) > max(r.Attempts-1, 0) {
		return fmt.Errorf("%d attempts, but %d of them before the last are logged", r.Attempts, len(r.AttemptLog))
	}
	for i, a := range r.AttemptLog {
		if a.Wait < 0 || a.RetryAfter.V < 0 {
			return fmt.Errorf("attempt_log[%d]: wait_ns %d and retry_after_ns %d must not be below 0", i, a.Wait, a.RetryAfter.V)
		}
	}
	for _, c := range []struct {
		name string
		v    Opt[int64]
	}{
		{"seq", Some(r.Seq)}, {"ref.row", Some(r.Ref.Row)}, {"ref.offset", Some(r.Ref.Offset)}, {"ref.dataset", Some(r.Ref.Data)},
		{"bytes.sent", Some(r.Bytes.Sent)}, {"bytes.body", Some(r.Bytes.Body)}, {"bytes.reads", Some(r.Bytes.Reads)},
		{"retry_after_ns", r.RetryAfter}, {"asked.output", r.Asked.Output}, {"asked.input", r.Asked.Input}, {"asked.cached", r.Asked.Cached}, {"tokens.input", r.Tokens.Input}, {"tokens.output", r.Tokens.Output}, {"tokens.recount", r.Tokens.Recount},
		{"tokens.cached", r.Tokens.Cached}, {"tokens.reasoning", r.Tokens.Reasoning},
		{"tokens.accepted", r.Tokens.Accepted}, {"tokens.rejected", r.Tokens.Rejected}, {"tokens.verify", r.Tokens.Verify},
		{"tokens.cached_device", r.Tokens.CachedDevice}, {"tokens.cached_host", r.Tokens.CachedHost}, {"tokens.cached_storage", r.Tokens.CachedStorage}, {"tokens.drafted", r.Tokens.Drafted},
	} {
		if c.v.OK && c.v.V < 0 {
			return fmt.Errorf("%s is %d, below 0", c.name, c.v.V)
		}
	}
	for i, n := range r.StepsAccepting {
		if n < 0 {
			return fmt.Errorf("steps_accepting[%d] is %d, below 0", i, n)
		}
	}
	return nil
}

type stamp struct {
	name string
	t    Opt[int64]
}

// checkOrder walks the chains of stamps; absent ones are passed over. Headers
// have a chain of their own: they may come while the body is still being
// written, and in the same read as the first event.
func (r *Request) checkOrder() error {
	sent := []stamp{
		{"t_ready", r.TReady}, {"t_released", r.TReleased}, {"t_conn", r.TConn}, {"t_wrote_first", r.TWroteFirst},
	}
	chains := [...][]stamp{
		{{"t_wrote", r.TWrote}, {"t_end", r.TEnd}},
		{{"t_headers", r.THeaders}, {"t_end", r.TEnd}},
		{{"t_first_event", r.TFirstEvent}, {"t_first_token", r.TFirstToken}, {"t_first_visible", r.TFirstVisible},
			{"t_last_token", r.TLastToken}, {"t_end", r.TEnd}},
	}
	var last stamp
	step := func(s stamp) error {
		if !s.t.OK {
			return nil
		}
		if last.t.OK && s.t.V < last.t.V {
			return fmt.Errorf("%s %d is before %s %d", s.name, s.t.V, last.name, last.t.V)
		}
		last = s
		return nil
	}
	for _, s := range sent {
		if err := step(s); err != nil {
			return err
		}
	}
	written := last
	for _, chain := range chains {
		last = written
		for _, s := range chain {
			if err := step(s); err != nil {
				return err
			}
		}
	}
	if r.TFirstToken.OK != r.TLastToken.OK || r.TFirstVisible.OK && !r.TFirstToken.OK {
		return fmt.Errorf("t_first_token, t_first_visible and t_last_token: a first without a last, or a visible without a first")
	}
	return nil
}

func (r *Request) checkEvents() error {
	e := &r.Events
	n := len(e.DT)
	if k := countKinds(e.Kind); k != n {
		return fmt.Errorf("events: %d kinds in %.40q for %d entries of dt", k, e.Kind, n)
	}
	if len(e.Tok) != 0 && len(e.Tok) != n || len(e.Choice) != 0 && len(e.Choice) != n {
		return fmt.Errorf("events: %d of tok and %d of choice for %d entries of dt", len(e.Tok), len(e.Choice), n)
	}
	if n == 0 {
		return nil
	}
	from := r.EventsFrom()
	if !from.OK {
		return fmt.Errorf("events without t_wrote_first and t_released have no time")
	}
	for i, dt := range e.DT {
		if dt < 0 {
			return fmt.Errorf("events: dt[%d] is %d, below 0", i, dt)
		}
	}
	for i, tok := range e.Tok {
		if tok < -1 {
			return fmt.Errorf("events: tok[%d] is %d, below -1", i, tok)
		}
	}
	for i, choice := range e.Choice {
		if choice < 0 {
			return fmt.Errorf("events: choice[%d] is %d, below 0", i, choice)
		}
	}
	if t := from.V + e.DT[0]; r.TFirstEvent.OK && r.TFirstEvent.V != t {
		return fmt.Errorf("t_first_event %d, but the first event is at %d", r.TFirstEvent.V, t)
	}
	first, last := e.tokenTimes(from.V)
	if first != r.TFirstToken || last != r.TLastToken {
		return fmt.Errorf("t_first_token %v and t_last_token %v, but the events say %v and %v",
			r.TFirstToken, r.TLastToken, first, last)
	}
	return nil
}

// tokenTimes is the time of the first and of the last token event, run by run
// because every request that is read passes here. Kind must fit DT.
func (e *Events) tokenTimes(t int64) (first, last Opt[int64]) {
	i := 0
	for letter, n := range runs(e.Kind) {
		if n == 0 {
			continue
		}
		if IsToken(letter) && !first.OK {
			first = Some(t + e.DT[i])
		}
		for _, dt := range e.DT[i : i+n] {
			t += dt
		}
		i += n
		if IsToken(letter) {
			last = Some(t)
		}
	}
	return first, last
}
