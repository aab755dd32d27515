package exchange

import (
	"slices"

	"tokentape/internal/dialect"
	"tokentape/tape"
)

// gapBlock is how many times a block holds: 512 bytes.
const gapBlock = 64

// keepBlocks of the longest event log are kept for the next attempt.
const keepBlocks = 1 << 10

// eventLog is the events of an attempt under way, as small as it can be: of thousands
// of streams in flight each has one. Times lie in blocks that are never copied; a slice
// that doubles would leave as much behind as it holds.
type eventLog struct {
	n      int // events
	blocks []*[gapBlock]int64
	kinds  tape.KindCoder
	tok    []int64 // empty until an event has a running count
	choice []int32 // empty until a choice other than 0 is seen
}

// add logs an event that came gap after the one before.
func (l *eventLog) add(gap int64, m dialect.Mark) {
	at := l.n / gapBlock
	if at == len(l.blocks) {
		l.blocks = append(l.blocks, new([gapBlock]int64))
	}
	l.blocks[at][l.n%gapBlock] = gap
	l.n++
	l.kinds.Add(m.Kind)
	l.tok = logged(l.tok, l.n, m.Tok, dialect.Unknown)
	l.choice = logged(l.choice, l.n, m.Choice, 0)
}

// logged appends the value of event n to a column that is kept from its first value
// on that is not the usual one.
func logged[T comparable](column []T, n int, v, usual T) []T {
	if len(column) == 0 {
		if v == usual {
			return column
		}
		for range n - 1 {
			column = append(column, usual)
		}
	}
	return append(column, v)
}

// events is the log in a form that outlives it.
func (l *eventLog) events() tape.Events {
	if l.n == 0 {
		return tape.Events{}
	}
	e := tape.Events{DT: make([]int64, 0, l.n), Kind: l.kinds.Code()}
	for i := 0; len(e.DT) < l.n; i++ {
		e.DT = append(e.DT, l.blocks[i][:min(gapBlock, l.n-len(e.DT))]...)
	}
	if len(l.tok) > 0 {
		e.Tok = slices.Clone(l.tok)
	}
	if len(l.choice) > 0 {
		e.Choice = slices.Clone(l.choice)
	}
	return e
}

// reset empties the log, and keeps what memory an ordinary next one will want.
func (l *eventLog) reset() {
	if len(l.blocks) > keepBlocks {
		*l = eventLog{}
		return
	}
	l.kinds.Reset()
	l.n, l.tok, l.choice = 0, l.tok[:0], l.choice[:0]
}
