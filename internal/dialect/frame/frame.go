package frame

import (
	"bytes"
	"fmt"
)

// Kind is a way of framing.
type Kind int

// The ways a body is cut into payloads.
const (
	SSE Kind = iota
	NDJSON
	JSON
)

// Max is the default limit of one payload in bytes: 64 MiB.
const Max = 64 << 20

// keepBuffer is the largest buffer that Reset keeps for the next body.
const keepBuffer = 1 << 20

// Event is one payload.
type Event struct {
	// Name is the event field of a server-sent event; "" when it had none.
	Name string
	// Payload is valid until the next call of Next or Feed and must not be
	// changed: it may lie in the chunk itself.
	Payload []byte
	// At is the index, in the chunk fed last, of the byte that completed the
	// event; −1 when the end of the body did.
	At int
}

// Framer cuts one body. Feed a chunk, call Next until it has no more, feed the
// next one; after the last chunk call End, then Next again. It is not safe for
// concurrent use.
type Framer interface {
	// Feed takes the next bytes. They must stay unchanged until Next has
	// returned false.
	Feed(chunk []byte)
	// Next is the next complete event; false when more bytes are needed. Its
	// error is a *TooLargeError and stays.
	Next() (Event, bool, error)
	// End says that no more bytes come.
	End()
	// Partial is how many bytes are held that belong to no event delivered so
	// far; after End, what was lost.
	Partial() int
	// Reset makes the framer ready for another body.
	Reset()
}

// New is a framer that holds up to limit bytes for one payload, the field names
// of a server-sent event included.
func New(kind Kind, limit int) Framer {
	switch kind {
	case NDJSON:
		return &lines{limit: limit}
	case JSON:
		return &whole{limit: limit}
	default:
		return newSSE(limit)
	}
}

// TooLargeError says that one payload was over the limit.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("one event of the answer is larger than the limit of %d bytes", e.Limit)
}

// kept is buf emptied for another body, unless it has grown large.
func kept(buf []byte) []byte {
	if cap(buf) > keepBuffer {
		return nil
	}
	return buf[:0]
}

// space are the bytes that JSON allows between tokens.
const space = " \t\r\n"

// lines cuts newline-delimited JSON. Empty lines are no events; the last line
// needs no newline.
type lines struct {
	limit int
	chunk []byte
	pos   int
	held  []byte // beginning of an unfinished line
	used  bool   // held was delivered
	ended bool
	err   error
}

func (l *lines) Feed(chunk []byte) { l.chunk, l.pos = chunk, 0 }

func (l *lines) Next() (Event, bool, error) {
	if l.used {
		l.held, l.used = l.held[:0], false
	}
	for l.err == nil && l.pos < len(l.chunk) {
		rest := l.chunk[l.pos:]
		n := bytes.IndexByte(rest, '\n')
		end := n
		if n < 0 {
			end = len(rest)
		}
		if len(l.held)+end > l.limit {
			l.err = &TooLargeError{l.limit}
			break
		}
		line := rest[:end]
		if n < 0 || len(l.held) > 0 {
			l.held = append(l.held, line...)
			line = l.held
		}
		if n < 0 {
			l.pos = len(l.chunk)
			break
		}
		l.pos += n + 1
		if line = bytes.Trim(line, space); len(line) > 0 {
			l.used = true
			return Event{Payload: line, At: l.pos - 1}, true, nil
		}
		l.held = l.held[:0]
	}
	if l.err == nil && l.ended {
		l.used = true
		if line := bytes.Trim(l.held, space); len(line) > 0 {
			l.ended = false
			return Event{Payload: line, At: -1}, true, nil
		}
	}
	return Event{}, false, l.err
}

func (l *lines) End() { l.ended, l.chunk, l.pos = true, nil, 0 }

func (l *lines) Partial() int {
	if l.used {
		return 0
	}
	return len(l.held)
}

func (l *lines) Reset() { *l = lines{limit: l.limit, held: kept(l.held)} }

// whole gathers a body that is one payload.
type whole struct {
	limit int
	held  []byte
	ended bool
	err   error
}

func (w *whole) Feed(chunk []byte) {
	if w.err == nil && len(w.held)+len(chunk) > w.limit {
		w.err = &TooLargeError{w.limit}
	}
	if w.err == nil {
		w.held = append(w.held, chunk...)
	}
}

func (w *whole) Next() (Event, bool, error) {
	if w.err == nil && w.ended {
		w.ended = false
		if body := bytes.Trim(w.held, space); len(body) > 0 {
			return Event{Payload: body, At: -1}, true, nil
		}
	}
	return Event{}, false, w.err
}

func (w *whole) End()         { w.ended = true }
func (w *whole) Partial() int { return len(w.held) }
func (w *whole) Reset()       { *w = whole{limit: w.limit, held: kept(w.held)} }
