package sim

// Histogram is a Prometheus histogram: Counts[i] observations at or below
// Bounds[i] and above the bound before it, the last beyond all bounds.
type Histogram struct {
	Bounds []float64 // seconds
	Counts []int64
	Sum    float64
}

func newHistogram(bounds []float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]int64, len(bounds)+1)}
}

func (h *Histogram) observe(seconds float64, n int64) {
	i := 0
	for i < len(h.Bounds) && seconds > h.Bounds[i] {
		i++
	}
	h.Counts[i] += n
	h.Sum += seconds * float64(n)
}

func (h *Histogram) clone() Histogram {
	c := *h
	c.Counts = append([]int64(nil), h.Counts...)
	return c
}

// minus is what was observed since before, which h goes on from.
func (h *Histogram) minus(before Histogram) Histogram {
	d := h.clone()
	for i := range d.Counts {
		d.Counts[i] -= before.Counts[i]
	}
	d.Sum -= before.Sum
	return d
}

// SGLang's bucket bounds.
var (
	boundsTTFT  = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
	boundsE2E   = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400}
	boundsQueue = []float64{0, .1, .2, .5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000}
	boundsITL   = []float64{.002, .004, .006, .008, .010, .015, .020, .025, .030, .035, .040, .060, .080, .100, .200, .400, .600, .800, 1, 2, 4, 6, 8}
)

// Stats are counters and gauges at one moment. All latencies are from arrival in
// the engine, at scheduled times.
type Stats struct {
	Running, Queue   int   // requests that hold a slot; that wait for one
	Requests         int64 // finished
	Aborted          int64
	PromptTokens     int64   // of finished requests, as SGLang counts
	CachedTokens     int64   // of finished requests
	GenerationTokens int64   // of finished requests
	UsedTokens       int64   // prompt and output tokens of the running requests
	CachePages       int     // pages in the prefix cache
	CacheHitRate     float64 // of the last prefill step, 0..1
	GenThroughput    float64 // tokens/s over the last 40 decode steps; 0 when idle
	AcceptLength     float64 // mean tokens a decode step yielded for a request; 0 without speculation
	AcceptRate       float64 // accepted ÷ drafted tokens; 0 without speculation
	TTFT, ITL, E2E   Histogram
	QueueTime        Histogram // from arrival to a slot

	// Tokens of steps as they end, of all requests: computed in prefill, taken from the
	// cache when a request was admitted, made in decode.
	PrefillComputed, PrefillCached, Decoded int64

	// What prefill and decode have of the above when each is a server of its own.
	Prefill, Decode NodeStats
}

// NodeStats are the part of Stats that a prefill or a decode server would tell. A
// prefill server is done with a request when it has made the first token.
type NodeStats struct {
	Running          int   // requests in its steps
	Ahead            int   // decode: requests that hold a slot and are still in prefill
	Requests         int64 // finished there
	PromptTokens     int64 // of these
	CachedTokens     int64 // of these
	GenerationTokens int64 // of these
	UsedTokens       int64
	E2E              Histogram // from arrival until it was done there
}

// Since is s with counters and histograms as if they had begun at before, an earlier
// copy. Gauges stay.
func (s Stats) Since(before *Stats) Stats {
	s.Requests -= before.Requests
	s.Aborted -= before.Aborted
	s.PromptTokens -= before.PromptTokens
	s.CachedTokens -= before.CachedTokens
	s.GenerationTokens -= before.GenerationTokens
	s.PrefillComputed -= before.PrefillComputed
	s.PrefillCached -= before.PrefillCached
	s.Decoded -= before.Decoded
	s.TTFT, s.ITL, s.E2E, s.QueueTime = s.TTFT.minus(before.TTFT), s.ITL.minus(before.ITL), s.E2E.minus(before.E2E), s.QueueTime.minus(before.QueueTime)
	s.Prefill, s.Decode = s.Prefill.since(&before.Prefill), s.Decode.since(&before.Decode)
	return s
}

func (n NodeStats) since(before *NodeStats) NodeStats {
	n.Requests -= before.Requests
	n.PromptTokens -= before.PromptTokens
	n.CachedTokens -= before.CachedTokens
	n.GenerationTokens -= before.GenerationTokens
	n.E2E = n.E2E.minus(before.E2E)
	return n
}

