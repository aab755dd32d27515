package search

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// made is a server whose looks have one fact, which errs next to never: they hold up to a
// limit, and fail above it.
type made struct{ server }

func (m *made) search(p Params, n int) ([]Look, Verdict) {
	return runAll(p, func(step Step) Look {
		l := m.look(p, step, n)
		l.Facts = l.Facts[:1]
		return l
	})
}

func steep(limit float64) made {
	return made{server{r: rand.New(rand.NewPCG(3, 5)), cluster: 1, share: func(x float64) float64 {
		if x > limit {
			return 0.2
		}
		return 1
	}}}
}

// TestFewLooks: what is kept for measuring again does not end the looks that find the two
// loads between which the limit lies.
func TestFewLooks(t *testing.T) {
	p := params()
	p.For, p.From, p.To, p.MostLooks = Concurrency, 2, 32, 6
	s := steep(100)
	if looks, v := s.search(p, 1000); v.Result != AtLeast || *v.At != 32 || len(v.Next) != 1 || !strings.Contains(v.Next[0], "--to 128") {
		t.Error(log(looks, v), v.Next)
	}
	for most := 4; most <= 12; most++ {
		for _, limit := range []float64{1, 3, 5, 9, 17, 31} {
			p.MostLooks = most
			s := steep(limit)
			looks, v := s.search(p, 1000)
			if v.End == EndLooks && len(looks) < most || v.Result == Open && v.End != EndLooks {
				t.Errorf("%d looks, limit %g:\n%s", most, limit, log(looks, v))
			}
		}
	}
}

// TestLooksThatWouldDo: a search that ends for its looks names how many would have done,
// and they do.
func TestLooksThatWouldDo(t *testing.T) {
	ended := 0
	for _, what := range []string{Rate, Concurrency} {
		for most := 4; most <= 10; most++ {
			for _, limit := range []float64{1.5, 2.9, 6, 11, 23, 45, 60} {
				p := params()
				p.For, p.MostLooks = what, most
				s := steep(limit)
				looks, v := s.search(p, 1000)
				if v.End != EndLooks || v.Result != Open {
					continue
				}
				ended++
				n := 0
				if len(v.Next) != 1 || !strings.Contains(v.Line, fmt.Sprintf("the %d declared looks are used up", most)) {
					t.Fatal(log(looks, v), v.Next)
				}
				fmt.Sscanf(v.Next[0], "about %d looks would do", &n)
				p.MostLooks = n
				if looks, v := s.search(p, 1000); v.Result != Found || n > 2*p.Enough() {
					t.Errorf("%s, limit %g: %d looks, then %d:\n%s", what, limit, most, n, log(looks, v))
				}
			}
		}
	}
	if ended < 10 {
		t.Errorf("%d searches ended for their looks", ended)
	}
}

// TestEnough: looks from the beginning, where each decides its place.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		what      string
		from, to  float64
		precision float64
		ramp      bool
		want      int
	}{
		{Concurrency, 2, 32, 0.05, false, 1 + 4 + 5 + Reserve}, // 2; 4, 8, 16, 32; 23, 27, 29, 30, 31
		{Concurrency, 1, 4, 0.05, false, 1 + 2 + 1 + Reserve},
		{Concurrency, 2, 32, 0.05, true, 1 + 1 + 4 + 5 + Reserve},
		{Rate, 1, 64, 0.03, false, 1 + 6 + 5 + Reserve}, // ln 2 ÷ ln 1.03 = 23.4
		{Rate, 10, 11, 0.2, false, 1 + 1 + 0 + Reserve},
	} {
		p := Params{For: c.what, Goal: Highest, From: c.from, To: c.to, Precision: c.precision, Ramp: c.ramp}
		if got := p.Enough(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestOtherWork: where other programs had the machine, the verdict does not blame the
// client; the looks are named once, and again is not longer.
func TestOtherWork(t *testing.T) {
	p := params()
	p.Requests = 100 // shorter than a short look
	for _, c := range []struct {
		from  float64 // which the client cannot carry
		other bool
		says  string
	}{
		{1, true, "this machine was busy with other work at 1 requests/s, the least that was asked for"},
		{1, false, "the client could not carry even 1 requests/s"},
		{8, true, "at 8 requests/s this machine was busy with other work"},
		{8, false, "the client could not carry 8 requests/s"},
	} {
		s := steep(100)
		s.client = func(x float64) bool { return x >= c.from }
		p.Precision = 1
		looks, v := runAll(p, func(step Step) Look {
			l := s.look(p, step, 1000)
			l.OtherWork = l.Client != "" && c.other
			return l
		})
		if v.Result != Client || !strings.Contains(v.Line, c.says) || len(v.Next) == 0 {
			t.Errorf("%+v:\n%s%s", c, log(looks, v), v.Next)
		}
		for _, note := range v.Notes {
			if note != "not used, for what the log says of them: look "+map[float64]string{1: "1, 2", 8: "4, 5"}[c.from] {
				t.Errorf("%+v: %s", c, note)
			}
		}
		if c.from == 1 && (looks[1].Kind != KindAgain || looks[1].Times != looks[0].Times) {
			t.Errorf("%+v:\n%s", c, log(looks, v))
		}
	}
}
