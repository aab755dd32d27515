package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// The shape of the model: small enough for hundreds of tokens a second on two
// cores, deep enough to batch and to keep a cache like a real one.
const (
	dim     = 64
	layers  = 2
	heads   = 4
	kvHeads = 2
	ffn     = 192
	context = 32768
	align   = 32 // of tensors in the file
)

// tensor is one weight matrix. A norm is float32 ones; the others are float16,
// normal with the given scale.
type tensor struct {
	name  string
	dims  []int
	norm  bool
	scale float64
}

func (t tensor) elements() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

func (t tensor) size() int {
	if t.norm {
		return 4 * t.elements()
	}
	return 2 * t.elements()
}

func tensors(vocab int) []tensor {
	matrix := func(name string, in, out int) tensor {
		return tensor{name: name, dims: []int{in, out}, scale: 1 / math.Sqrt(float64(in))}
	}
	norm := func(name string) tensor { return tensor{name: name, dims: []int{dim}, norm: true} }
	embed := matrix("token_embd.weight", dim, vocab)
	embed.scale = 0.5
	list := []tensor{embed, norm("output_norm.weight"), matrix("output.weight", dim, vocab)}
	for l := range layers {
		p := fmt.Sprintf("blk.%d.", l)
		list = append(list,
			norm(p+"attn_norm.weight"), matrix(p+"attn_q.weight", dim, dim), matrix(p+"attn_k.weight", dim, dim/heads*kvHeads),
			matrix(p+"attn_v.weight", dim, dim/heads*kvHeads), matrix(p+"attn_output.weight", dim, dim),
			norm(p+"ffn_norm.weight"), matrix(p+"ffn_gate.weight", dim, ffn), matrix(p+"ffn_up.weight", dim, ffn), matrix(p+"ffn_down.weight", ffn, dim))
	}
	return list
}

// writeModel writes a GGUF of version 3.
func writeModel(out io.Writer, t *tokenizer, seed uint64) error {
	list := tensors(len(t.texts))
	var h header
	h.WriteString("GGUF")
	h.put(uint32(3))
	h.put(uint64(len(list)))
	h.metadata(t)
	offset := 0
	for _, x := range list {
		h.text(x.name)
		h.put(uint32(len(x.dims)))
		for _, d := range x.dims {
			h.put(uint64(d))
		}
		kind := uint32(1) // float16
		if x.norm {
			kind = 0
		}
		h.put(kind)
		h.put(uint64(offset))
		offset += padded(x.size())
	}
	h.Write(make([]byte, padded(h.Len())-h.Len()))
	w := bufio.NewWriterSize(out, 1<<20)
	w.Write(h.Bytes()) // bufio keeps the first error for Flush
	r := rand.New(rand.NewPCG(seed, 7))
	var two [2]byte
	for _, x := range list {
		for range x.elements() {
			if x.norm {
				w.Write([]byte{0, 0, 0x80, 0x3f}) // 1.0
				continue
			}
			binary.LittleEndian.PutUint16(two[:], float16(float32(r.NormFloat64()*x.scale)))
			w.Write(two[:])
		}
		w.Write(make([]byte, padded(x.size())-x.size()))
	}
	return w.Flush()
}

func padded(n int) int { return (n + align - 1) / align * align }

// header collects what stands before the weights.
type header struct{ bytes.Buffer }

func (h *header) put(v any) {
	if err := binary.Write(h, binary.LittleEndian, v); err != nil {
		panic(err) // a value that is not of fixed size
	}
}

func (h *header) text(s string) {
	h.put(uint64(len(s)))
	h.WriteString(s)
}

// metadata writes the key-value section with its count.
func (h *header) metadata(t *tokenizer) {
	pairs := []struct {
		key   string
		value any
	}{
		{"general.architecture", "llama"}, {"general.name", "random-tiny"}, {"general.file_type", uint32(1)},
		{"llama.context_length", uint32(context)}, {"llama.embedding_length", uint32(dim)}, {"llama.block_count", uint32(layers)},
		{"llama.feed_forward_length", uint32(ffn)}, {"llama.attention.head_count", uint32(heads)}, {"llama.attention.head_count_kv", uint32(kvHeads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)}, {"llama.rope.freq_base", float32(10000)}, {"llama.rope.dimension_count", uint32(dim / heads)},
		{"llama.vocab_size", uint32(len(t.texts))},
		{"tokenizer.ggml.model", "gpt2"}, {"tokenizer.ggml.pre", "qwen2"},
		{"tokenizer.ggml.tokens", t.texts}, {"tokenizer.ggml.token_type", t.types}, {"tokenizer.ggml.merges", t.merges},
		{"tokenizer.ggml.eos_token_id", t.eos}, {"tokenizer.ggml.bos_token_id", t.eos}, {"tokenizer.ggml.add_bos_token", false},
	}
	h.put(uint64(len(pairs)))
	for _, p := range pairs {
		h.text(p.key)
		switch v := p.value.(type) {
		case uint32:
			h.put(uint32(4))
			h.put(v)
		case float32:
			h.put(uint32(6))
			h.put(v)
		case bool:
			h.put(uint32(7))
			h.put(v)
		case string:
			h.put(uint32(8))
			h.text(v)
		case []string:
			h.put([]uint32{9, 8})
			h.put(uint64(len(v)))
			for _, s := range v {
				h.text(s)
			}
		case []int32:
			h.put([]uint32{9, 5})
			h.put(uint64(len(v)))
			h.put(v)
		default:
			panic(fmt.Sprintf("no GGUF type for %T", v))
		}
	}
}

// float16 rounds towards zero; too small is zero, too large infinity.
func float16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	exp := int32(b>>23&0xff) - 127 + 15
	switch {
	case exp <= 0:
		return sign
	case exp >= 31:
		return sign | 0x7c00
	}
	return sign | uint16(exp)<<10 | uint16(b&0x7fffff>>13)
}
