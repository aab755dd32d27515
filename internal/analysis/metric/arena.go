package metric

import (
	"encoding/binary"
	"iter"
)

// chunk is the size of the arena's blocks. Blocks never move, so growing costs
// no copy and no slack beyond one block.
const chunk = 1 << 20

// Arena holds the token events of all requests, some four bytes an event: the
// gap to the token event before as a varint, and only where a stream has them
// the choice and the growth of the running count.
type Arena struct {
	blocks [][]byte
	bytes  int64
}

// Bytes is the memory that the events take.
func (a *Arena) Bytes() int64 { return a.bytes }

// span is the place of one request's token events.
type span struct {
	blocks [][]byte // more than one only when the stream crossed a block's end
	choice bool
	counts bool
}

// writer appends one request's token events.
type writer struct {
	a    *Arena
	s    span
	from int // start in the current block
	prev int64
	buf  [3 * binary.MaxVarintLen64]byte
}

func (a *Arena) begin(choice, counts bool) *writer {
	w := &writer{a: a, s: span{choice: choice, counts: counts}}
	if n := len(a.blocks); n > 0 {
		w.from = len(a.blocks[n-1])
	}
	return w
}

// add appends one token event. Times of one stream never decrease.
func (w *writer) add(t int64, choice int32, tokens int64) {
	b := binary.AppendVarint(w.buf[:0], t-w.prev)
	w.prev = t
	if w.s.choice {
		b = binary.AppendVarint(b, int64(choice))
	}
	if w.s.counts {
		b = binary.AppendVarint(b, tokens)
	}
	n := len(w.a.blocks)
	if n == 0 || len(w.a.blocks[n-1])+len(b) > chunk {
		w.cut()
		w.a.blocks = append(w.a.blocks, make([]byte, 0, chunk))
		w.from = 0
		n++
	}
	w.a.blocks[n-1] = append(w.a.blocks[n-1], b...)
	w.a.bytes += int64(len(b))
}

// cut closes the part of the span that lies in the current block.
func (w *writer) cut() {
	n := len(w.a.blocks)
	if n == 0 || len(w.a.blocks[n-1]) == w.from {
		return
	}
	b := w.a.blocks[n-1]
	w.s.blocks = append(w.s.blocks, b[w.from:len(b):len(b)])
}

func (w *writer) end() span {
	w.cut()
	return w.s
}

// Token is one token event.
type Token struct {
	T      int64
	Choice int32
	Tokens int64 // growth of the running count; 0 where the stream has none
}

// Tokens yields the request's token events in order of arrival.
func (q *Request) Tokens() iter.Seq[Token] {
	return func(yield func(Token) bool) {
		var e Token
		for _, b := range q.gaps.blocks {
			for len(b) > 0 {
				v, n := binary.Varint(b)
				b = b[n:]
				e.T += v
				if q.gaps.choice {
					v, n = binary.Varint(b)
					b, e.Choice = b[n:], int32(v)
				}
				if q.gaps.counts {
					v, n = binary.Varint(b)
					b, e.Tokens = b[n:], v
				}
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Counted reports whether token events carry growth of a running count.
func (q *Request) Counted() bool { return q.gaps.counts }
