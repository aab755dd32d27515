package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

const small = `{"added_tokens":[{"id":9,"content":"<|im_end|>","special":true},{"id":10,"content":"<tool>","special":false}],
"model":{"vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4,"bc":5},"merges":["a b",["ab","c"],"b c"]}}`

func TestCutTokenizer(t *testing.T) {
	tok, err := readTokenizer([]byte(small), 5)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c", "ab", "abc", "<|im_end|>", "<tool>"}; !slices.Equal(tok.texts, want) {
		t.Errorf("tokens %q, want %q", tok.texts, want)
	}
	if want := []string{"a b", "ab c"}; !slices.Equal(tok.merges, want) {
		t.Errorf("merges %q, want %q: a merge into a token that was cut must go", tok.merges, want)
	}
	if tok.eos != 5 || tok.types[5] != typeControl || tok.types[6] != typeUser {
		t.Errorf("eos %d, types %v", tok.eos, tok.types)
	}
	b, err := tok.rewrite([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	again, err := readTokenizer(b, 0)
	if err != nil || !slices.Equal(again.texts, tok.texts) || !slices.Equal(again.merges, tok.merges) {
		t.Errorf("the rewritten file reads as %+v, %v", again, err)
	}
}

func TestModelIsWholeAndRepeatable(t *testing.T) {
	tok, err := readTokenizer([]byte(small), 5)
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := writeModel(&a, tok, 1); err != nil {
		t.Fatal(err)
	}
	if err := writeModel(&b, tok, 1); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same seed gives another file")
	}
	list := tensors(len(tok.texts))
	if !bytes.HasPrefix(a.Bytes(), []byte("GGUF\x03\x00\x00\x00")) || binary.LittleEndian.Uint64(a.Bytes()[8:]) != uint64(len(list)) {
		t.Errorf("head % x", a.Bytes()[:16])
	}
	weights := 0
	for _, x := range list {
		weights += padded(x.size())
	}
	if head := a.Len() - weights; head <= 0 || head%align != 0 {
		t.Errorf("%d bytes with %d of weights: the header has %d, not a multiple of %d", a.Len(), weights, head, align)
	}
}

func TestFloat16(t *testing.T) {
	for f, want := range map[float32]uint16{0: 0, 1: 0x3c00, -2: 0xc000, 0.5: 0x3800, 65504: 0x7bff, 1e9: 0x7c00, 1e-9: 0, float32(math.Inf(-1)): 0xfc00} {
		if got := float16(f); got != want {
			t.Errorf("float16(%v) = %#x, want %#x", f, got, want)
		}
	}
}
