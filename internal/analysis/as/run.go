package as

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"

	"tokentape/tape"
)

// Source is a tape as a stream of records, io.EOF at the end; *tape.Reader is one.
type Source interface {
	Next() (tape.Record, error)
}

// Run is a tape as other tools' definitions need it. Memory: some 500 bytes a
// request, four to five bytes an event (two more where the server sent running
// counts), and of imported tapes eight bytes a time point.
type Run struct {
	ID, Name string
	Imported string // the tool whose results the tape was made of; empty: recorded
	Untimed  bool   // that tool did not keep when requests were sent
	API      string // as the spec names it
	URL      string // of the server as the spec names it, secrets masked
	Model    string
	Dataset  string  // path of the dataset
	Stream   bool    // answers were asked for as streams
	Cap      int64   // load.concurrency; 0: none
	Rate     float64 // load.rate, requests a second; 0: none
	Arrivals string  // load.arrivals, as the spec names it
	Wall     string  // the epoch in RFC 3339, UTC
	N        int64   // measured requests that were planned; 0: not known
	// NotIssued are planned requests that were never sent.
	NotIssued int64
	// End is the run's end in nanoseconds since its epoch; absent without a footer.
	End tape.Opt[int64]

	gaps gaps

	// Requests are those of every phase in plan order; Measured gives those that
	// tools know of.
	Requests []Request
}

// Measured yields the requests of the measured phase in plan order.
func (r *Run) Measured() iter.Seq2[int, *Request] {
	return func(yield func(int, *Request) bool) {
		for i := range r.Requests {
			if r.Requests[i].Phase == tape.PhaseMeasure && !yield(i, &r.Requests[i]) {
				return
			}
		}
	}
}

// events reports whether any request has an event.
func (r *Run) events() bool {
	return slices.ContainsFunc(r.Requests, func(q Request) bool { return q.n > 0 })
}

// Request is one request. Stamps are nanoseconds since the run's epoch and mean
// what tape.Request says; what never happened or was not observed is absent.
type Request struct {
	Seq     int64
	Row     int64 // of the dataset
	Phase   tape.Phase
	Outcome tape.Outcome
	Cause   string
	Message string
	Status  int    // 0: no response
	Finish  string // verbatim; empty: none seen
	// Streamed is false for an answer that came in one piece.
	Streamed bool
	Attempts int
	Session  tape.Opt[string]
	Turn     int

	Due, Ready, Released, Conn           tape.Opt[int64]
	WroteFirst, Wrote, Headers           tape.Opt[int64]
	FirstEvent, FirstToken, FirstVisible tape.Opt[int64]
	LastToken, End                       tape.Opt[int64]
	Asked                                tape.Asked
	Tokens                               tape.Tokens
	Bytes                                tape.Bytes

	// LastReleased is the release of the last attempt: of one attempt that of
	// Released.
	LastReleased tape.Opt[int64]

	// Src are the time points of the tool that the tape was imported from, in its
	// seconds, verbatim; nil on a tape of our own.
	Src []float64

	start  int64  // from which the gaps count
	packed []byte // per event: gap as a varint, kind, then where the stream has them the running count + 1 and the choice
	n      int
	tok    bool
	choice bool
}

// OK reports that the request ended well.
func (q *Request) OK() bool { return q.Outcome == tape.OutcomeOK }

// NumEvents is the number of raw events, of every kind.
func (q *Request) NumEvents() int { return q.n }

