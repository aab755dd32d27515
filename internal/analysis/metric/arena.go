package metric

import "encoding/binary"

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

// Load takes the events of q from the arena; ok is false where they are not there.
func (s *Stream) Load(q *Request) (ok bool) {
	s.reset(int(q.TokenEvents), q.gaps.choice, q.gaps.counts)
	t := int64(0)
	for _, b := range q.gaps.blocks {
		for len(b) > 0 {
			v, n := varint(b)
			b, t = b[n:], t+v
			s.T = append(s.T, t)
			if q.gaps.choice {
				v, n = varint(b)
				b, s.Choice = b[n:], append(s.Choice, int32(v))
			}
			if q.gaps.counts {
				v, n = varint(b)
				b, s.Grown = b[n:], append(s.Grown, v)
			}
		}
	}
	return len(s.T) == int(q.TokenEvents)
}

// varint is binary.Varint of what the arena wrote itself.
func varint(b []byte) (v int64, n int) {
	u, shift := uint64(0), 0
	for i, c := range b {
		u |= uint64(c&0x7f) << (shift & 63)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
		shift += 7
	}
	return 0, len(b)
}

// Counted reports whether token events carry growth of a running count.
func (q *Request) Counted() bool { return q.gaps.counts }
