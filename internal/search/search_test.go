package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tokentape/internal/analysis/stat"
)

// server is a made-up one: of requests at a load so many are good, in clusters.
type server struct {
	share   func(x float64) float64
	cluster float64 // mean length of what hangs together, 1: nothing
	grows   func(x float64) bool
	client  func(x float64) bool
	fails   func(x float64) int64
	r       *rand.Rand
}

// look makes one look of n requests a unit.
func (s *server) look(p Params, step Step, n int) Look {
	l := Look{Step: step, TookS: p.estimate(step, nil)}
	total := int(math.Round(float64(n) * step.Times))
	l.Requests = int64(total)
	if s.client != nil && s.client(step.At) {
		l.Client = "the client's processors were full"
		return l
	}
	share := s.share(step.At)
	series := make([]float64, total)
	good := int64(0)
	at := s.r.Float64() < share
	for i := range series {
		if s.cluster <= 1 || s.r.Float64() < 1/s.cluster {
			at = s.r.Float64() < share
		}
		if at {
			series[i], good = 1, good+1
		}
	}
	l.Facts = append(l.Facts, Fact{Name: "within report.slo", Kind: KindShare, Op: ">=", Limit: p.Share, Good: good, N: int64(total), NEff: stat.EffectiveSize(series)})
	backlog := 0.0
	if s.grows != nil && s.grows(step.At) {
		backlog = 0.1 * step.At
	}
	l.Facts = append(l.Facts, Fact{Name: "backlog", Kind: KindBacklog, Value: ref(backlog + s.r.NormFloat64()*0.005*step.At), SE: 0.005 * step.At, DF: 9, Offered: step.At})
	if s.fails != nil {
		l.Facts = append(l.Facts, Fact{Name: "failures", Kind: KindFailures, Good: s.fails(step.At), N: int64(total)})
	}
	if p.Goal == Goodput {
		rate := step.At * share
		l.Facts = append(l.Facts, Fact{Name: "goodput", Kind: KindGoodput, Value: ref(rate * (1 + s.r.NormFloat64()/math.Sqrt(float64(total)))), SE: rate / math.Sqrt(float64(total)), DF: 9})
	}
	return l
}

// search runs one to its end.
func (s *server) search(p Params, n int) ([]Look, Verdict) {
	return runAll(p, func(step Step) Look { return s.look(p, step, n) })
}

func runAll(p Params, look func(Step) Look) ([]Look, Verdict) { return goOn(p, nil, look) }

func goOn(p Params, looks []Look, look func(Step) Look) ([]Look, Verdict) {
	for {
		step, ok, why := p.Next(looks)
		if !ok {
			return looks, p.Conclude(looks, why)
		}
		l := look(step)
		l.N, l.Seed = len(looks)+1, p.SeedOf(len(looks)+1)
		p.Judge(&l, looks)
		looks = append(looks, l)
	}
}

func log(looks []Look, v Verdict) string {
	var b strings.Builder
	for _, l := range looks {
		fmt.Fprintf(&b, "%2d %-8s %8.4g ×%-5.4g %-9s %s\n", l.N, l.Kind, l.At, l.Times, l.Decision, l.Why)
	}
	fmt.Fprintf(&b, "%s (%s): %s %v\n", v.Result, v.End, v.Line, v.Notes)
	return b.String()
}

// falling is a share of 95 % at the load limit, with the bad ones growing by the
// power k of the load.
func falling(limit, k float64) func(float64) float64 {
	return func(x float64) float64 { return 1 - min(1, 0.05*math.Pow(x/limit, k)) }
}

func params() Params {
	return Params{For: Rate, Goal: Highest, From: 1, To: 64, Share: 0.95, Precision: 0.03, MostLooks: 16, Requests: 2000, Seed: 7}
}

// TestFindsTheLimit: near the truth, and above it next to never, over many limits,
// seeds and ways to fall.
func TestFindsTheLimit(t *testing.T) {
	for _, c := range []struct {
		name    string
		k       float64
		cluster float64
		n       int
		within  float64 // of the truth
	}{
		{"steep", 40, 1, 1000, 0.05},
		{"steep, clustered", 40, 5, 2000, 0.05},
		{"soft", 15, 1, 2000, 0.07},
	} {
		const rounds = 10
		near, over, looks, found, units := 0, 0, 0, 0, 0.0
		results := map[string]int{}
		worst := ""
		for i := range rounds {
			s := server{r: rand.New(rand.NewPCG(uint64(i), 1)), cluster: c.cluster}
			limit := 2 * math.Pow(24, s.r.Float64())
			s.share = falling(limit, c.k)
			ls, v := s.search(params(), c.n)
			looks += len(ls)
			for _, l := range ls {
				units += l.Times
			}
			results[v.Result]++
			if v.Result == Found {
				found++
			}
			if v.At == nil {
				worst = log(ls, v)
				continue
			}
			switch off := *v.At/limit - 1; {
			case off > 0.05:
				over++
			case off >= -c.within:
				near++
			default:
				worst = fmt.Sprintf("truth %.4g, %.1f %%\n%s", limit, off*100, log(ls, v))
			}
		}
		t.Logf("%s: within %.0f %%: %d of %d, above by more than 5 %%: %d, looks %.1f, units %.1f, %v\n%s", c.name, c.within*100, near, rounds, over, float64(looks)/rounds, units/rounds, results, worst)
		if near < rounds*9/10 || over > 0 {
			t.Errorf("%s: near %d, over %d of %d", c.name, near, over, rounds)
		}
	}
}
