package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"tokentape/internal/client"
	"tokentape/internal/dialect"
	"tokentape/internal/dialect/frame"
	"tokentape/tape"
)

// readBuffer is what one read of a compressed body may bring.
const readBuffer = 8 << 10

// A message quotes the first 200 bytes of a body; more are kept, so that a
// secret is masked before it is cut.
const (
	quoted    = 200
	headBytes = 1024
)

// closeBy is how near two token events are that count as one burst, in ns.
const closeBy = 1_000_000

// Bounds of what one answer may make the client keep; the answer is given up when
// it has more. The first is beyond any context window.
const (
	maxEvents    = 1_000_000 // of any kind
	maxForeign   = 100_000   // that say nothing that the dialect knows
	maxMalformed = 1_000     // that could not be read
)

// tooManyError says that an answer is over one of the bounds.
type tooManyError struct {
	limit int
	what  string
}

func (e *tooManyError) Error() string {
	return fmt.Sprintf("the answer has more than %d %s", e.limit, e.what)
}

// bounds are maxEvents and maxForeign, which tests make smaller.
type bounds struct{ events, foreign int }

// form is what a body turned out to be, by its content and not by its type.
type form uint8

const (
	formUnknown form = iota // nothing but white space so far
	formStream
	formWhole // one JSON value
	formHTML
)

// flight is one attempt under way. Its buffers are used again.
type flight struct {
	e       *Exchanger
	url     string // where this attempt goes
	request []byte // its body
	asked   int    // choices; 0: not known

	encoded *encoded // the body, when it is said to be compressed
	buf     []byte
	event   frame.Framer // framing of the dialect
	whole   frame.Framer // one JSON value
	dec     dialect.Decoder
	marks   []dialect.Mark // of one event

	form  form
	head  []byte // first bytes of the body, for messages
	wire  []byte // more of them, as Config.KeepWire asks; given away
	at    int    // buf[:at] are the last bytes of the body, as far as they are kept
	fed   int    // bytes of the body that the framer got last
	fault fault  // first event at fault
	bytes int64
	reads int64

	from int64 // time of the event before, at first that of the first byte written
	log  eventLog

	first, firstToken, firstVisible, lastToken int64 // −1: none
	tokens                                     int   // token events
	foreign                                    int   // events of tape.KindOther
	close                                      int   // of these, how many came less than closeBy after the one before
	doneAt                                     int64 // −1: no end mark seen

	texts []choiceText
}

// choiceText is the generated text of one choice, as far as it is kept.
type choiceText struct {
	index int32
	sum   hash.Hash // over all of it in order of arrival, but for what is in late
	late  []byte
	all   []byte
	parts map[byte][]byte // by kind, for a full record
	calls []callText
}

// callText is a tool call: its name and arguments, joined from their pieces.
type callText struct {
	index int32
	text  []byte
}

func newFlight(e *Exchanger) *flight {
	room := readBuffer
	if e.cfg.Client != nil {
		room = e.cfg.Client.ReadBuffer() // one read never brings more, and is to be taken whole
	}
	return &flight{
		e: e, buf: make([]byte, recentRoom+room),
		event: frame.New(e.cfg.Dialect.Framing(), e.cfg.MaxEvent),
		whole: frame.New(frame.JSON, e.cfg.MaxEvent),
		dec:   e.cfg.Dialect.NewDecoder(),
	}
}

// reset makes the flight ready for another attempt.
func (x *flight) reset() {
	x.event.Reset()
	x.whole.Reset()
	x.dec.Reset()
	x.log.reset()
	for i := range x.texts {
		x.texts[i].reset()
	}
	*x = flight{
		e: x.e, buf: x.buf, event: x.event, whole: x.whole, dec: x.dec,
		marks: x.marks[:0], head: x.head[:0], from: -1,
		log: x.log, texts: x.texts[:0],
		first: -1, firstToken: -1, firstVisible: -1, lastToken: -1, doneAt: -1,
	}
	if x.e.cfg.Output != OutputNone || x.e.cfg.KeepText || x.e.cfg.KeepReply {
		x.dec.SetSink(x.take)
	}
}

