package plan

import "tokentape/tape"

// tail is the arrival process going on after the last planned row.
type tail struct {
	sched *schedule
	shift int64 // a plan edited after it was saved may end elsewhere
	dues  []int64
}

// TailRows is how many tail rows the dataset can give; −1: no end, because rows
// cycle; 0 for a generator.
func (p *Plan) TailRows() int64 {
	switch {
	case p.Kind == KindGenerator, p.Params.Sessions, p.Params.Arrivals == replay:
		return 0
	case p.Params.Repeat == RepeatCycle:
		return -1
	}
	return max(p.Params.DataRows-int64(len(p.rows)), 0)
}

// Tail is the i-th unmeasured row (from 0) after the last planned one: Seq goes
// on from the plan, due times from its arrival process (NoDue in a closed loop),
// dataset rows from those not yet used. ok is false when the dataset has none
// left. A generator has no tail, since it never ends by itself, nor have sessions and
// traces. Rows are drawn as
// they are asked for: one goroutine at a time.
func (p *Plan) Tail(i int64) (r Row, ok bool) {
	if n := p.TailRows(); i < 0 || n >= 0 && i >= n {
		return Row{}, false
	}
	q, n := p.Params, int64(len(p.rows))
	r = Row{Seq: n + i, Due: NoDue, Output: q.Output, Phase: tape.PhaseTail}
	if p.mix == nil {
		r.Item = p.order.item((n + i) % q.DataRows)
	} else if r.Item, ok = p.mix.item(n + i); !ok {
		return Row{}, false // that dataset has none left
	}
	if q.Open() {
		r.Due = p.tailDue(i)
	}
	return r, true
}

func (p *Plan) tailDue(i int64) int64 {
	if p.tail == nil {
		t := &tail{sched: newSchedule(p.Params)}
		var last int64
		for range p.rows {
			last = t.sched.next()
		}
		t.shift = p.rows[len(p.rows)-1].due - last
		p.tail = t
	}
	for int64(len(p.tail.dues)) <= i {
		p.tail.dues = append(p.tail.dues, p.tail.sched.next()+p.tail.shift)
	}
	return p.tail.dues[i]
}
