package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Engine serves requests with the time model of the package comment. It is safe
// for concurrent use.
type Engine struct {
	cfg    Config
	clk    *Clock
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	lanes  []*lane

	mu      sync.Mutex
	closed  bool
	waiting []*Stream // arrived, in order
	prefill []*Stream // admitted, prompt not wholly computed
	running []*Stream // in decode
	blocked bool      // a waiting request found no free slot while nothing else was to do
	freed   int64     // when a slot was last freed
	cache   *cache
	stats   tally
}

// lane is one timeline of steps.
type lane struct {
	prefill, decode bool
	wake            chan struct{}

	// The step in hand.
	start, end int64
	chunks     []chunk
	decoding   bool
}

type chunk struct {
	s *Stream
	n int64
}

// New starts an engine. The caller ends it with Close. It returns
// Config.Validate's error.
func New(cfg Config, clk *Clock) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, clk: clk, cache: newCache(cfg.CachePages, cfg.HostPages, cfg.StoragePages), stats: newTally()}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.lanes = []*lane{{prefill: true, decode: true}}
	if cfg.Disaggregated {
		e.lanes = []*lane{{prefill: true}, {decode: true}}
	}
	for _, l := range e.lanes {
		l.wake = make(chan struct{}, 1)
		e.wg.Go(func() { e.run(l) })
	}
	return e, nil
}

// Close stops the engine and ends all streams with ErrClosed. It returns when
// the engine's goroutines have ended.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, list := range [][]*Stream{e.waiting, e.prefill, e.running} {
		for _, s := range list {
			s.close()
		}
	}
	e.waiting, e.prefill, e.running = nil, nil, nil
}

// Submit hands a request to the engine; its arrival is now. A prompt without
// tokens and MaxTokens under 1 are the caller's error: it panics.
func (e *Engine) Submit(r Request) *Stream {
	if r.Prompt.Tokens < 1 || r.MaxTokens < 1 {
		panic("sim: a request needs a prompt token and an output token")
	}
	s := &Stream{
		req: r, notify: make(chan struct{}, 1), admitted: -1, prefillDone: -1,
		seed: mix(mix(e.cfg.Seed^r.Prompt.Hash) + r.Seed),
		Len:  r.MaxTokens, Length: true,
	}
	if !r.IgnoreEOS {
		if n := max(outputLen(s.seed, e.cfg.OutputMean, e.cfg.OutputCV), r.MinTokens, 1); n < s.Len {
			s.Len, s.Length = n, false
		}
	}
	e.mu.Lock()
	s.Arrival = e.clk.Now() // under the lock: the queue is in order of arrival
	if e.closed {
		s.closed = true
	} else {
		e.waiting = append(e.waiting, s)
	}
	e.mu.Unlock()
	e.lanes[0].poke()
	return s
}

// Flush empties the prefix cache. It reports false, and does nothing, while
// requests are queued or running, as SGLang does.
func (e *Engine) Flush() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting)+len(e.prefill)+len(e.running) > 0 {
		return false
	}
	e.cache.flush()
	return true
}

func (l *lane) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (e *Engine) run(l *lane) {
	defer e.clk.Lock()()
	t := e.clk.Now()
	for {
		if !e.begin(l, t) {
			select {
			case <-l.wake:
				t = min(t, e.clk.Now()) // a step of the past ended in the past, even if the clock's epoch was moved since
				continue
			case <-e.ctx.Done():
				return
			}
		}
		if e.clk.SleepUntil(e.ctx, l.end) != nil {
			return
		}
		e.finish(l)
		t = l.end
	}
}

// begin plans the lane's next step, which begins at t or, when there is nothing
// to do at t, as soon as there is. It reports false when nothing is known to do.
func (e *Engine) begin(l *lane, t int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reap(l, t)
	start, ok := e.start(l, t)
	if !ok {
		return false
	}
	l.start, l.end, l.chunks, l.decoding = start, start, l.chunks[:0], false
	if l.prefill {
		e.admit(start)
		e.planPrefill(l)
	}
	if l.decode && (len(l.chunks) == 0 || e.cfg.ChunkTokens > 0) {
		n := int64(0)
		for _, s := range e.running {
			if s.last <= start {
				n++
			}
		}
		if n > 0 {
			l.decoding = true
			l.end += e.cfg.DecodeBase + n*e.cfg.DecodePerSeq
		}
	}
	return true
}

// reap forgets cancelled requests: the slots they held are free from t on.
func (e *Engine) reap(l *lane, t int64) {
	drop := func(list []*Stream) []*Stream {
		kept := list[:0]
		for _, s := range list {
			if s.cancelled.Load() {
				e.stats.aborted++
				continue
			}
			kept = append(kept, s)
		}
		clear(list[len(kept):])
		return kept
	}
	if l.prefill {
		e.waiting = drop(e.waiting)
		e.prefill = drop(e.prefill)
	}
	if l.decode {
		n := len(e.running)
		if e.running = drop(e.running); len(e.running) < n {
			e.slotFreed(t)
		}
	}
}

func (e *Engine) slotFreed(t int64) {
	e.freed = t
	if e.cfg.Disaggregated {
		e.lanes[0].poke()
	}
}