// take is the decoder's sink.
func (x *flight) take(p dialect.Piece) {
	at := 0
	if len(x.texts) == 0 || x.texts[0].index != p.Choice {
		at = slices.IndexFunc(x.texts, func(t choiceText) bool { return t.index == p.Choice })
	}
	if at < 0 {
		at = x.choose(p.Choice)
	}
	t := &x.texts[at]
	if x.e.cfg.Output != OutputNone {
		if t.late = append(t.late, p.Text...); len(t.late) >= lateBytes {
			t.hash()
		}
	}
	if x.e.cfg.KeepText {
		t.all = append(t.all, p.Text...)
	}
	switch {
	case x.e.cfg.Output != OutputFull && !x.e.cfg.KeepReply:
	case p.Kind == tape.KindTool:
		t.call(p)
	default:
		if t.parts == nil {
			t.parts = map[byte][]byte{}
		}
		kind := p.Kind
		if kind == tape.KindRefusal {
			kind = tape.KindContent // both are what the user sees
		}
		t.parts[kind] = append(t.parts[kind], p.Text...)
	}
}

// choose begins the text of one more choice, and returns where it is. The hash and the
// buffer of an earlier attempt serve again.
func (x *flight) choose(index int32) int {
	at := len(x.texts)
	if at < cap(x.texts) {
		x.texts = x.texts[:at+1]
	} else {
		x.texts = append(x.texts, choiceText{})
	}
	t := &x.texts[at]
	if t.sum == nil {
		t.sum, t.late = sha256.New(), make([]byte, 0, lateRoom)
	}
	t.index = index
	return at
}

// reset drops all of a text but its hash and buffer.
func (t *choiceText) reset() {
	if cap(t.late) > keepLate {
		t.late = make([]byte, 0, lateRoom)
	}
	t.sum.Reset()
	*t = choiceText{sum: t.sum, late: t.late[:0]}
}

// lateBytes is how much text is hashed at a time: a piece is a few bytes, and what a
// hash costs is by the call.
const (
	lateBytes = 256
	lateRoom  = lateBytes + 64 // a piece is seldom longer than that
	keepLate  = 64 << 10       // what one long piece took is not kept
)

func (t *choiceText) hash() hash.Hash {
	t.sum.Write(t.late)
	t.late = t.late[:0]
	return t.sum
}

// maxCalls bounds the tool calls told apart; the pieces of more join the last.
const maxCalls = 1024

func (t *choiceText) call(p dialect.Piece) {
	at := slices.IndexFunc(t.calls, func(c callText) bool { return c.index == p.Call })
	if at < 0 && len(t.calls) == maxCalls {
		at = maxCalls - 1
	}
	if at < 0 {
		at = len(t.calls)
		t.calls = append(t.calls, callText{index: p.Call})
	}
	t.calls[at].text = append(t.calls[at].text, p.Text...)
}

// tools are the tool calls in order of their index, a line each.
func (t *choiceText) tools() string {
	slices.SortStableFunc(t.calls, func(a, b callText) int { return int(a.index) - int(b.index) })
	lines := make([]string, len(t.calls))
	for i, c := range t.calls {
		lines[i] = string(c.text)
	}
	return strings.Join(lines, "\n")
}

// chunk takes the bytes of one read. It reports whether the stream is over by
// its own end mark; the error is a *frame.TooLargeError or a *tooManyError.
func (x *flight) chunk(b []byte, marks []client.Mark, stream bool) (done bool, err error) {
	x.bytes += int64(len(b))
	x.reads += int64(len(marks))
	if room := headBytes - len(x.head); room > 0 {
		if x.head == nil {
			x.head = make([]byte, 0, headBytes)
		}
		x.head = append(x.head, b[:min(room, len(b))]...)
	}
	if room := x.e.cfg.KeepWire - len(x.wire); room > 0 {
		x.wire = append(x.wire, b[:min(room, len(b))]...)
	}
	if x.form == formUnknown {
		at := x.sniff(b)
		if x.form == formStream && !stream {
			x.form = formWhole
		}
		if x.form == formWhole {
			b = b[at:]
		}
	}
	switch x.form {
	case formWhole:
		x.whole.Feed(b)
		_, _, err = x.whole.Next()
		return false, err
	case formHTML:
		return false, nil
	}
	x.event.Feed(b)
	x.fed = len(b)
	before := x.tokens
	w := walk{marks: marks}
	for {
		ev, ok, err := x.event.Next()
		if err != nil || !ok {
			x.told(before, marks)
			return false, err
		}
		t := w.at(ev.At)
		if x.read(ev, t) {
			x.doneAt = t
			x.told(before, marks)
			return true, nil
		}
		if err := x.tooMany(); err != nil {
			x.told(before, marks)
			return false, err
		}
	}
}

func (x *flight) told(before int, marks []client.Mark) {
	if n := x.tokens - before; n > 0 && x.e.cfg.OnTokens != nil {
		x.e.cfg.OnTokens(n, marks[len(marks)-1].T)
	}
}

