package plan

import (
	"fmt"
	"sort"
	"sync"

	"tokentape/tape"
)

// drawer draws the sessions of a generator as they are asked for, and keeps what
// was drawn: 8 bytes a turn, and 16 a session.
type drawer struct {
	mu     sync.Mutex
	turns  []int32 // of each dataset row
	pause  func() int64
	first  []int64 // place of each session's first turn
	items  []int64 // dataset row of each session
	thinks []int64 // of each turn
	ended  bool
}

// drawOver gives a generator of sessions the number of turns of each dataset row.
func (p *Plan) drawOver(turns []int32) error {
	for i, n := range turns {
		if n < 1 {
			return issue("workload.dataset", "", "row %d asks nothing", i)
		}
	}
	p.draws = &drawer{turns: turns, pause: p.Params.pauses()}
	p.warmup = 0
	for s := range p.Params.Warmup {
		r, ok := p.draw(s)
		if !ok {
			return fewRows("load.warmup", "%d warm-up sessions need more dataset rows than the %d there are", p.Params.Warmup, p.Params.DataRows)
		}
		p.warmup += int64(turns[r.Item])
	}
	return nil
}

// drawTurn is row i of a generator of sessions.
func (p *Plan) drawTurn(i int64) (Row, bool) {
	d := p.draws
	if d == nil {
		return Row{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for int64(len(d.thinks)) <= i {
		if d.ended {
			return Row{}, false
		}
		r, ok := p.draw(int64(len(d.first)))
		if !ok || len(d.thinks) >= MaxRows {
			d.ended = true
			return Row{}, false
		}
		d.first, d.items = append(d.first, int64(len(d.thinks))), append(d.items, r.Item)
		for turn := range d.turns[r.Item] {
			think := int64(0)
			if turn > 0 {
				think = d.pause()
			}
			d.thinks = append(d.thinks, think)
		}
	}
	s := int64(sort.Search(len(d.first), func(k int) bool { return d.first[k] > i }) - 1)
	r := Row{Seq: i, Due: NoDue, Item: d.items[s], Output: p.Params.Output, Phase: tape.PhaseMeasure,
		Session: s + 1, Turn: int(i - d.first[s]), Think: d.thinks[i]}
	if s < p.Params.Warmup {
		r.Phase = tape.PhaseWarmup
	}
	return r, true
}

// Turns is how many rows of the plan belong to the session that row i begins.
func (p *Plan) Turns(i int64) int {
	first, _ := p.At(i)
	n := 1
	for {
		r, ok := p.At(i + int64(n))
		if !ok || r.Session != first.Session || r.Turn != n {
			return n
		}
		n++
	}
}

// talkOver makes of a plan of sessions one of turns: the rows of a session stand
// together, in order, the first with the due time of the session, the others after
// a pause that is drawn in the order of the rows. A cap on turns cuts the plan off
// behind its last measured row.
func (p *Plan) talkOver(turns []int32) error {
	q := p.Params
	if !q.Sessions {
		return nil
	}
	sessions := p.rows
	p.rows, p.talks, p.warmup = make([]row, 0, len(sessions)), make([]talk, 0, len(sessions)), 0
	pause := q.pauses()
	var measured int64
plan:
	for i, r := range sessions {
		n := turns[r.item]
		if n < 1 {
			return issue("workload.dataset", "", "row %d asks nothing", r.item)
		}
		for turn := range int(n) {
			if q.Turns > 0 && measured == q.Turns {
				p.cut = turn > 0
				break plan
			}
			t := talk{session: int64(i) + 1, turn: turn}
			if turn > 0 {
				r.due, t.think = NoDue, pause()
			}
			if r.warmup {
				p.warmup++
			} else {
				measured++
			}
			if p.rows, p.talks = append(p.rows, r), append(p.talks, t); len(p.rows) > MaxRows {
				return tooMany(q, int64(len(p.rows)))
			}
		}
	}
	if byTime := q.Open() && q.Duration > 0 || q.Arrivals == replay; q.Requests == 0 && !byTime && measured < q.Turns {
		return fewRows("load.requests", "%d requests are more than the %d turns of the %d sessions that the dataset has beside %d of warm-up", q.Turns, measured, int64(len(sessions))-q.Warmup, q.Warmup)
	}
	return nil
}

// CheckTurns holds the sessions of a plan that was read against the number of turns
// of each dataset row; a generator of sessions draws by them from then on.
func (p *Plan) CheckTurns(turns []int32) error {
	if p.Params.Sessions && p.Kind == KindGenerator {
		return p.drawOver(turns)
	}
	for i, t := range p.talks {
		last := i+1 == len(p.talks)
		if !last && p.talks[i+1].turn > 0 {
			continue
		}
		n := int(turns[p.rows[i].item])
		if last && p.Params.Turns > 0 && t.turn+1 < n {
			p.cut = true
		} else if t.turn+1 != n {
			return fmt.Errorf("session %d of the plan has %d turns, but row %d of the dataset has %d; was workload.history another one?", t.session, t.turn+1, p.rows[i].item, n)
		}
	}
	return nil
}
