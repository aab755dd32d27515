package exchange

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"tokentape/internal/client"
	"tokentape/internal/dialect"
	"tokentape/tape"
)

// Do sends p once and writes what happened to req: stamps, connection, events,
// counts, outcome. TDue, TReady, TReleased and what names the request stay as
// they are. Failures are outcomes, never errors; whatever came before a failure
// is kept. It returns the generated text as Config.KeepText and KeepReply ask.
//
// When ctx is done the outcome is cancelled, with the context's cause as
// message.
func (e *Exchanger) Do(ctx context.Context, p *Prepared, req *tape.Request) (got Answer) {
	x := e.flights.Get().(*flight)
	defer e.flights.Put(x)
	x.reset()
	if d, ok := x.dec.(dialect.Prompted); ok {
		d.SetPrompt(p.prompt)
	}
	x.asked, x.request = p.choices, p.Body
	w := newWatch(ctx, e.cfg.Clock, e.cfg.Limits, p.Abandon)
	defer w.stop()

	var tr client.Trace
	v := verdict{end: -1}
	x.url = e.cfg.URL
	if n := int64(len(e.cfg.URLs)); n > 1 {
		i := (p.Turn.Or(req.Seq) + int64(len(req.AttemptLog))) % n
		x.url, req.URL = e.cfg.URLs[i], tape.Some(i)
	}
	resp, err := e.cfg.Client.DoOwn(w.ctx, w.cancel, http.MethodPost, x.url, e.headerFor(req.ID, req.Session.V), p.Body, &tr)
	if err != nil {
		v = e.broken(err, &tr)
	} else {
		req.HTTP = tape.HTTP{Status: resp.Status, Proto: resp.Proto}
		req.RetryAfter = retryAfter(resp.Header, e.cfg.Clock.Wall())
		if resp.Status/100 != 2 {
			v = e.refused(resp, w, x)
		} else {
			x.from = tr.WroteFirst
			v = x.receive(resp, w)
		}
		_ = resp.Body.Close()
	}
	if v.end < 0 {
		v.end = e.cfg.Clock.Now()
	}
	x.record(req, p, &tr, v)
	if v.outcome.Failed() {
		got.Example = x.example(req, resp)
	}
	x.request = nil // the flight outlives it
	if e.cfg.KeepText {
		got.Text = x.text()
	}
	if e.cfg.KeepWire > 0 {
		if got.Wire = x.wire; resp != nil {
			got.Header = resp.Header
		}
	}
	if e.cfg.KeepReply {
		got.Reply = x.reply()
	}
	return got
}

// Answer is the text of an attempt.
type Answer struct {
	Text  string // all that was generated, reasoning and tool calls too: for a tokenizer
	Reply string // what the user sees of the first choice: the message that a conversation goes on with

	Header http.Header // of the response, nil without one; as Config.KeepWire asks
	Wire   []byte      // the first bytes of its body
	// Example is set when the attempt is the first failure of its class: a line for
	// the tape.
	Example *tape.Example
}

// headerFor is the header of one request: the common one, with the request's id
// and that of its session.
func (e *Exchanger) headerFor(id, session string) http.Header {
	if e.cfg.NoID {
		id = ""
	}
	if e.cfg.SessionHeader == "" {
		session = ""
	}
	if id == "" && session == "" {
		return e.header
	}
	h := maps.Clone(e.header)
	if id != "" {
		h[e.cfg.IDHeader] = []string{id}
	}
	if session != "" {
		h[e.cfg.SessionHeader] = []string{session}
	}
	return h
}

// receive reads the body of an answer with status 2xx.
func (x *flight) receive(resp *client.Response, w *watch) verdict {
	stream := x.e.cfg.Options.Stream
	body := x.open(resp)
	for {
		n, err := body.Read(x.buf[x.at:])
		if n > 0 {
			b := x.buf[x.at : x.at+n]
			x.at += n
			marks := body.Marks()
			w.alive(marks[len(marks)-1].T)
			done, large := x.chunk(b, marks, stream)
			if x.firstToken >= 0 || x.form == formWhole {
				w.token()
			}
			if !done { // what is complete has no rest to wait for
				w.over(x.over())
			}
			switch {
			case large != nil:
				return verdict{outcome: tape.OutcomeTooLarge, message: large.Error() + ": the answer was given up", end: marks[len(marks)-1].T}
			case done:
				v := x.judge(resp)
				v.end = x.doneAt
				return v
			case x.dec.Facts().Malformed >= maxMalformed:
				v := x.judge(resp)
				v.message, v.end = v.message+": the answer was given up", marks[len(marks)-1].T
				return v
			case w.leave.Tokens > 0 && x.tokens >= w.leave.Tokens:
				why := w.abandon(x.tokens)
				return verdict{outcome: tape.OutcomeAbandoned, cause: why.rule, message: why.text, end: marks[len(marks)-1].T}
			case x.form == formHTML && len(x.head) == headBytes:
				err = io.EOF // enough to see what it is
			}
		}
		if err == nil {
			x.keepRecent()
			continue
		}
		end := body.Last()
		if errors.Is(err, errRest) { // complete as it stands, and it ended with its last event
			v := x.judge(resp)
			if v.end = x.from; v.outcome == tape.OutcomeOK && !slices.Contains(v.flags, FlagNoDone) {
				v.flags = append(v.flags, FlagNoDone) // where the end of the body is the mark
			}
			return v
		}
		if err != io.EOF {
			v := x.e.broken(err, nil)
			if v.end = end; client.Classify(err) == client.ClassCancelled {
				v.end = -1
			}
			return v
		}
		if end < 0 {
			end = x.e.cfg.Clock.Now()
		}
		if done, large := x.finish(end); large != nil {
			return verdict{outcome: tape.OutcomeTooLarge, message: large.Error(), end: end}
		} else if done {
			x.doneAt = end
		}
		v := x.judge(resp)
		v.end = end
		return v
	}
}

