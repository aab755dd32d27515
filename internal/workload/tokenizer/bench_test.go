package tokenizer

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// prose is about a megabyte of English prose and Go source, and of the corpus of
// the vectors (many scripts).
func prose(b testing.TB) string {
	var s strings.Builder
	for _, f := range []string{"tokenizer.go", "bpe.go", "hf_steps.go", "sentencepiece.go", "../../../ARCHITECTURE.md", "../../../CHANGELOG.md"} {
		x, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		s.Write(x)
	}
	for _, x := range corpus(b) {
		if len(x) < 2000 {
			s.WriteString(x)
			s.WriteByte('\n')
		}
	}
	one := s.String()
	return strings.Repeat(one, 1<<20/len(one)+1)
}

// Encoding on one core, MB/s of text.
func BenchmarkEncode(b *testing.B) {
	for _, m := range models {
		b.Run(m, func(b *testing.B) {
			tok, text := modelTokenizer(b, m), prose(b)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Count(text)
			}
		})
	}
}

// Ever new words, so that the cache hardly helps: the lower bound.
func BenchmarkNewWords(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var words strings.Builder
	for words.Len() < 1<<20 {
		words.WriteByte(' ')
		for range 2 + r.IntN(3) {
			words.WriteString([]string{"ra", "ten", "ing", "so", "pre", "ul", "ity", "mor", "ek", "vi", "da", "com", "qu", "ness", "o", "the"}[r.IntN(16)])
		}
	}
	for _, m := range []string{"deepseek_v3", "qwen3", "llama3_1", "gptoss"} {
		b.Run(m, func(b *testing.B) {
			tok, text := modelTokenizer(b, m), words.String()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.cache = newCache()
				tok.Count(text)
			}
		})
	}
}

// One piece of a megabyte: the heap keeps it from being quadratic.
func BenchmarkOneLetter(b *testing.B) {
	for _, m := range []string{"qwen3", "llama2"} {
		b.Run(m, func(b *testing.B) {
			tok, text := modelTokenizer(b, m), strings.Repeat("a", 1<<20)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Count(text)
			}
		})
	}
}

func BenchmarkOffsets(b *testing.B) {
	tok, text := modelTokenizer(b, "qwen3"), prose(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.EncodeOffsets(text, false)
	}
}

func BenchmarkDecode(b *testing.B) {
	tok, text := modelTokenizer(b, "qwen3"), prose(b)
	ids := tok.Encode(text, false)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Decode(ids, true)
	}
}
