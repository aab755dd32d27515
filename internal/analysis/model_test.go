package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tokentape/tape"
)

// model is a load and a server whose runs are made by arithmetic alone: the
// engine of internal/sim without its goroutines (TestModelIsTheEngine), fed by
// the loops that tokentape knows. A run of it is a tape.
type model struct {
	name  string
	about string
	// unseen loads had no part in finding the rules.
	unseen bool
	seed   uint64 // of the model; replicates add theirs
	slots  int
	// Cost of a step, in nanoseconds, as in sim.Config.
	prefillFixed, prefillToken, decodeBase, decodeSeq int64
	jitter                                            float64 // coefficient of variation of a step's time, log-normal
	// Above fast sequences a decode step takes half as long again; 0: one speed.
	fast int
	// alone: no engine, every request is served as if it were the only one, its
	// TTFT drawn from a log-normal distribution with mean 200 ms and this
	// coefficient of variation.
	alone float64

	rate        float64 // arrivals a second; 0: closed loop
	burstiness  float64 // shape of the gamma distribution between arrivals; 0: Poisson, which is 1
	concurrency int
	warmup      int
	tail        bool

	outMean, outCV float64 // output tokens, log-normal
	prompt, cold   int64   // uncached prompt tokens, of coldShare of the requests
	coldShare      float64

	slo string // JSON of report.slo
}

// job is one request on its way.
type job struct {
	at     int64 // release
	prompt int64
	out    int
	times  []int64 // of its tokens, from the epoch
	first  int64   // alone: TTFT
	gap    int64   // alone: between tokens
}

// logNormal draws from the log-normal distribution of that mean and coefficient
// of variation.
func logNormal(r *rand.Rand, mean, cv float64) float64 {
	if cv == 0 {
		return mean
	}
	v := math.Log1p(cv * cv)
	return mean * math.Exp(math.Sqrt(v)*r.NormFloat64()-v/2)
}

// gap draws the seconds between two arrivals. Gamma of shape ½ is the square of a
// normal.
func (m *model) gap(r *rand.Rand) float64 {
	switch m.burstiness {
	case 0:
		return r.ExpFloat64() / m.rate
	case 0.5:
		z := r.NormFloat64()
		return z * z / m.rate
	}
	panic("no such burstiness")
}

// run makes one run of n measured requests.
func (m *model) run(n int, seed uint64) *script {
	r := rand.New(rand.NewPCG(m.seed, seed))
	all := n + m.warmup
	if m.tail {
		all += 4 * m.concurrency
	}
	jobs := make([]job, all)
	at := 0.0
	for i := range jobs {
		j := &jobs[i]
		if m.rate > 0 {
			if i > 0 {
				at += m.gap(r)
			}
			j.at = int64(at * 1e9)
		}
		j.prompt = m.prompt
		if m.coldShare > 0 && r.Float64() < m.coldShare {
			j.prompt = m.cold
		}
		j.out = int(max(1, math.Round(logNormal(r, m.outMean, m.outCV))))
		if m.alone > 0 {
			j.first, j.gap = int64(logNormal(r, 200e6, m.alone)), int64(logNormal(r, 10e6, 0.2))
		}
	}
	if m.alone > 0 {
		for i := range jobs {
			j := &jobs[i]
			j.times = make([]int64, j.out)
			for k := range j.times {
				j.times[k] = j.at + j.first + int64(k)*j.gap
			}
		}
	} else {
		m.serve(jobs, r)
	}
	loop := fmt.Sprintf(`"requests":%d,"concurrency":%d`, n, m.concurrency)
	if m.rate > 0 {
		loop = fmt.Sprintf(`"requests":%d,"rate":%g`, n, m.rate)
	}
	s := &script{reason: tape.ReasonCompleted, plan: int64(all), spec: fmt.Sprintf(`{"load":{%s},"report":{"slo":%s}}`, loop, m.slo)}
	for i := range jobs {
		q := jobs[i].record(int64(i))
		if m.rate > 0 {
			q.TDue = q.TReleased
		}
		switch {
		case i < m.warmup:
			q.Phase = tape.PhaseWarmup
		case i >= m.warmup+n:
			q.Phase = tape.PhaseTail
		}
		s.reqs = append(s.reqs, q)
	}
	return s
}

