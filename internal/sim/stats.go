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

// SGLang's bucket bounds.
var (
	boundsTTFT = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
	boundsE2E  = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400}
	boundsITL  = []float64{.002, .004, .006, .008, .010, .015, .020, .025, .030, .035, .040, .060, .080, .100, .200, .400, .600, .800, 1, 2, 4, 6, 8}
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
	TTFT, ITL, E2E   Histogram
}

type tally struct {
	requests, aborted, prompt, cached, generated int64
	stepPrompt, stepCached                       int64 // since the last prefill step
	hitRate                                      float64
	ttft, itl, e2e                               Histogram

	windowStart, windowTokens int64
	windowSteps               int
	throughput                float64
	decodeTokens, decodeSlots int64
}

const throughputWindow = 40 // decode steps, SGLang's decode_log_interval

func (t *tally) admitted(s *Stream, cached int64) {
	t.stepPrompt += s.req.Prompt.Tokens
	t.stepCached += cached
}

func (t *tally) emitted(s *Stream, at, k int64, ended bool) {
	if s.done == k {
		t.ttft.observe(float64(at-s.Arrival)/1e9, 1)
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
		TTFT: t.ttft.clone(), ITL: t.itl.clone(), E2E: t.e2e.clone(),
	}
	for _, r := range e.running {
		s.UsedTokens += r.req.Prompt.Tokens + r.done
	}
	for _, r := range e.prefill {
		s.UsedTokens += r.req.Prompt.Tokens - r.rest
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
	return tally{ttft: newHistogram(boundsTTFT), itl: newHistogram(boundsITL), e2e: newHistogram(boundsE2E)}
}
