package search

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
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

// TestReadFile: what no search wrote is refused, with what is wrong.
func TestReadFile(t *testing.T) {
	s := server{r: rand.New(rand.NewPCG(1, 3)), share: falling(20, 40)}
	looks, v := s.search(params(), 1500)
	good := NewFile("x", params(), []string{"ttft_ms < 500"})
	good.Looks, good.Verdict = looks, &v
	for i := range looks {
		looks[i].N = i + 1
	}
	text, err := good.Write()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(text); err != nil {
		t.Fatalf("%v\n%s", err, log(looks, v))
	}
	for _, c := range []struct {
		says   string
		change func(f map[string]any)
	}{
		{`its schema is "tokentape.search/2"`, func(f map[string]any) { f["schema"] = "tokentape.search/2" }},
		{"slo: it has no limits", func(f map[string]any) { f["slo"] = nil }},
		{`looks[0]: "frob" is no decision`, func(f map[string]any) { f["looks"].([]any)[0].(map[string]any)["decision"] = "frob" }},
		{`looks[0]: "" is no kind of look`, func(f map[string]any) { delete(f["looks"].([]any)[0].(map[string]any), "kind") }},
		{`verdict: "" is no result`, func(f map[string]any) { f["verdict"] = map[string]any{} }},
		{`verdict: "pass" is no result`, func(f map[string]any) { f["verdict"].(map[string]any)["result"] = "pass" }},
		{"verdict: it has no line", func(f map[string]any) { f["verdict"].(map[string]any)["line"] = "" }},
		{"verdict: found, and at no load", func(f map[string]any) { f["verdict"].(map[string]any)["at"] = nil }},
		{"verdict: no look measured 63 again", func(f map[string]any) { f["verdict"].(map[string]any)["at"] = 63 }},
	} {
		var f map[string]any
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		c.change(f)
		b, _ := json.Marshal(f)
		if _, err := ReadFile(b); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
	if _, err := ReadFile(text[:len(text)/2]); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Error(err)
	}
}

// FuzzReadFile: no text makes reading, going on or concluding panic.
func FuzzReadFile(f *testing.F) {
	good := NewFile("x", params(), []string{"ttft_ms < 500"})
	s := server{r: rand.New(rand.NewPCG(1, 3)), share: falling(20, 40)}
	for range 3 {
		step, _, _ := good.Asked.Next(good.Looks)
		good.Add(s.look(good.Asked, step, 300))
	}
	b, _ := good.Write()
	f.Add(b)
	f.Add([]byte(`{"schema":"tokentape.search/1","asked":{"for":"rate","goal":"goodput","from":1,"to":2,"precision":0.1,"most_looks":3},"slo":["ttft_ms < 500"],"looks":[{"look":1,"kind":"confirm","at":1,"times":1,"decision":"holds","facts":[{"name":"a","kind":"goodput","value":1}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := ReadFile(text)
		if err != nil {
			return
		}
		_, _, why := file.Asked.Next(file.Looks)
		file.Asked.Conclude(file.Looks, why)
	})
}
