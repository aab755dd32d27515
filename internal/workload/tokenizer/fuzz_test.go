package tokenizer

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// small are the tokenizers of testdata/reference.jsonl.gz by name.
var small = sync.OnceValue(func() map[string]*reference {
	f, err := os.Open("testdata/reference.jsonl.gz")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		panic(err)
	}
	out := map[string]*reference{}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<30)
	for sc.Scan() {
		ref := &reference{}
		if err := json.Unmarshal(sc.Bytes(), ref); err != nil {
			panic(err)
		}
		out[ref.Name] = ref
	}
	return out
})

func smallTokenizer(t testing.TB, name string) *Tokenizer {
	ref := small()[name]
	if ref == nil {
		t.Fatalf("testdata has no tokenizer %q", name)
	}
	data, file := []byte(ref.Tokenizer), "tokenizer.json"
	if ref.Model != nil {
		data, file = ref.Model, "tokenizer.model"
	}
	tok, err := parse(file, data, &config{})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// Any bytes load or are refused, and what loads encodes and decodes.
func FuzzLoad(f *testing.F) {
	// Every step there is, on a model of four entries: small inputs mutate well.
	for _, ref := range small() {
		if ref.Model != nil {
			continue
		}
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(ref.Tokenizer, &doc); err != nil {
			f.Fatal(err)
		}
		fields := map[string]string{}
		for _, k := range []string{"normalizer", "pre_tokenizer", "decoder", "post_processor"} {
			if len(doc[k]) < 2000 {
				fields[k] = string(doc[k])
			}
		}
		f.Add(tiny(fields), "tokenizer.json")
	}
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["?",0],["a",-1],["<0x62>",-2]]}}`), "tokenizer.json")
	f.Add([]byte(`{"model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0,"a":1,"##b":2}}}`), "tokenizer.json")
	f.Add([]byte("\x0a\x07\x0a\x01?\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf\x12\x02\x18\x02\x1a\x02\x18\x00"), "tokenizer.model")
	f.Add([]byte(byteFile()), "cl100k_base.tiktoken")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		tok, err := parse(name, data, &config{})
		if err != nil {
			return
		}
		for _, s := range []string{"", "Hello, world!  ", "a\u0301\xff中文\n 12"} {
			ids, spans := tok.EncodeOffsets(s, true)
			if len(ids) != len(spans) {
				t.Fatalf("%d ids, %d spans", len(ids), len(spans))
			}
			if n := len(tok.Encode(s, false)); n != tok.Count(s) {
				t.Fatalf("%d ids, counted %d", n, tok.Count(s))
			}
			tok.Decode(ids, false)
		}
		tok.Decode([]int32{-1, 1 << 30}, true)
	})
}

// Byte-level tokenizers lose nothing: the text comes back, and every byte of it
// belongs to one token. Ill-formed UTF-8 comes back as U+FFFD.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "Hello, world!", tricky, "\xff\xc3", "\xed\xa0\x80", strings.Repeat("a", 100)} {
		f.Add(s)
	}
	tok := smallTokenizer(f, "model-bytebpe-nosplit")
	f.Fuzz(func(t *testing.T, s string) { roundTrip(t, tok, s) })
}

func roundTrip(t failer, tok *Tokenizer, s string) {
	ids, spans := tok.EncodeOffsets(s, false)
	if got := tok.Decode(ids, false); got != lossy(s) {
		t.Fatalf("%q comes back as %q", s, got)
	}
	if plain := tok.Encode(s, false); !slices.Equal(plain, ids) || tok.Count(s) != len(ids) {
		t.Fatalf("%q: %v with offsets, %v without, counted %d", s, ids, plain, tok.Count(s))
	}
	at := 0
	for i, p := range spans {
		// Tokens of one replaced sequence share its bytes.
		if p.Start > at || p.End < at {
			t.Fatalf("%q: token %d has bytes %v after %d", s, i, p, at)
		}
		at = p.End
	}
	if at != len(s) {
		t.Fatalf("%q: the last %d bytes have no token", s, len(s)-at)
	}
}

func TestRoundTrip(t *testing.T) {
	tok := smallTokenizer(t, "model-bytebpe-nosplit")
	rapid.Check(t, func(t *rapid.T) {
		s := samples(t)
		if rapid.Bool().Draw(t, "broken") {
			b := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")
			s += string(b) + "x" + string(b)
		}
		roundTrip(t, tok, s)
	})
}

// Maximal subparts, as in table 3-8 and its neighbours of the Unicode standard.
func TestLossy(t *testing.T) {
	for s, want := range map[string]string{
		"a\xF1\x80\x80\xE1\x80\xC2b\x80c\x80\xBFd": "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd",
		"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82A":        "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA",
		"\xED\xA0\x80\xED\xBF\xBF\xED\xAFA":        "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA",
		"\xF4\x91\x92\x93\xFFA\x80\xBFB":           "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB",
		"\xE1\x80\xE2\xF0\x91\x92\xF1\xBFA":        "\uFFFD\uFFFD\uFFFD\uFFFDA",
		"well formed \uFFFD":                       "well formed \uFFFD",
	} {
		if got := lossy(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// A long piece goes through the heap, a short one is scanned: the same merges.
func TestMergeFewMany(t *testing.T) {
	tok := smallTokenizer(t, "model-bytebpe-nosplit")
	m := tok.model.(*bpe)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[aetinhgor 1.\n]{1,60}`).Draw(t, "s")
		var syms [2][]symbol
		for k := range syms {
			for i := range len(s) {
				syms[k] = append(syms[k], symbol{id: m.byteID[s[i]], prev: int32(i - 1), next: int32(i + 1), a: int32(i), b: int32(i + 1)})
			}
			syms[k][len(s)-1].next = -1
		}
		m.mergeFew(&encoding{}, syms[0])
		m.mergeMany(&encoding{}, syms[1])
		for i := int32(0); i >= 0; i = syms[0][i].next {
			if syms[0][i] != syms[1][i] {
				t.Fatalf("%q: symbol %d is %+v by scanning, %+v by the heap", s, i, syms[0][i], syms[1][i])
			}
		}
	})
}

// A run of one letter takes a moment, not hours, however long it is.
func TestLongPiece(t *testing.T) {
	for _, name := range []string{"model-bytebpe-nosplit", "model-llama", "model-unigram", "sp-bpe", "sp-unigram"} {
		tok := smallTokenizer(t, name)
		s := strings.Repeat("a", 1<<17)
		if n := tok.Count(s); n < len(s)/32 || n > len(s)/2 {
			t.Errorf("%s: %d tokens for %d letters", name, n, len(s))
		}
	}
}

// Many goroutines share a tokenizer and its cache.
func TestConcurrent(t *testing.T) {
	tok := smallTokenizer(t, "model-bytebpe")
	texts := corpus(t)
	want := make([][]int32, len(texts))
	for i, s := range texts {
		want[i], _ = tok.EncodeOffsets(s, true) // without the cache
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range texts {
				i := (i*7 + g*31) % len(texts)
				if got := tok.Encode(texts[i], true); !slices.Equal(got, want[i]) {
					t.Errorf("%.40q: %v, want %v", texts[i], got, want[i])
				}
				if got := tok.Decode(want[i], false); !utf8.ValidString(got) {
					t.Errorf("%.40q: decoded to %q", texts[i], got)
				}
			}
		})
	}
	wg.Wait()
}
