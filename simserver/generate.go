package simserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"

	"tokentape/internal/sim"
)

// bodies holds request bodies while they are parsed.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// answer is one generation request being served.
type answer struct {
	s   *Server
	w   http.ResponseWriter
	rc  *http.ResponseController
	ctx context.Context

	g   *generation
	f   *Fault // nil: none
	st  *sim.Stream
	enc *encoder
	api *native // nil: an OpenAI endpoint

	steps, last int64 // native: engine steps that made tokens, and how many the last made

	buf    []byte
	events []sim.Event
	played bool // f has happened

	t       Truth
	stamped int // events of t that have their write stamps
	wire    wire
}

// eventsPerWrite bounds what one write carries when a connection has fallen far
// behind its engine.
const eventsPerWrite = 64

func (s *Server) now() int64 { return s.clk.Machine(s.clk.Now()) }

func (s *Server) generate(w http.ResponseWriter, r *http.Request, chat bool, api *native) {
	a := &answer{s: s, w: w, api: api, rc: http.NewResponseController(w), ctx: r.Context(), t: Truth{
		ID: r.Header.Get("X-Request-Id"), Path: r.URL.Path,
		Arrived: -1, Admitted: -1, PrefillDone: -1,
	}}
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	a.t.Received = s.now()
	a.t.N = int(s.number.Add(1) - 1)
	s.arrived(int64(a.t.N) + 1)
	if a.t.ID == "" {
		rnd := rand.New(rand.NewPCG(s.o.Seed, uint64(a.t.N)))
		a.t.ID = fmt.Sprintf("%016x%016x", rnd.Uint64(), rnd.Uint64())
	}
	w.Header().Set("X-Request-Id", a.t.ID)
	defer a.record() // also when a fault ends the handler by a panic
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			a.refuse(&apiError{http.StatusRequestEntityTooLarge, "BadRequestError", "The request body is larger than 64 MiB."})
		} else {
			a.t.Aborted = true
		}
		return
	}
	if s.o.Worker != "" && !bytes.Contains(body.Bytes(), []byte(`"bootstrap_room"`)) {
		a.refuse(badRequest("Invalid request: Disaggregated request received without bootstrap room id."))
		return
	}
	if a.f, err = s.o.pick(a.t.N, r.Header.Get(FaultHeader)); err != nil {
		a.refuse(badRequest("%s: %v", FaultHeader, err))
		return
	}
	if a.misdirect() {
		return
	}
	if a.happens(FaultStatus) {
		a.play()
		code := a.f.code(http.StatusServiceUnavailable)
		if a.f.For > 0 {
			w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(a.f.For.Seconds()), 'f', -1, 64))
		}
		if a.f.Body != "" {
			a.t.Status = code
			w.Header().Set("Content-Type", http.DetectContentType([]byte(a.f.Body)))
			w.WriteHeader(code)
			_, _ = io.WriteString(w, a.f.Body)
			return
		}
		a.refuse(&apiError{code, "SimulatedFault", "simulated fault: status " + strconv.Itoa(code)})
		return
	}
	var g *generation
	bad := a.admits()
	switch {
	case bad != nil:
	case api != nil:
		g, bad = api.parse(&s.o, r, body.Bytes())
	default:
		g, bad = s.o.parse(body.Bytes(), chat)
	}
	if bad != nil {
		a.refuse(bad)
		return
	}
	a.g, a.t.Stream, a.t.PromptTokens = g, g.stream, g.req.Prompt.Tokens
	if bytes.Contains(body.Bytes(), []byte(copyMarker)) {
		g.req.AcceptRate = s.o.CopyAcceptRate
	}
	if a.f != nil && a.f.Kind.info().Stream && !g.stream {
		a.f = nil
	}
	a.beforeAnswer()
	if a.happens(FaultDelay) && !a.pause() {
		return
	}
	a.st = s.engine.Submit(g.req)
	defer a.st.Cancel() // nothing to cancel once it has ended
	a.enc = newEncoder(&s.o, g, a.st, a.t.ID, s.clk.Wall().Unix())
	a.t.Arrived = s.clk.Machine(a.st.Arrival)
	a.t.Status = http.StatusOK
	switch {
	case api != nil:
		err = a.serveNative()
	case g.stream && !a.happens(FaultOneShot):
		err = a.serveStream()
	default:
		err = a.serveWhole()
	}
	switch {
	case err == nil:
		a.t.Finish = a.enc.reason()
	case errors.Is(err, sim.ErrClosed):
		a.t.Aborted = true
		if len(a.t.WriteStart) == 0 && !g.stream {
			a.refuse(&apiError{http.StatusServiceUnavailable, "ServiceUnavailableError", "The server is shutting down."})
			return
		}
		panic(http.ErrAbortHandler)
	case errors.Is(err, errPlayed):
	default:
		a.t.Aborted = true
	}
}

