package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	from := flag.String("tokenizer", "tokenizer.json", "Hugging Face tokenizer.json to take vocabulary and merges from")
	vocab := flag.Int("vocab", 8000, "keep the first `N` vocabulary entries and the merges among them; 0 keeps all")
	model := flag.String("model", "tiny.gguf", "model file to write")
	cut := flag.String("cut", "tiny.tokenizer.json", "matching tokenizer to write")
	seed := flag.Uint64("seed", 1, "seed of the weights")
	flag.Parse()
	if err := build(*from, *model, *cut, *vocab, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "realserver:", err)
		os.Exit(1)
	}
}

func build(from, model, cut string, vocab int, seed uint64) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	tok, err := readTokenizer(raw, vocab)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	b, err := tok.rewrite(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := os.WriteFile(cut, b, 0o644); err != nil {
		return err
	}
	f, err := os.Create(model)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeModel(f, tok, seed); err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	fmt.Printf("%s: random weights, %d tokens, %d merges\n", model, len(tok.texts), len(tok.merges))
	return f.Close()
}