// start is the earliest time, t or later, at which the lane has something to do.
func (e *Engine) start(l *lane, t int64) (start int64, ok bool) {
	at := func(x int64) {
		if x = max(x, t); !ok || x < start {
			start, ok = x, true
		}
	}
	if l.decode {
		for _, s := range e.running {
			if at(s.last); start == t {
				break
			}
		}
	}
	if l.prefill && len(e.prefill) > 0 {
		at(t)
	}
	if l.prefill && len(e.waiting) > 0 {
		if len(e.prefill)+len(e.running) < e.cfg.Slots {
			arrival := e.waiting[0].Arrival
			if e.blocked {
				arrival = max(arrival, e.freed)
			}
			at(arrival)
			e.blocked = false
		} else if !ok {
			e.blocked = true
		}
	}
	return start, ok
}

// admit moves requests that have arrived into free slots, first come first served.
func (e *Engine) admit(start int64) {
	n := 0
	for ; n < len(e.waiting) && len(e.prefill)+len(e.running) < e.cfg.Slots; n++ {
		s := e.waiting[n]
		if s.Arrival > start {
			break
		}
		cached, tiers := int64(0), [tierCount]int64{}
		if e.cfg.Cache {
			size, pages := int64(e.cfg.PageSize), s.req.Prompt.Pages
			pages = pages[:min(int64(len(pages)), (s.req.Prompt.Tokens-1)/size)] // the last token is always computed: its output is the first token
			n, in := e.cache.match(pages)
			cached = int64(n) * size
			for i := range in {
				tiers[i] = int64(in[i]) * size
			}
		}
		s.rest = s.req.Prompt.Tokens - cached
		s.mu.Lock()
		s.admitted, s.cached, s.tiers = start, cached, tiers
		s.mu.Unlock()
		e.prefill = append(e.prefill, s)
		e.stats.admitted(s, start, cached)
	}
	if n > 0 {
		e.waiting = slices.Delete(e.waiting, 0, n)
	}
}

func (e *Engine) planPrefill(l *lane) {
	if len(e.prefill) == 0 {
		return
	}
	left, sum := int64(e.cfg.ChunkTokens), int64(0)
	for _, s := range e.prefill {
		n := s.rest
		if e.cfg.ChunkTokens > 0 {
			if n = min(n, left-sum); n == 0 && s.rest > 0 {
				break
			}
		}
		l.chunks = append(l.chunks, chunk{s, n})
		sum += n
	}
	l.end += e.cfg.PrefillFixed + sum*e.cfg.PrefillPerToken
}

// finish gives out what the step has made.
func (e *Engine) finish(l *lane) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.running)
	if l.decoding {
		e.finishDecode(l, n)
	}
	for _, c := range l.chunks {
		if c.s.rest -= c.n; c.s.rest == 0 {
			e.finishPrefill(c.s, l.end)
		}
	}
	if len(l.chunks) > 0 {
		kept := e.prefill[:0]
		for _, s := range e.prefill {
			if s.rest > 0 {
				kept = append(kept, s)
			}
		}
		clear(e.prefill[len(kept):])
		e.prefill = kept
		if e.cfg.Disaggregated {
			e.lanes[1].poke()
		}
	}
	e.stats.step(l)
}

func (e *Engine) finishPrefill(s *Stream, t int64) {
	if e.cfg.Cache {
		e.cache.insert(s.req.Prompt.Pages)
	}
	s.mu.Lock()
	s.prefillDone = t
	s.mu.Unlock()
	if e.emit(s, t, 1) {
		e.slotFreed(t)
	} else {
		e.running = append(e.running, s)
	}
}

func (e *Engine) finishDecode(l *lane, n int) {
	kept := e.running[:0]
	for _, s := range e.running {
		if s.last > l.start { // joined while this step ran
			kept = append(kept, s)
			continue
		}
		k := int64(1)
		if draft := e.cfg.TokensPerEvent - 1; draft > 0 && !s.cancelled.Load() {
			rate := cmp.Or(s.req.AcceptRate, e.cfg.AcceptRate)
			a := min(accept(s.seed, s.done, draft, rate), int(s.Len-s.done-1))
			s.mu.Lock()
			s.drafted += int64(draft)
			s.accepted += int64(a)
			if s.accepting == nil {
				s.accepting = make([]int64, draft+1)
			}
			s.accepting[a]++
			s.mu.Unlock()
			e.stats.drafted, e.stats.accepted = e.stats.drafted+int64(draft), e.stats.accepted+int64(a)
			k += int64(a)
		}
		if !e.emit(s, l.end, k) {
			kept = append(kept, s)
		}
	}
	clear(e.running[len(kept):])
	e.running = kept
	if len(kept) < n {
		e.slotFreed(l.end)
	}
}

// emit gives k tokens to a stream at time t and reports whether it has ended.
func (e *Engine) emit(s *Stream, t, k int64) (ended bool) {
	if s.cancelled.Load() {
		return false // reaped at the next step
	}
	s.done += k
	ended = s.done == s.Len
	e.stats.emitted(s, t, k, ended)
	s.last = t
	if ended && e.cfg.Cache {
		e.cache.insert(s.pages())
	}
	s.push(Event{T: t, N: int32(k)}, ended)
	return ended
}
