package dataset

import "sort"

// An entry is what is kept of a row, in 8 bytes: the offset in the upper 40
// bits, a hash of the row in the lower 24. The hash tells an edited file, not an
// attacker.
type entry uint64

const (
	hashBits  = 24
	hashMask  = 1<<hashBits - 1
	maxOffset = 1<<(64-hashBits) - 1
	chunk     = 1 << 15 // entries; growing by chunks never copies the index
)

// index finds rows in the file. Where row i does not stand on the line after
// row i−1, a jump says so; elsewhere a row ends, but for its line end and space,
// where the next begins.
type index struct {
	rows  int64
	parts [][]entry
	jumps []jump
	next  int   // line of the next row when it follows at once
	end   int64 // of the last row
}

type jump struct {
	row     int64
	line    int
	lastEnd int64 // end of the row before
}

// span is where a row stands; what trails it before end is not part of it.
type span struct {
	offset, end int64
	line        int
	hash        uint32
}

func (x *index) add(offset int64, size, line int, hash uint32) {
	if x.rows == 0 || line != x.next {
		x.jumps = append(x.jumps, jump{x.rows, line, x.end})
	}
	x.next, x.end = line+1, offset+int64(size)
	if x.rows%chunk == 0 {
		x.parts = append(x.parts, make([]entry, 0, chunk))
	}
	last := &x.parts[len(x.parts)-1]
	*last = append(*last, entry(offset)<<hashBits|entry(hash))
	x.rows++
}

func (x *index) row(i int64) span {
	e := x.parts[i/chunk][i%chunk]
	k := sort.Search(len(x.jumps), func(k int) bool { return x.jumps[k].row > i })
	at := x.jumps[k-1]
	s := span{offset: int64(e >> hashBits), line: at.line + int(i-at.row), hash: uint32(e & hashMask)}
	switch {
	case i == x.rows-1:
		s.end = x.end
	case k < len(x.jumps) && x.jumps[k].row == i+1:
		s.end = x.jumps[k].lastEnd
	default:
		s.end = int64(x.parts[(i+1)/chunk][(i+1)%chunk] >> hashBits)
	}
	return s
}