type tally struct {
	requests, aborted, prompt, cached, generated int64
	stepPrompt, stepCached                       int64 // since the last prefill step
	hitRate                                      float64
	ttft, itl, e2e, queue                        Histogram

	prefilled                      NodeStats // its counters
	prefillComputed, prefillCached int64
	drafted, accepted              int64

	windowStart, windowTokens int64
	windowSteps               int
	throughput                float64
	decodeTokens, decodeSlots int64
}

const throughputWindow = 40 // decode steps, SGLang's decode_log_interval

func (t *tally) admitted(s *Stream, start, cached int64) {
	t.queue.observe(float64(start-s.Arrival)/1e9, 1)
	t.prefillCached += cached
	t.stepPrompt += s.req.Prompt.Tokens
	t.stepCached += cached
}

func (t *tally) emitted(s *Stream, at, k int64, ended bool) {
	if s.done == k {
		t.ttft.observe(float64(at-s.Arrival)/1e9, 1)
		t.prefilled.Requests++
		t.prefilled.PromptTokens += s.req.Prompt.Tokens
		t.prefilled.CachedTokens += s.cached
		t.prefilled.GenerationTokens += k
		t.prefilled.E2E.observe(float64(at-s.Arrival)/1e9, 1)
	} else {
		t.itl.observe(float64(at-s.last)/1e9/float64(k), k)
		t.windowTokens += k
		t.decodeTokens += k
		t.decodeSlots++
	}
	if ended {
		t.requests++
		t.prompt += s.req.Prompt.Tokens
		t.generated += s.done
		t.cached += s.cached // written under the engine's lock
		t.e2e.observe(float64(at-s.Arrival)/1e9, 1)
	}
}

func (t *tally) step(l *lane) {
	if t.stepPrompt > 0 {
		t.hitRate = float64(t.stepCached) / float64(t.stepPrompt)
		t.stepPrompt, t.stepCached = 0, 0
	}
	for _, c := range l.chunks {
		t.prefillComputed += c.n
	}
	if !l.decoding {
		return
	}
	if t.windowSteps == 0 {
		t.windowStart = l.start
	}
	if t.windowSteps++; t.windowSteps == throughputWindow {
		if d := l.end - t.windowStart; d > 0 {
			t.throughput = float64(t.windowTokens) / (float64(d) / 1e9)
		}
		t.windowSteps, t.windowTokens = 0, 0
	}
}

// Stats is a copy of the present counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &e.stats
	s := Stats{
		Running: len(e.prefill) + len(e.running), Queue: len(e.waiting),
		Requests: t.requests, Aborted: t.aborted,
		PromptTokens: t.prompt, CachedTokens: t.cached, GenerationTokens: t.generated,
		CachePages: e.cache.len(), CacheHitRate: t.hitRate, GenThroughput: t.throughput,
		TTFT: t.ttft.clone(), ITL: t.itl.clone(), E2E: t.e2e.clone(), QueueTime: t.queue.clone(),
		PrefillComputed: t.prefillComputed, PrefillCached: t.prefillCached, Decoded: t.decodeTokens,
		Prefill: t.prefilled,
		Decode:  NodeStats{Requests: t.requests, PromptTokens: t.prompt, CachedTokens: t.cached, GenerationTokens: t.generated, E2E: t.e2e.clone()},
	}
	s.Prefill.E2E = t.prefilled.E2E.clone()
	s.Prefill.Running, s.Decode.Running, s.Decode.Ahead = len(e.prefill), len(e.running), len(e.prefill)
	for _, r := range e.running {
		s.Decode.UsedTokens += r.req.Prompt.Tokens + r.done
	}
	for _, r := range e.prefill {
		s.Prefill.UsedTokens += r.req.Prompt.Tokens - r.rest
	}
	s.UsedTokens = s.Prefill.UsedTokens + s.Decode.UsedTokens
	if t.drafted > 0 {
		s.AcceptRate = float64(t.accepted) / float64(t.drafted)
	}
	if s.Running == 0 {
		s.GenThroughput = 0
	}
	if e.cfg.TokensPerEvent > 1 && t.decodeSlots > 0 {
		s.AcceptLength = float64(t.decodeTokens) / float64(t.decodeSlots)
	}
	return s
}

func newTally() tally {
	return tally{ttft: newHistogram(boundsTTFT), itl: newHistogram(boundsITL), e2e: newHistogram(boundsE2E), queue: newHistogram(boundsQueue), prefilled: NodeStats{E2E: newHistogram(boundsE2E)}}
}
