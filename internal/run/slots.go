package run

import (
	"context"
	"sync"

	"tokentape/internal/clock"
	"tokentape/internal/plan"
)

// slot is a place under a cap, with the moment at which it became free.
type slot struct {
	freedAt int64
	id      int
}

// slots are the places under a cap, which may open and close while a run goes on;
// nil: no cap.
type slots struct {
	free chan slot

	mu      sync.Mutex
	made    int // ids given so far
	open    int // wanted
	surplus int // places that close when they become free
}

// newSlots makes room for n places, none of them open yet.
func newSlots(n int64) *slots {
	if n <= 0 {
		return nil
	}
	return &slots{free: make(chan slot, n)}
}

// take waits for a place until ctx is done.
func (p *slots) take(ctx context.Context) (slot, error) {
	if err := context.Cause(ctx); err != nil || p == nil {
		return slot{}, err
	}
	select {
	case s := <-p.free:
		return s, context.Cause(ctx) // the request that freed it may have broken a rule
	default:
	}
	select {
	case s := <-p.free:
		return s, context.Cause(ctx)
	case <-ctx.Done():
		return slot{}, context.Cause(ctx)
	}
}

// put gives a place back.
func (p *slots) put(s slot) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.surplus > 0 {
		p.surplus--
		return
	}
	p.free <- s
}

// resize has n places from now on, no more than there is room for. Places that
// are taken close when they are given back.
func (p *slots) resize(n int, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.open < n; p.open++ {
		if p.surplus > 0 {
			p.surplus-- // it was to close, and stays
			continue
		}
		p.free <- slot{now, p.made}
		p.made++
	}
	for ; p.open > n; p.open-- {
		select {
		case <-p.free:
		default:
			p.surplus++
		}
	}
}

// follow opens the places of a closed loop as its plan says: at once, along a
// ramp, one after the other, or by stages. Due times are none there, so a place is
// free from when it was opened. base is the moment from which the plan counts.
// The function it returns ends what is still to come.
func (p *slots) follow(clk *clock.Clock, pl *plan.Plan, base int64) (end func()) {
	steps := pl.SlotSteps()
	if steps == nil {
		opens := pl.SlotOpens()
		if opens == nil {
			p.resize(cap(p.free), base)
			return func() {}
		}
		for i, at := range opens {
			steps = append(steps, plan.SlotStep{At: at, N: int64(i + 1)})
		}
	}
	var timers []*clock.Timer
	for _, s := range steps {
		if s.At == 0 {
			p.resize(int(s.N), base)
			continue
		}
		timers = append(timers, clk.AfterFunc(base+s.At-clk.Now(), func() { p.resize(int(s.N), clk.Now()) }))
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}
