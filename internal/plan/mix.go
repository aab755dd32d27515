package plan

import (
	"math"
	"sync"
)

// Part is one dataset of a mix.
type Part struct {
	Rows   int64   `json:"rows"`
	Weight float64 `json:"weight"` // its share of the rows is Weight ÷ Σ Weight
}

// mixer chooses the dataset of each row of the plan, by weight, and takes the next
// row of that dataset. Places count in the order of the plan; which datasets are
// drawn depends on the seed and the weights alone.
type mixer struct {
	q     Params
	order []order // of each part

	mu    sync.Mutex
	rng   *rng
	next  []int64 // rows taken of each part
	items []int64 // by place; −1 from where a part had no rows left
	short int     // that part
}

func newMixer(q Params) *mixer {
	if len(q.Parts) == 0 {
		return nil
	}
	m := &mixer{q: q, rng: newRNG(q.MixSeed, "mix"), next: make([]int64, len(q.Parts)), short: -1}
	for i, p := range q.Parts {
		one := q
		one.DataRows, one.OrderSeed = p.Rows, q.OrderSeed+int64(i) // equal files are not to be shuffled alike
		m.order = append(m.order, newOrder(one))
	}
	return m
}

// item is the dataset row at a place; ok is false from the first place on whose
// dataset has no row left.
func (m *mixer) item(place int64) (item int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for int64(len(m.items)) <= place {
		if m.short >= 0 {
			return 0, false
		}
		k := m.draw()
		rows := m.q.Parts[k].Rows
		if m.next[k] >= rows && m.q.Repeat == RepeatNone {
			m.short = k
			return 0, false
		}
		var before int64
		for _, p := range m.q.Parts[:k] {
			before += p.Rows
		}
		m.items = append(m.items, before+m.order[k].item(m.next[k]%rows))
		m.next[k]++
	}
	return m.items[place], true
}

// draw chooses a part.
func (m *mixer) draw() int {
	if len(m.q.Parts) == 1 {
		return 0
	}
	var sum float64
	for _, p := range m.q.Parts {
		sum += p.Weight
	}
	at := float64(m.rng.uniform() * sum)
	for k, p := range m.q.Parts {
		if at -= p.Weight; at < 0 {
			return k
		}
	}
	return len(m.q.Parts) - 1
}

// fillMixed gives every row its item. Warm-up rows take the last places, so that
// the measured rows do not depend on how many there are.
func (p *Plan) fillMixed() error {
	q := p.Params
	n := int64(len(p.rows)) - q.Warmup
	for i := range p.rows {
		at := int64(i) - q.Warmup
		if at < 0 {
			at += q.Warmup + n
		}
		item, ok := p.mix.item(at)
		if !ok {
			return fewRows("workload.mix", "dataset %d of the mix (from 0) has %d rows, and %d requests need more of it", p.mix.short, q.Parts[p.mix.short].Rows, len(p.rows))
		}
		p.rows[i].item = item
	}
	return nil
}

func (q Params) checkParts() error {
	if len(q.Parts) == 0 {
		return nil
	}
	var rows int64
	for i, p := range q.Parts {
		if p.Rows < 1 || p.Rows > q.DataRows || !(p.Weight > 0) || math.IsInf(p.Weight, 0) {
			return issue("workload.mix", "", "dataset %d of the mix: %d rows with weight %v", i, p.Rows, p.Weight)
		}
		rows += p.Rows
	}
	switch {
	case rows != q.DataRows:
		return issue("workload.mix", "", "the datasets of the mix have %d rows, the plan says %d", rows, q.DataRows)
	case q.Arrivals == replay:
		return issue("workload.mix", "", "replay takes the times of one trace")
	}
	return nil
}