// walk finds the stamp of a byte, for rising indexes.
type walk struct {
	marks []client.Mark
	end   int // index behind the bytes of marks[0]
	begun bool
}

func (w *walk) at(i int) int64 {
	if !w.begun {
		w.begun, w.end = true, w.marks[0].N
	}
	for i >= w.end && len(w.marks) > 1 {
		w.marks = w.marks[1:]
		w.end += w.marks[0].N
	}
	return w.marks[0].T
}

// sniff decides what the body is by its first byte that is neither white space
// nor part of a byte order mark, and returns that byte's index.
func (x *flight) sniff(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			continue
		case '{':
			x.form = formStream
			if x.e.cfg.Dialect.Framing() == frame.SSE { // elsewhere an object is an event
				x.form = formWhole
			}
		case '<':
			x.form = formHTML
		default:
			x.form = formStream
		}
		return i
	}
	return 0
}

// read understands one event that was complete at t, and logs it. It reports
// whether the event is the end mark.
func (x *flight) read(ev frame.Event, t int64) (done bool) {
	x.marks = x.dec.Event(ev.Name, ev.Payload, x.marks[:0])
	f := x.dec.Facts()
	if f.Malformed > 0 || f.Err != nil {
		x.blame(ev)
	}
	for _, m := range x.marks {
		x.enter(m, t)
	}
	return f.Done
}

// tooMany is why the answer is given up for the number of its events, or nil.
func (x *flight) tooMany() error {
	switch b := x.e.bounds; {
	case x.log.n > b.events:
		return &tooManyError{b.events, "events"}
	case x.foreign > b.foreign:
		return &tooManyError{b.foreign, "events that say nothing"}
	}
	return nil
}

func (x *flight) enter(m dialect.Mark, t int64) {
	if x.first < 0 {
		x.first = t
		if x.from < 0 {
			x.from = t
		}
	}
	x.log.add(t-x.from, m)
	x.from = t
	if m.Kind == tape.KindOther {
		x.foreign++
	}
	if !tape.IsToken(m.Kind) {
		return
	}
	if x.tokens++; x.tokens > 1 && t-x.lastToken < closeBy {
		x.close++
	}
	if x.firstToken < 0 {
		x.firstToken = t
	}
	if x.firstVisible < 0 && m.Kind != tape.KindReasoning && m.Kind != tape.KindHidden {
		x.firstVisible = t
	}
	x.lastToken = t
}

// between stands between the texts of two choices of a full record.
const between = "\x1e"

// output is the generated text as record.output asks, nil when there is none.
// The hash is that of the text (reasoning, content, refusal and tool calls as
// they came), independent of how it was cut into events; with several choices,
// that of their hashes in hex, in order of the choices. Secrets are masked in the
// text, and the hash is that of what came.
func (x *flight) output() *tape.Output {
	if x.e.cfg.Output == OutputNone || len(x.texts) == 0 {
		return nil
	}
	slices.SortFunc(x.texts, func(a, b choiceText) int { return int(a.index) - int(b.index) })
	sum := x.texts[0].hash()
	if len(x.texts) > 1 {
		sum = sha256.New()
		for i := range x.texts {
			sum.Write(hex.AppendEncode(nil, x.texts[i].hash().Sum(nil)))
		}
	}
	out := &tape.Output{SHA256: hex.EncodeToString(sum.Sum(nil))}
	if x.e.cfg.Output == OutputFull {
		m := x.e.secrets
		out.Text, out.Reasoning, out.Tools = m.Mask(x.part(tape.KindContent)), m.Mask(x.part(tape.KindReasoning)), m.Mask(x.tools())
	}
	return out
}

func (x *flight) tools() string {
	texts := make([]string, len(x.texts))
	for i := range x.texts {
		texts[i] = x.texts[i].tools()
	}
	return strings.Trim(strings.Join(texts, between), between)
}

func (x *flight) part(kind byte) string {
	texts := make([]string, len(x.texts))
	for i, t := range x.texts {
		texts[i] = string(t.parts[kind])
	}
	return strings.Trim(strings.Join(texts, between), between)
}

// reply is the visible text of the first choice.
func (x *flight) reply() string {
	for _, t := range x.texts {
		if t.index == 0 {
			return string(t.parts[tape.KindContent])
		}
	}
	return ""
}

// text is all that was generated, for a tokenizer.
func (x *flight) text() string {
	var b strings.Builder
	for _, t := range x.texts {
		b.Write(t.all)
	}
	return b.String()
}
