package rows

import (
	"os"
	"path/filepath"
	"testing"

	"tokentape/internal/workload/tokenizer"
)

// Each word is one token, and so is a prompt of n words n tokens, in every
// vocabulary at hand (one more in those that put a space in front of a text).
func TestWordsAreTokens(t *testing.T) {
	dir := os.Getenv("TOKENTAPE_TOKENIZERS")
	if dir == "" {
		t.Skip("SKIPPED: NOT held against the real tokenizers of models. To do so: eval \"$(scripts/tokenizers.sh)\" and test again")
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*", "tokenizer.json"))
	if len(found) == 0 {
		t.Fatalf("no tokenizer under %s", dir)
	}
	for _, path := range found {
		tk, err := tokenizer.Load(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		before := len(tk.Encode("a", false))
		for _, word := range words {
			if n := len(tk.Encode("a "+word, false)) - before; n != 1 {
				t.Errorf("%s: %q is %d tokens", path, word, n)
			}
		}
		if n := len(tk.Encode(unique(1, 7, 5000), false)); n != 5000 && n != 5001 {
			t.Errorf("%s: a prompt of 5000 words is %d tokens", path, n)
		}
	}
}
