package dataset

import "sort"

// entry is what is kept of a row: 16 bytes. The hash is of this process alone;
// it tells an edited file, not an attacker.
type entry struct {
	offset int64
	size   uint32
	hash   uint32
}

const chunk = 1 << 14 // entries; growing by chunks never copies the index

// index finds rows in the file. Lines are kept as exceptions: row i stands on
// the line after row i−1 unless jumps says otherwise.
type index struct {
	rows  int64
	parts [][]entry
	jumps []jump
	next  int // line of the next row when it follows at once
}

type jump struct {
	row  int64
	line int
}

func (x *index) add(offset int64, line, size int, hash uint32) {
	if x.rows == 0 || line != x.next {
		x.jumps = append(x.jumps, jump{x.rows, line})
	}
	x.next = line + 1
	if x.rows%chunk == 0 {
		x.parts = append(x.parts, make([]entry, 0, chunk))
	}
	last := &x.parts[len(x.parts)-1]
	*last = append(*last, entry{offset, uint32(size), hash})
	x.rows++
}

func (x *index) row(i int64) (entry, int) {
	k := sort.Search(len(x.jumps), func(k int) bool { return x.jumps[k].row > i }) - 1
	return x.parts[i/chunk][i%chunk], x.jumps[k].line + int(i-x.jumps[k].row)
}