// errPlayed ends an answer after a fault that leaves nothing to say.
var errPlayed = errors.New("fault played")

func (a *answer) refuse(e *apiError) {
	a.t.Status = e.status
	if a.api != nil {
		writeBody(a.w, e.status, a.api.fail(e))
		return
	}
	writeError(a.w, e)
}

func (a *answer) happens(kind Kind) bool { return a.f != nil && a.f.Kind == kind && !a.played }

func (a *answer) play() { a.played, a.t.Fault = true, string(a.f.Kind) }

// pause lets f.For pass; it reports false when the client went away meanwhile.
func (a *answer) pause() bool {
	a.play()
	if a.s.clk.SleepUntil(a.ctx, a.s.clk.Now()+int64(a.f.For)) != nil {
		a.t.Aborted = true
		return false
	}
	return true
}

func (a *answer) record() {
	if !a.s.truths.wanted() {
		return
	}
	if a.st != nil {
		f := a.st.Facts()
		a.t.CachedTokens = f.Cached
		if f.Admitted >= 0 {
			a.t.Admitted = a.s.clk.Machine(f.Admitted)
		}
		if f.PrefillDone >= 0 {
			a.t.PrefillDone = a.s.clk.Machine(f.PrefillDone)
		}
	}
	// Events that a broken connection never took.
	a.t.Due, a.t.Tokens = a.t.Due[:a.stamped], a.t.Tokens[:a.stamped]
	for _, n := range a.t.Tokens {
		a.t.OutputTokens += int64(n)
	}
	a.t.End = a.s.now()
	a.s.truths.add(a.t)
}

// note remembers an event that the next flush will carry.
func (a *answer) note(ev sim.Event) {
	if a.s.truths.wanted() {
		a.t.Due = append(a.t.Due, a.s.clk.Machine(ev.T))
		a.t.Tokens = append(a.t.Tokens, ev.N)
	}
}

// flush hands everything to the connection in one write.
func (a *answer) flush() error {
	start := a.s.now()
	if a.f != nil && a.distort() {
		return nil // kept back
	}
	err := a.write(a.buf)
	a.buf = a.buf[:0]
	if err != nil {
		return err
	}
	end := a.s.now()
	for ; a.stamped < len(a.t.Due); a.stamped++ {
		a.t.WriteStart = append(a.t.WriteStart, start)
		a.t.WriteEnd = append(a.t.WriteEnd, end)
	}
	return nil
}

// write hands b to the connection.
func (a *answer) write(b []byte) error {
	_, err := a.w.Write(b)
	if err == nil {
		err = a.rc.Flush()
	}
	return err
}