// serve gives every job its token times, by the rules of package sim: one
// timeline, a prefill step of all that were admitted before anything decodes.
func (m *model) serve(jobs []job, r *rand.Rand) {
	var waiting, running, prefill []int
	next, open := 0, m.rate > 0
	arrive := func(t int64) {
		for open && next < len(jobs) && jobs[next].at <= t {
			waiting, next = append(waiting, next), next+1
		}
	}
	release := func(t int64) { // a slot of the closed loop is free
		if !open && next < len(jobs) {
			jobs[next].at = t
			waiting, next = append(waiting, next), next+1
		}
	}
	for range m.concurrency {
		release(0)
	}
	t := int64(0)
	emit := func(i int) (ended bool) {
		j := &jobs[i]
		j.times = append(j.times, t)
		if len(j.times) == j.out {
			release(t)
			return true
		}
		return false
	}
	for {
		if len(waiting)+len(running) == 0 {
			if !open || next == len(jobs) {
				return
			}
			t = max(t, jobs[next].at)
		}
		arrive(t)
		prefill = prefill[:0]
		var tokens int64
		for len(waiting) > 0 && len(running)+len(prefill) < m.slots {
			prefill, waiting = append(prefill, waiting[0]), waiting[1:]
			tokens += jobs[prefill[len(prefill)-1]].prompt
		}
		if len(prefill) > 0 {
			t += m.step(r, m.prefillFixed+tokens*m.prefillToken)
			for _, i := range prefill {
				jobs[i].times = make([]int64, 0, jobs[i].out)
				if !emit(i) {
					running = append(running, i)
				}
			}
			continue
		}
		d := m.decodeBase + int64(len(running))*m.decodeSeq
		if m.fast > 0 && len(running) > m.fast {
			d += d / 2
		}
		t += m.step(r, d)
		kept := running[:0]
		for _, i := range running {
			if !emit(i) {
				kept = append(kept, i)
			}
		}
		running = kept
	}
}

func (m *model) step(r *rand.Rand, d int64) int64 {
	if m.jitter == 0 {
		return d
	}
	return max(1, int64(logNormal(r, float64(d), m.jitter)))
}

// record is the job as a line of a tape.
func (j *job) record(seq int64) *tape.Request {
	some := tape.Some[int64]
	n := len(j.times)
	q := &tape.Request{
		Type: "request", Seq: seq, Phase: tape.PhaseMeasure, Outcome: tape.OutcomeOK, Attempts: 1, Finish: "stop",
		Ref: tape.Ref{Row: seq}, HTTP: tape.HTTP{Status: 200, Proto: "HTTP/1.1"},
		TReady: some(j.at), TReleased: some(j.at), TConn: some(j.at), TWroteFirst: some(j.at), TWrote: some(j.at),
		TFirstEvent: some(j.times[0]), TFirstToken: some(j.times[0]), TFirstVisible: some(j.times[0]), TLastToken: some(j.times[n-1]), TEnd: some(j.times[n-1]),
		Tokens: tape.Tokens{Input: some(j.prompt), InputSource: tape.SourceUsage, Output: some(int64(n)), OutputSource: tape.SourceUsage},
	}
	q.Events.DT = make([]int64, n, n+1)
	before := j.at
	for k, t := range j.times {
		q.Events.DT[k] = t - before
		before = t
	}
	q.Events.DT = append(q.Events.DT, 0)
	q.Events.Kind = "c d"
	if n > 1 {
		q.Events.Kind = fmt.Sprintf("c%d d", n)
	}
	return q
}
