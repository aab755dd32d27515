package run

import (
	"tokentape/internal/exchange"
	"tokentape/internal/plan"
	"tokentape/internal/workload"
)

// Bounds of what is kept of rows that a plan sends again, in bytes; a row takes some
// beside its body.
const (
	knownBytes = 64 << 20
	besideBody = 512
)

// known keeps bodies of dataset rows that will be sent again, so that each is read and
// encoded once. What is full keeps what it has: rows that come in turn gain nothing by
// making room. It is for the one goroutine that stages rows.
type known struct {
	made map[madeKey]made
	left int64 // bytes
}

type madeKey struct{ item, output int64 }

// made is what a job has of its dataset row alone.
type made struct {
	ref   workload.Ref
	ready exchange.Prepared
	input *inputCount
	group string
}

// newKnown keeps bodies of p's rows; nil when no row comes twice.
func newKnown(p *plan.Plan) *known {
	if p.Repeats() == 0 {
		return nil
	}
	return &known{made: map[madeKey]made{}, left: knownBytes}
}

func (a *known) find(row plan.Row) (m made, ok bool) {
	if a == nil {
		return m, false
	}
	m, ok = a.made[madeKey{row.Item, row.Output}]
	return m, ok
}

// keep keeps what was made for row. counted: its prompt is counted, or need not be.
func (a *known) keep(row plan.Row, j *job, counted bool) {
	if a == nil || !counted {
		return
	}
	size := j.ready.Size() + besideBody
	if size > a.left {
		return
	}
	a.left -= size
	a.made[madeKey{row.Item, row.Output}] = made{j.item.Ref, *j.ready, j.input, j.group}
}
