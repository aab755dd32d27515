package search

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func all(float64) float64  { return 1 }
func none(float64) float64 { return 0.2 }

// TestVerdicts: what is not simply found has a name of its own.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      server
		change func(*Params)
		result string
		end    string
		says   string
	}{
		{"nothing holds", server{share: none}, nil, None, EndDecided, "not even the least"},
		{"everything holds", server{share: all}, nil, AtLeast, EndDecided, "even the most"},
		{"client", server{share: all, client: func(x float64) bool { return x > 10 }}, nil, Client, EndDecided, "the server's limit is not known"},
		{"client at once", server{share: all, client: func(float64) bool { return true }}, nil, Client, EndDecided, "could not carry even"},
		{"backlog", server{share: all, grows: func(x float64) bool { return x > 10 }}, nil, Found, EndDecided, "does not hold"},
		{"failures", server{share: all, fails: func(x float64) int64 {
			if x > 10 {
				return 1
			}
			return 0
		}}, nil, Found, EndDecided, "does not hold"},
		{"few looks", server{share: falling(20, 40)}, func(p *Params) { p.MostLooks = 6 }, Open, EndLooks, "looks are used up"},
		{"little time", server{share: falling(20, 40)}, func(p *Params) { p.AtMostS = 3000 }, Open, EndTime, "time is used up"},
		{"at the limit", server{share: func(float64) float64 { return 0.95 }}, nil, Open, EndDecided, "undecided"},
		{"concurrency", server{share: falling(20, 40)}, func(p *Params) { p.For = Concurrency }, Found, EndDecided, "in flight"},
	} {
		c.s.r, c.s.cluster = rand.New(rand.NewPCG(5, 5)), 1
		p := params()
		if c.change != nil {
			c.change(&p)
		}
		looks, v := c.s.search(p, 1000)
		if v.Result != c.result || v.End != c.end && v.Result == Open || !strings.Contains(v.Line, c.says) {
			t.Errorf("%s: want %s, %s, %q\n%s", c.name, c.result, c.end, c.says, log(looks, v))
		}
		if len(looks) > p.MostLooks {
			t.Errorf("%s: %d looks, %d were declared", c.name, len(looks), p.MostLooks)
		}
		sum := 0.0
		for _, l := range looks {
			sum += l.TookS
		}
		if p.AtMostS > 0 && sum > p.AtMostS {
			t.Errorf("%s: %v s, %v were allowed", c.name, sum, p.AtMostS)
		}
		if p.For == Concurrency {
			for _, l := range looks {
				if l.At != math.Round(l.At) {
					t.Errorf("%s: %v in flight", c.name, l.At)
				}
			}
		}
	}
}

// TestNotMonotone: what holds above what fails is named, and the limit is sought below.
func TestNotMonotone(t *testing.T) {
	s := server{r: rand.New(rand.NewPCG(5, 5)), cluster: 1, share: func(x float64) float64 {
		if x > 5 && x < 12 {
			return 0.6
		}
		return 1
	}}
	p := params()
	looks := []Look{}
	for _, at := range []float64{1, 16, 8} { // as from a ramp that said 16
		l := s.look(p, Step{Kind: KindBracket, At: at, Times: 1}, 1000)
		p.Judge(&l, looks)
		looks = append(looks, l)
	}
	looks, v := goOn(p, looks, func(step Step) Look { return s.look(p, step, 1000) })
	if v.Result != Found || *v.At > 5 || len(v.Notes) == 0 || !strings.Contains(v.Notes[0], "not monotone") {
		t.Error(log(looks, v))
	}
}

// TestGone: a look in which the server went away is made again, at the same load and as
// long; a load at which it always does is no limit that was measured.
func TestGone(t *testing.T) {
	for _, always := range []bool{false, true} {
		s := server{r: rand.New(rand.NewPCG(5, 5)), cluster: 1, share: falling(20, 40)}
		p := params()
		gone := 0
		looks, v := runAll(p, func(step Step) Look {
			l := s.look(p, step, 1000)
			if step.At > 10 && (gone == 0 || always) {
				gone, l.Unfit = gone+1, "the server was gone"
			}
			return l
		})
		lost := -1
		for i, l := range looks {
			if l.Unfit != "" && lost < 0 {
				lost = i
			}
		}
		if lost < 0 || looks[lost+1].Kind != KindAgain && looks[lost+1].Kind != KindLonger || looks[lost+1].At != looks[lost].At {
			t.Errorf("not again\n%s", log(looks, v))
		}
		switch {
		case !always && (v.Result != Found || *v.At < 18):
			t.Errorf("one death took the limit down\n%s", log(looks, v))
		case always && (v.Result != Open || v.At == nil || !strings.Contains(v.Line, "(unfit)")):
			t.Errorf("always gone\n%s", log(looks, v))
		}
	}
}

