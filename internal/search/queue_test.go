package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"tokentape/internal/analysis/stat"
)

// queue is a server that takes one request after the other, service time 1/rate, under
// Poisson arrivals: M/D/1, simulated by Lindley's recursion. Its requests hang together
// as those of a real server near its limit do: a burst is felt for hundreds of them.
type queue struct {
	rate  float64 // requests/s that it can do
	limit int     // services that a request may wait
	r     *rand.Rand
}

// md1 is the share of requests that wait at most t services, a whole number, in M/D/1
// at load rho: Franx (Oper. Res. Lett. 29 (2001) 221) on the distribution of the number
// in the system, by sums of positive terms alone. (Erlang's formula of 1909 alternates,
// and has no digit left from t = 20 on.)
func md1(rho float64, t int) float64 {
	arrive := make([]float64, t+3) // Poisson, of one service
	more := make([]float64, t+3)   // than so many arrivals
	arrive[0] = math.Exp(-rho)
	for i := 1; i < len(arrive); i++ {
		arrive[i] = arrive[i-1] * rho / float64(i)
	}
	for i := range more {
		for l, x := i+1, arrive[i]; l < i+200; l++ {
			x *= rho / float64(l)
			more[i] += x
		}
	}
	p := []float64{1 - rho} // of so many in the system: what goes up over a level comes down
	for j := 1; j <= t+1; j++ {
		up := p[0] * more[j-1]
		for i := 1; i < j; i++ {
			up += p[i] * more[j-i]
		}
		p = append(p, up/arrive[0])
	}
	share, queue := 0.0, p[0]
	for n := range t + 1 {
		queue += p[n+1] // at most n wait
		share += queue * arrive[t-n]
	}
	return share
}

// truth is the highest rate at which the share is 95 %.
func (q *queue) truth() float64 {
	lo, hi := 0.01, 0.999
	for range 60 {
		if mid := (lo + hi) / 2; md1(mid, q.limit) >= 0.95 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo * q.rate
}

// look begins with an empty queue, as a run does.
func (q *queue) look(p Params, step Step, n int) Look {
	total := int(math.Round(float64(n) * step.Times))
	rho := step.At / q.rate
	series := make([]float64, total)
	var due, end [10]float64
	span := float64(total) / rho // services
	at, free := 0.0, 0.0
	for i := range series {
		at += q.r.ExpFloat64() / rho
		begin := max(at, free)
		free = begin + 1
		series[i] = (begin - at) / float64(q.limit)
		if k := int(at / span * 10); k < 10 {
			due[k]++
		}
		if k := int(free / span * 10); k < 10 {
			end[k]++
		}
	}
	f := ShareOf("within report.slo", series, p.Share)
	grow := make([]float64, 10)
	for i := range due {
		grow[i] = (due[i] - end[i]) / (span / q.rate / 10)
	}
	m, _ := stat.Mean(grow)
	sd, _ := stat.SD(grow)
	return Look{Step: step, Requests: int64(total), TookS: span / q.rate, Facts: []Fact{
		{Name: "backlog", Kind: KindBacklog, Value: &m, SE: sd / math.Sqrt(10), DF: 9, Offered: step.At}, f,
	}}
}

func (q *queue) search(p Params, n int) ([]Look, Verdict) {
	return runAll(p, func(step Step) Look { return q.look(p, step, n) })
}

// TestQueue: within 5 % of the closed-form truth in nine of ten searches at least, and
// above it by more next to never, where requests hang together and looks begin empty.
func TestQueue(t *testing.T) {
	for _, c := range []struct {
		limit int
		n     int
		off   float64 // near is within this
	}{
		{30, 8000, 0.05},
		// Where the share falls gently towards the limit (by 2.5 points over the last 5 % of
		// the rate, with fifty requests worth one), what is proved to hold lies farther below.
		{9, 10000, 0.06},
	} {
		rounds := 15
		if os.Getenv("TOKENTAPE_SLOW") != "" {
			rounds = 100
		}
		near, over, within := 0, 0, 0
		looks, units := 0, 0.0
		results := map[string]int{}
		worst, off := "", 0.0
		for i := range rounds {
			q := queue{rate: 20, limit: c.limit, r: rand.New(rand.NewPCG(uint64(i), 2))}
			truth := q.truth()
			p := params()
			p.From, p.To = 2*q.r.Float64()+2, 64
			ls, v := q.search(p, c.n)
			looks += len(ls)
			for _, l := range ls {
				units += l.Times
			}
			results[v.Result]++
			d := -1.0
			if v.At != nil {
				d = *v.At/truth - 1
			}
			switch {
			case d > 0.05:
				over++
			case d >= -c.off:
				near++
			}
			if v.At != nil && *v.At <= truth && (v.Above == nil || *v.Above >= truth || v.AboveIs != Fails) {
				within++
			}
			if d < -0.05 && os.Getenv("SHOW") != "" {
				t.Logf("truth %.4g, off by %.1f %%\n%s", truth, d*100, log(ls, v))
			}
			if math.Abs(d) > off {
				worst, off = fmt.Sprintf("truth %.4g, off by %.1f %%\n%s", truth, d*100, log(ls, v)), math.Abs(d)
			}
		}
		t.Logf("limit %d services: %d of %d near, %d above by more than 5 %%; bounds right: %d; %.1f looks, %.1f units each, %v\nthe worst: %s", c.limit, near, rounds, over, within, float64(looks)/float64(rounds), units/float64(rounds), results, worst)
		if near < rounds*9/10 || over > 0 || results[Found] < rounds*8/10 {
			t.Errorf("limit %d services: %d of %d near, %d above", c.limit, near, rounds, over)
		}
	}
}
