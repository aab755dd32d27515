package tokenizer

import (
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

// A cache without a hit: what a text of ever new words costs.
func BenchmarkEncodeCold(b *testing.B) {
	for _, m := range []string{"deepseek_v3", "qwen3", "llama3_1"} {
		b.Run(m, func(b *testing.B) {
			tok, text := modelTokenizer(b, m), prose(b)
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