// finish reads what the clean end of the body, at t, completed.
func (x *flight) finish(t int64) (done bool, err error) {
	if x.form == formWhole {
		x.whole.End()
		ev, ok, err := x.whole.Next()
		if ok {
			x.dec.Whole(ev.Payload)
		}
		return false, err
	}
	x.event.End()
	for {
		ev, ok, err := x.event.Next()
		if err != nil || !ok {
			return done, err
		}
		done = x.read(ev, t)
	}
}

// record writes the attempt to req.
func (x *flight) record(req *tape.Request, p *Prepared, tr *client.Trace, v verdict) {
	e, f := x.e, x.dec.Facts()
	switch {
	case tr.ConnID > 0:
		req.Conn = &tape.Conn{ID: tr.ConnID, Reused: tr.Reused, Remote: tr.Remote, DNS: stamp(tr.DNS), Dial: stamp(tr.Dial), TLS: stamp(tr.TLS)}
	case tr.Remote != "":
		req.Conn = &tape.Conn{Remote: tr.Remote} // what was tried
	}
	// An answer may be complete before the write returns that carried the request's end.
	wrote := min(tr.Wrote, v.end)
	req.TConn, req.TWroteFirst, req.TWrote, req.THeaders = stamp(tr.GotConn), stamp(tr.WroteFirst), stamp(wrote), stamp(tr.Headers)
	req.TFirstEvent, req.TFirstToken, req.TFirstVisible, req.TLastToken = stamp(x.first), stamp(x.firstToken), stamp(x.firstVisible), stamp(x.lastToken)
	req.TEnd = tape.Some(v.end)
	req.Events = x.log.events()
	if p.Asked > 0 {
		req.Asked.Output = tape.Some(p.Asked)
	}
	req.Bytes = tape.Bytes{Sent: min(int64(len(p.Body)), tr.Sent), Body: x.bytes, Reads: x.reads}

	req.Tokens = tape.Tokens{
		Input: stamp(f.Input), Output: stamp(f.Output), Cached: stamp(f.Cached), Reasoning: stamp(f.Reasoning),
		Accepted: stamp(f.Accepted), Rejected: stamp(f.Rejected), Verify: stamp(f.Verify), Drafted: stamp(f.Drafted),
		CachedDevice: f.Tiers.Device, CachedHost: f.Tiers.Host, CachedStorage: f.Tiers.Storage, CachedBackend: e.mask(f.Tiers.Backend),
		Unread: e.mask(f.UnreadList()),
	}
	req.StepsAccepting = slices.Clone(f.StepsAccepting)
	if req.Tokens.Input.OK {
		req.Tokens.InputSource = f.InputSource
	}
	switch {
	case req.Tokens.Output.OK:
		req.Tokens.OutputSource = f.CountSource
	case x.tokens > 0 && !e.cfg.KeepText:
		req.Tokens.Output, req.Tokens.OutputSource = tape.Some(int64(x.tokens)), tape.SourceEvents
	}

	if len(f.Engine) > 0 {
		req.Engine = make(map[string]float64, len(f.Engine))
		for _, g := range f.Engine {
			req.Engine[g.Name] = g.Value
		}
	}

	req.Model = e.replied(f.Model, p.model)
	req.Finish = e.mask(f.Finish)
	req.Outcome, req.Cause, req.Message = v.outcome, v.cause, e.message(v.message)
	req.Flags = v.flags
	if x.encoded != nil && x.encoded.in {
		req.Flags = append(req.Flags, FlagCompressed)
	}
	req.Output = x.output()
}

// stamp is a time or count of which a negative value says that there is none.
func stamp(t int64) tape.Opt[int64] {
	if t < 0 { // also dialect.Unknown
		return tape.Opt[int64]{}
	}
	return tape.Some(t)
}
