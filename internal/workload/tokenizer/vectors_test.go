package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var models = []string{"deepseek_v3", "qwen3", "llama3_1", "llama2", "gemma3", "gptoss"}

var loaded sync.Map // model → func() (*Tokenizer, error)

// modelTokenizer is the tokenizer of a real model, from the folder that
// scripts/tokenizers.sh fetches.
func modelTokenizer(t testing.TB, model string) *Tokenizer {
	t.Helper()
	dir := os.Getenv("TOKENTAPE_TOKENIZERS")
	if dir == "" {
		t.Skip("SKIPPED: NOT held against the real tokenizers of models. To do so: eval \"$(scripts/tokenizers.sh)\" and test again")
	}
	f, _ := loaded.LoadOrStore(model, sync.OnceValues(func() (*Tokenizer, error) { return Load(filepath.Join(dir, model)) }))
	tok, err := f.(func() (*Tokenizer, error))()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func corpus(t testing.TB) []string {
	var out []string
	readJSON(t, "testdata/vectors/corpus.json", &out)
	return out
}

// The ids of 217 texts by six models, on which two independent implementations
// agree (testdata/vectors).
func TestVectors(t *testing.T) {
	texts := corpus(t)
	if len(texts) != 217 {
		t.Fatalf("%d texts, want 217", len(texts))
	}
	for _, m := range models {
		t.Run(m, func(t *testing.T) {
			t.Parallel()
			tok := modelTokenizer(t, m)
			var want struct{ Plain, Special [][]int32 }
			readJSON(t, "testdata/vectors/"+m+".json", &want)
			right := 0
			for i, s := range texts {
				plain, special := tok.Encode(s, false), tok.Encode(s, true)
				ids, spans := tok.EncodeOffsets(s, false)
				switch {
				case !slices.Equal(plain, want.Plain[i]):
					t.Errorf("%.60q:\n got %v\nwant %v", s, plain, want.Plain[i])
				case !slices.Equal(special, want.Special[i]):
					t.Errorf("%.60q with special tokens:\n got %v\nwant %v", s, special, want.Special[i])
				case tok.Count(s) != len(plain):
					t.Errorf("%.60q: counted %d, want %d", s, tok.Count(s), len(plain))
				case !slices.Equal(ids, plain):
					t.Errorf("%.60q: offsets change the ids:\n got %v\nwant %v", s, ids, plain)
				default:
					right++
				}
				checkSpans(t, s, ids, spans)
			}
			t.Logf("%d of %d", right, len(texts))
		})
	}
}

// checkSpans: one span for each id, in order and inside the text.
func checkSpans(t testing.TB, s string, ids []int32, spans []Span) {
	t.Helper()
	if len(ids) != len(spans) {
		t.Fatalf("%.60q: %d ids, %d spans", s, len(ids), len(spans))
	}
	at := 0
	for i, p := range spans {
		if p.Start < 0 || p.End < p.Start || p.End > len(s) || p.Start < at {
			t.Fatalf("%.60q: span %d is %v after %d of %d bytes", s, i, p, at, len(s))
		}
		at = p.Start
	}
}