// Events yields every raw event in order of arrival: role, finish, usage and
// [DONE] events too. T is nanoseconds since the run's epoch, Tok is −1 where the
// server sent no running count.
func (q *Request) Events() iter.Seq[tape.Event] {
	return func(yield func(tape.Event) bool) {
		t := q.start
		for b := q.packed; len(b) > 0; {
			gap, n := binary.Varint(b)
			t += gap
			e := tape.Event{T: t, Kind: b[n], Tok: -1}
			b = b[n+1:]
			if q.tok {
				v, n := binary.Varint(b)
				b, e.Tok = b[n:], v-1
			}
			if q.choice {
				v, n := binary.Varint(b)
				b, e.Choice = b[n:], int32(v)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// pack keeps the events of r. Where their start is not known they have no
// time, and are none here either.
func (q *Request) pack(r *tape.Request, scratch []byte) []byte {
	from := r.EventsFrom()
	if !from.OK || r.Events.IsZero() {
		return scratch
	}
	q.tok, q.choice = len(r.Events.Tok) > 0, len(r.Events.Choice) > 0
	q.start = from.V
	prev := q.start
	b := scratch[:0]
	for _, e := range r.Events.All(prev) {
		b = append(binary.AppendVarint(b, e.T-prev), e.Kind)
		prev = e.T
		if q.tok {
			if e.Tok > tape.MaxTokens {
				e.Tok = -1
			}
			b = binary.AppendVarint(b, e.Tok+1)
		}
		if q.choice {
			b = binary.AppendVarint(b, int64(e.Choice))
		}
		q.n++
	}
	q.packed = slices.Clone(b)
	return b
}

// Load reads src to its end. Errors: those of src, and a tape without a header.
// Faults are passed over; analysis reports them.
func Load(src Source) (*Run, error) {
	var l Loader
	for {
		rec, err := src.Next()
		if errors.Is(err, io.EOF) {
			return l.Run()
		}
		if err != nil {
			return nil, err
		}
		l.Add(rec)
	}
}

// Loader makes a Run of records that are read elsewhere, so that one pass over a
// tape can serve two readers. The zero Loader is ready.
type Loader struct {
	run     Run
	header  bool
	words   map[string]string
	scratch []byte
}

// Add takes a record and keeps nothing of it but texts and Src.
func (l *Loader) Add(rec tape.Record) {
	switch rec := rec.(type) {
	case *tape.Header:
		l.head(rec)
	case *tape.Request:
		l.request(rec)
	case *tape.Footer:
		l.run.N, l.run.NotIssued, l.run.End = rec.Planned, rec.NotIssued, tape.Some(rec.TEnd-l.run.gaps.last())
	}
}

// Run ends the loading. Error: there was no header.
func (l *Loader) Run() (*Run, error) {
	if !l.header {
		return nil, errors.New("the tape has no header: it is empty or not a tape")
	}
	slices.SortStableFunc(l.run.Requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Released.V, b.Released.V))
	})
	return &l.run, nil
}

func (l *Loader) head(h *tape.Header) {
	l.header = true
	var spec struct {
		Name   string `json:"name"`
		Target struct {
			API string `json:"api"`
			URL string `json:"url"`
		} `json:"target"`
		Workload struct {
			Stream bool `json:"stream"`
		} `json:"workload"`
		Load struct {
			Requests    int64   `json:"requests"`
			Concurrency int64   `json:"concurrency"`
			Rate        float64 `json:"rate"`
			Arrivals    string  `json:"arrivals"`
		} `json:"load"`
	}
	// A spec that another version wrote in another shape leaves what it can: these
	// few facts are absent then, as without a spec.
	_ = json.Unmarshal(h.Spec, &spec)
	r := &l.run
	r.ID, r.Name, r.Model = h.Run, cmp.Or(h.Name, spec.Name), h.Server.Model
	r.Arrivals, r.Wall = spec.Load.Arrivals, h.Anchor.Wall
	r.URL, r.Dataset = spec.Target.URL, h.Data.Path
	r.API, r.Stream, r.Cap, r.Rate = spec.Target.API, spec.Workload.Stream, spec.Load.Concurrency, spec.Load.Rate
	if r.N == 0 {
		r.N = spec.Load.Requests
	}
	if h.Import != nil {
		r.Imported, r.Untimed = h.Import.Tool, h.Import.Untimed
	}
	r.gaps = newGaps(h.Merged)
}

func (l *Loader) request(r *tape.Request) {
	q := Request{
		Seq: r.Seq, Row: r.Ref.Row, Phase: tape.Phase(l.word(string(r.Phase))), Outcome: tape.Outcome(l.word(string(r.Outcome))),
		Cause: l.word(r.Cause), Message: l.word(r.Message), Status: r.HTTP.Status, Finish: l.word(r.Finish),
		Attempts: r.Attempts, Session: r.Session, Turn: r.Turn,
		Due: r.TDue, Ready: r.TReady, Released: r.TReleased, Conn: r.TConn,
		WroteFirst: r.TWroteFirst, Wrote: r.TWrote, Headers: r.THeaders,
		FirstEvent: r.TFirstEvent, FirstToken: r.TFirstToken, FirstVisible: r.TFirstVisible,
		LastToken: r.TLastToken, End: r.TEnd,
		Asked: r.Asked, Tokens: r.Tokens, Bytes: r.Bytes,
	}
	q.Tokens.InputSource, q.Tokens.OutputSource = l.word(r.Tokens.InputSource), l.word(r.Tokens.OutputSource)
	q.countable()
	q.LastReleased = r.TReleased
	if n := len(r.AttemptLog); n > 0 {
		if last := r.AttemptLog[n-1]; last.TEnd.OK {
			q.LastReleased = tape.Some(last.TEnd.V + last.Wait)
		}
	}
	cut := l.run.gaps.before(r.Part)
	q.earlier(cut)
	q.Streamed = r.TFirstEvent.OK && !slices.Contains(r.Flags, "not_streamed")
	if r.Src != nil {
		q.Src = r.Src.T
	}
	l.scratch = q.pack(r, l.scratch)
	q.start -= cut
	l.run.Requests = append(l.run.Requests, q)
}

// countable takes counts that cannot be true for not known, as analysis does: no
// sum over requests wraps then, whatever a server said.
func (q *Request) countable() {
	t, a := &q.Tokens, &q.Asked
	for _, n := range []*tape.Opt[int64]{
		&t.Input, &t.Output, &t.Cached, &t.Reasoning, &t.Recount, &t.Accepted, &t.Rejected, &t.Verify, &a.Output, &a.Input, &a.Cached,
	} {
		if n.OK && (n.V < 0 || n.V > tape.MaxTokens) {
			*n = tape.Opt[int64]{}
		}
	}
}

// word keeps one copy of each of the few texts that a tape repeats.
func (l *Loader) word(s string) string {
	if w, ok := l.words[s]; ok {
		return w
	}
	if l.words == nil {
		l.words = map[string]string{}
	}
	if len(l.words) < 1000 {
		l.words[s] = s
	}
	return s
}