// TestConfirmed: what is reported was measured after it was chosen, with seeds of its
// own, and no look that chose it is in the facts.
func TestConfirmed(t *testing.T) {
	for i := range 8 {
		s := server{r: rand.New(rand.NewPCG(uint64(i), 9)), cluster: 3, share: falling(20, 30)}
		looks, v := s.search(params(), 1500)
		if v.At == nil {
			continue
		}
		seeds := map[int64]bool{}
		var good, n int64
		first := 0
		for k, l := range looks {
			if seeds[l.Seed] {
				t.Fatalf("seed %d twice", l.Seed)
			}
			seeds[l.Seed] = true
			if l.Kind == KindConfirm {
				if first == 0 {
					first = k
				}
				if l.At == *v.At {
					good, n = good+l.Facts[0].Good, n+l.Facts[0].N
				}
			} else if first > 0 {
				t.Fatalf("a look to choose after one to confirm\n%s", log(looks, v))
			}
		}
		if v.Facts[0].Good != good || v.Facts[0].N != n || n == 0 || v.Facts[0].Result != Holds {
			t.Fatalf("%+v\n%s", v.Facts[0], log(looks, v))
		}
	}
}

// TestInterrupted: a search that is cut says within which loads the limit lies.
func TestInterrupted(t *testing.T) {
	s := server{r: rand.New(rand.NewPCG(1, 9)), cluster: 1, share: falling(20, 30)}
	looks, _ := s.search(params(), 1500)
	p := params()
	if v := p.Conclude(nil, EndInterrupted); v.Result != Open || !strings.Contains(v.Line, "nothing is known") {
		t.Errorf("%+v", v)
	}
	v := p.Conclude(looks[:8], EndInterrupted)
	if v.Result != Open || !strings.Contains(v.Line, "undecided within [") || !strings.Contains(v.Line, "interrupted") {
		t.Errorf("%+v", v)
	}
	if v.Above == nil || *v.Above < 20*0.9 {
		t.Errorf("%+v", v)
	}
}

// TestGoodput: the load with the most goodput, of a server whose goodput rises to a top
// and falls.
func TestGoodput(t *testing.T) {
	near := 0
	const rounds = 10
	for i := range rounds {
		s := server{r: rand.New(rand.NewPCG(uint64(i), 4)), cluster: 1}
		top := 8 + 20*s.r.Float64()
		s.share = func(x float64) float64 { return 1 / (1 + math.Pow(x/top/1.1, 12)) }
		best, most := 0.0, 0.0
		for x := 1.0; x < 64; x *= 1.005 {
			if g := x * s.share(x); g > most {
				best, most = x, g
			}
		}
		p := params()
		p.Goal, p.Share = Goodput, 0
		looks, v := s.search(p, 2000)
		if v.At == nil {
			t.Error(log(looks, v))
			continue
		}
		if g := *v.At * s.share(*v.At); g > 0.95*most && *v.At < 1.08*best {
			near++
		} else {
			t.Logf("best %.4g at %.4g, found %.4g at %.4g\n%s", most, best, g, *v.At, log(looks, v))
		}
	}
	if near < rounds*9/10 {
		t.Errorf("%d of %d", near, rounds)
	}
}

// TestGoodputOfAll: without a top the most that was asked for is named as such; nothing
// good at all is not a load.
func TestGoodputOfAll(t *testing.T) {
	p := params()
	p.Goal, p.Share = Goodput, 0
	s := server{r: rand.New(rand.NewPCG(1, 4)), cluster: 1, share: all}
	if looks, v := s.search(p, 2000); v.Result != AtLeast {
		t.Error(log(looks, v))
	}
	s.grows = func(float64) bool { return true }
	if looks, v := s.search(p, 2000); v.At != nil || v.Result != None {
		t.Error(log(looks, v))
	}
}

// TestRampGuides: a search begins where a ramp broke, and finds the same.
func TestRampGuides(t *testing.T) {
	s := server{r: rand.New(rand.NewPCG(1, 4)), cluster: 1, share: falling(20, 40)}
	p := params()
	p.Ramp = true
	looks, v := runAll(p, func(step Step) Look {
		if step.Kind != KindRamp {
			return s.look(p, step, 1000)
		}
		l := Look{Step: step}
		for _, at := range p.RampStages() {
			l.Stages = append(l.Stages, Stage{At: at, Good: int64(100 * s.share(at)), N: 100})
		}
		return l
	})
	if v.Result != Found || *v.At < 19 || *v.At > 20.5 || looks[1].At < 10 || looks[0].Decision != Guess {
		t.Error(log(looks, v))
	}
}
