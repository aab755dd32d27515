package search

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestGoesOn: a search that goes on from its file after any look ends as it would have.
func TestGoesOn(t *testing.T) {
	p := params()
	p.MostLooks = 10
	run := func(stop int) *File {
		f := NewFile("x", p, []string{"ttft_ms < 500"})
		for n := 0; ; n++ {
			if n == stop {
				b, err := f.Write()
				if err != nil {
					t.Fatal(err)
				}
				if f, err = ReadFile(b); err != nil {
					t.Fatal(err)
				}
			}
			step, ok, why := p.Next(f.Looks)
			if !ok {
				v := p.Conclude(f.Looks, why)
				f.Verdict = &v
				return f
			}
			s := server{r: rand.New(rand.NewPCG(uint64(n), 3)), share: falling(20, 40)}
			l := s.look(p, step, 1000)
			l.Seed = p.SeedOf(n + 1)
			f.Add(l)
		}
	}
	whole := run(-1)
	for stop := range len(whole.Looks) {
		if got := run(stop); !reflect.DeepEqual(got.Verdict, whole.Verdict) || len(got.Looks) != len(whole.Looks) {
			t.Fatalf("stopped before look %d: %+v, not %+v", stop+1, got.Verdict, whole.Verdict)
		}
	}
}

// FuzzReadFile: no text makes reading, going on or concluding panic.
func FuzzReadFile(f *testing.F) {
	good := NewFile("x", params(), nil)
	s := server{r: rand.New(rand.NewPCG(1, 3)), share: falling(20, 40)}
	for range 3 {
		step, _, _ := good.Asked.Next(good.Looks)
		good.Add(s.look(good.Asked, step, 300))
	}
	b, _ := good.Write()
	f.Add(b)
	f.Add([]byte(`{"schema":"tokentape.search/1","asked":{"for":"rate","goal":"goodput","from":1,"to":2,"precision":0.1,"most_looks":3},"looks":[{"look":1,"kind":"confirm","at":1,"times":1,"facts":[{"name":"a","kind":"goodput","value":1}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := ReadFile(text)
		if err != nil {
			return
		}
		_, _, why := file.Asked.Next(file.Looks)
		file.Asked.Conclude(file.Looks, why)
	})
}
