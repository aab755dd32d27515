package metric

import (
	"encoding/binary"
	"iter"
)

// chunk is the size of the arena's blocks. Blocks never move, so growing costs
// no copy and no slack beyond one block.
const chunk = 1 << 20

// Arena holds the token events of requests, some four bytes an event: the gap to
// the token event before as a varint, and only where a stream has them the choice
// and the growth of the running count.
type Arena struct {
	// Off keeps no more events: what is reduced from now on has its scalars alone.
	Off bool

	blocks [][]byte
	bytes  int64
	stream Stream // of the request that is being reduced
}

// Bytes is the memory that the events take.
func (a *Arena) Bytes() int64 { return a.bytes }

// span is the place of one request's token events.
type span struct {
	blocks [][]byte // more than one only when the stream crossed a block's end
	choice bool
	counts bool
}

// keep stores a stream. Times of one stream never decrease.
func (a *Arena) keep(s *Stream) span {
	kept := span{choice: s.Choice != nil, counts: s.Grown != nil}
	if len(s.T) == 0 {
		return kept
	}
	const most = 3 * binary.MaxVarintLen64
	var block []byte
	if n := len(a.blocks); n > 0 {
		block = a.blocks[n-1]
	}
	from := len(block)
	cut := func() {
		a.bytes += int64(len(block) - from)
		if len(block) > from {
			kept.blocks = append(kept.blocks, block[from:len(block):len(block)])
		}
		if n := len(a.blocks); n > 0 {
			a.blocks[n-1] = block
		}
	}
	prev := int64(0)
	for i, t := range s.T {
		if cap(block)-len(block) < most {
			cut()
			block, from = make([]byte, 0, chunk), 0
			a.blocks = append(a.blocks, block)
		}
		block = binary.AppendVarint(block, t-prev)
		prev = t
		if kept.choice {
			block = binary.AppendVarint(block, int64(s.Choice[i]))
		}
		if kept.counts {
			block = binary.AppendVarint(block, s.Grown[i])
		}
	}
	cut()
	return kept
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
