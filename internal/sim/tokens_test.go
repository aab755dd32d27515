package sim

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

func TestCountTokens(t *testing.T) {
	for s, want := range map[string]int64{
		"": 0, "a": 1, "The cat sat.": 4, "measurement": 3, "你好，世界": 5, " 你好": 2, "naïve": 2, "привет мир": 3,
		"  x": 2, " ": 1, "\n\n\t": 1, "a\n\nb": 3, "a  b": 3, "it's": 3, "{\"k\":1}": 7, "😀😀": 2, "\xff\xfea": 3, "1234567890": 3, "한국어": 3,
	} {
		if got := CountTokens(s); got != want {
			t.Errorf("%q: %d tokens, want %d", s, got, want)
		}
	}
}

func TestCounterEatsAllBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes"))
		if rapid.Bool().Draw(rt, "runes") {
			s = rapid.String().Draw(rt, "text")
		}
		n := int64(0)
		for rest := s; len(rest) > 0; n++ {
			k := next(rest)
			if k < 1 || k > len(rest) {
				rt.Fatalf("token of %d bytes of %q", k, rest)
			}
			rest = rest[k:]
		}
		size := rapid.IntRange(1, 20).Draw(rt, "page")
		c := NewCounter(size)
		c.Text(s)
		if p := c.Prompt(); p.Tokens != n || int64(len(p.Pages)) != n/int64(size) {
			rt.Fatalf("%d tokens, %d pages; want %d of %d", p.Tokens, len(p.Pages), n, size)
		}
	})
}

// TestAnswerComesBack: the answer counts as it was generated, and the next turn's
// prompt begins with the pages of this turn's prompt and answer.
func TestAnswerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := base()
		cfg.PageSize = 1
		turn1 := NewCounter(cfg.PageSize)
		turn1.Message("user", "Tell me a story, please.")
		turn1.Reply()
		g := &gen{req: exact(turn1.Prompt(), 40)}
		clkStats := play(t, cfg, []*gen{g})
		if clkStats.Requests != 1 {
			t.Fatal("not finished")
		}
		answer := string(g.s.AppendTokens(nil, 0, 40))
		if n := CountTokens(answer); n != 40 {
			t.Errorf("%q has %d tokens", answer, n)
		}
		turn2 := NewCounter(cfg.PageSize)
		turn2.Message("user", "Tell me a story, please.")
		turn2.Message("assistant", answer)
		turn2.Message("user", "And then?")
		turn2.Reply()
		pages := g.s.pages()
		if want := g.req.Prompt.Tokens + 39; int64(len(pages)) != want { // the last token was never computed
			t.Fatalf("%d pages, want %d", len(pages), want)
		}
		if !reflect.DeepEqual(pages, turn2.Prompt().Pages[:len(pages)]) {
			t.Error("the second turn does not begin with the first")
		}
	})
}

func TestMessageOverhead(t *testing.T) {
	c := NewCounter(16)
	c.Message("system", "")
	if n := c.Prompt().Tokens; n != MessageOverhead {
		t.Errorf("message: %d", n)
	}
	c.Reply()
	if n := c.Prompt().Tokens; n != MessageOverhead+ReplyOverhead {
		t.Errorf("reply: %d", n)
	}
}

func TestWordsAreOneTokenEach(t *testing.T) {
	seen := map[string]bool{}
	for i := range words {
		if words[i].text != " "+firstWords[i].text || CountTokens(words[i].text) != 1 || seen[words[i].text] {
			t.Errorf("word %q", words[i].text)
		}
		seen[words[i].text] = true
		if strings.ContainsAny(words[i].text, "\"\\<>&") {
			t.Errorf("%q needs JSON escaping", words[i].text)
		}
	}
}

func TestDraws(t *testing.T) {
	const n = 20000
	sum, sq := 0.0, 0.0
	for i := range n {
		x := float64(outputLen(mix(uint64(i)), 200, 0.5))
		sum, sq = sum+x, sq+x*x
	}
	mean := sum / n
	cv := math.Sqrt(sq/n-mean*mean) / mean
	if math.Abs(mean-200) > 3 || math.Abs(cv-0.5) > 0.02 { // 4 standard errors: 2.8
		t.Errorf("mean %.1f, cv %.3f; want 200, 0.5", mean, cv)
	}
	if outputLen(1, 16, 0) != 16 {
		t.Error("cv 0 is not the mean")
	}
	acc := 0
	for i := range n {
		acc += accept(7, int64(i), 2, 0.5)
	}
	if got := float64(acc) / n; math.Abs(got-0.75) > 0.03 { // 1/2 + 1/4
		t.Errorf("accepted %.3f of 2, want 0.75", got)
	}
}

func TestLengthsDoNotDependOnCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := base()
		cfg.OutputCV = 0.5
		alone := &gen{req: Request{Prompt: ids(cfg, 50, 1), MaxTokens: 1000}}
		play(t, cfg, []*gen{alone})
		other := &gen{req: Request{Prompt: ids(cfg, 50, 2), MaxTokens: 3}}
		again := &gen{at: 5, req: alone.req}
		seeded := &gen{at: 6, req: Request{Prompt: ids(cfg, 50, 1), MaxTokens: 1000, MinTokens: 900}}
		play(t, cfg, []*gen{other, again, seeded})
		if again.s.Len != alone.s.Len || again.s.Length {
			t.Errorf("%d tokens, alone %d", again.s.Len, alone.s.Len)
		}
		if other.s.Len != 3 || !other.s.Length {
			t.Errorf("limit 3: %d tokens, length %v", other.s.Len, other.s.Length)
		}
		if seeded.s.Len != 900 {
			t.Errorf("min_tokens 900: %d", seeded.s.Len)
		}
	})
}

func FuzzCounter(f *testing.F) {
	f.Add("The cat sat. 你好\xff", 3)
	f.Fuzz(func(t *testing.T, s string, size int) {
		if size < 1 {
			size = 1
		}
		c := NewCounter(size)
		c.Text(s)
		if c.Prompt().Tokens != CountTokens(s) || c.Prompt().Tokens > int64(len(s)) {
			t.Fatal("count")
		}
	})
}