func (a *answer) serveStream() error {
	a.contentType("text/event-stream; charset=utf-8")
	role := a.s.o.RoleChunk
	if a.happens(FaultRoleEarly) {
		a.play()
		role = RoleEarly
	}
	if a.s.o.EarlyHeader || role == RoleEarly {
		a.w.WriteHeader(http.StatusOK)
		if a.g.chat && role == RoleEarly {
			a.buf = a.enc.role(a.buf)
		}
		if err := a.flush(); err != nil {
			return err
		}
	}
	for sent := int64(0); sent < a.st.Len; {
		var err error
		if a.events, err = a.next(sent); err != nil {
			return err
		}
		for i, ev := range a.events {
			if err := a.interrupt(sent); err != nil {
				return err
			}
			if sent == 0 && a.g.chat && role == RoleToken {
				a.buf = a.enc.role(a.buf)
			}
			if !a.wire.mute {
				a.buf = a.enc.tokens(a.buf, sent, int64(ev.N))
				a.note(ev)
			}
			if sent += int64(ev.N); sent == a.st.Len {
				return a.finish()
			}
			if i == len(a.events)-1 || len(a.t.Due)-a.stamped >= eventsPerWrite {
				if err := a.flush(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// finish ends a stream whose last tokens stand in the buffer.
func (a *answer) finish() error {
	if err := a.interrupt(a.st.Len); err != nil {
		return err
	}
	usage, done := a.g.usage, true
	if a.happens(FaultNoUsage) {
		a.play()
		usage = false
	}
	if a.happens(FaultNoDone) {
		a.play()
		done = false
	}
	a.buf = a.ending(a.buf, usage, done)
	if a.wire.last = true; len(a.buf) > 0 || a.f != nil {
		if err := a.flush(); err != nil {
			return err
		}
	}
	return a.afterDone()
}

// interrupt plays a fault that is due once sent tokens have been handed over.
func (a *answer) interrupt(sent int64) error {
	if a.f == nil || a.played || sent < a.f.After {
		return nil
	}
	if a.insert() {
		return nil
	}
	switch a.f.Kind {
	case FaultCut, FaultReset, FaultStall, FaultErrorEvent, FaultHang:
	default:
		return nil
	}
	if a.f.Kind == FaultErrorEvent {
		a.play()
		code := a.f.code(http.StatusInternalServerError)
		a.buf = append(a.buf, `data: {"error":`...)
		a.buf = append(a.buf, (&apiError{code, "InternalServerError", "simulated fault: the engine failed"}).json()...)
		a.buf = append(a.buf, "}\n\ndata: [DONE]\n\n"...)
		if err := a.flush(); err != nil {
			return err
		}
		return errPlayed
	}
	if err := a.flush(); err != nil { // the tokens before it, and the headers
		return err
	}
	if a.f.Kind == FaultStall {
		if !a.pause() {
			return context.Cause(a.ctx)
		}
		return nil
	}
	if a.f.Kind == FaultHang {
		return a.hang()
	}
	a.hangUp()
	return errPlayed
}

// hangUp closes the connection in the middle of the body.
func (a *answer) hangUp() {
	a.play()
	if a.f.Kind == FaultReset {
		if conn, _, err := a.rc.Hijack(); err == nil {
			if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
				conn = c.NetConn()
			}
			switch c := conn.(type) {
			case interface{ SetLinger(int) error }: // TCP
				_ = c.SetLinger(0)
			case interface{ Reset() }: // in memory
				c.Reset()
			}
			_ = conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

func (a *answer) serveWhole() error {
	sent, last := int64(0), int64(0)
	for sent < a.st.Len {
		var err error
		if a.events, err = a.st.Next(a.ctx, a.events[:0]); err != nil {
			return err
		}
		for _, ev := range a.events {
			sent += int64(ev.N)
			last = ev.T
		}
	}
	if a.happens(FaultErrorEvent) {
		a.play()
		a.refuse(&apiError{a.f.code(http.StatusInternalServerError), "InternalServerError", "simulated fault: the engine failed"})
		return errPlayed
	}
	if a.happens(FaultStall) && !a.pause() {
		return context.Cause(a.ctx)
	}
	usage := true
	if a.happens(FaultNoUsage) {
		a.play()
		usage = false
	}
	a.buf = a.enc.whole(a.buf, usage)
	a.contentType("application/json")
	a.w.Header().Set("Content-Length", strconv.Itoa(len(a.buf)))
	if a.happens(FaultCut) || a.happens(FaultReset) {
		a.buf = a.buf[:len(a.buf)/2]
		if err := a.flush(); err != nil {
			return err
		}
		a.hangUp()
		return errPlayed
	}
	a.note(sim.Event{T: last, N: int32(sent)})
	return a.flush()
}
