package synth

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/internal/workload/tokenizer"
)

// realModel is the tokenizer of a real model, from the folder that
// scripts/tokenizers.sh fetches, with a template of its own special tokens.
func realModel(t testing.TB, model, frame string) *Model {
	t.Helper()
	dir := os.Getenv("TOKENTAPE_TOKENIZERS")
	if dir == "" {
		t.Skip("SKIPPED: NOT held against the real tokenizers of models. To do so: eval \"$(scripts/tokenizers.sh)\" and test again")
	}
	tok, err := tokenizer.Load(filepath.Join(dir, model))
	if err != nil {
		t.Fatal(err)
	}
	render, err := Frame(frame)
	if err != nil {
		t.Fatal(err)
	}
	return NewModel(model, tok, frame, render)
}

// frames are the models' templates around one user message.
var frames = map[string]string{
	"deepseek_v3": "<｜begin▁of▁sentence｜><｜User｜>{content}<｜Assistant｜></think>",
	"qwen3":       "<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n",
	"llama3_1":    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{content}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
	"llama2":      "<s>[INST] {content} [/INST]",
	"gemma3":      "<bos><start_of_turn>user\n{content}<end_of_turn>\n<start_of_turn>model\n",
	"gptoss":      "<|start|>user<|message|>{content}<|end|><|start|>assistant",
}

// Lengths and cached tokens come out exactly with the tokenizers of six models,
// from random words and from a corpus in two scripts.
func TestRealModels(t *testing.T) {
	corpus := filepath.Join(t.TempDir(), "corpus.txt")
	text := strings.Repeat("Prefill computes the prompt; decode makes tokens, one by one (or, with speculation, several).\n"+
		"请用三句话解释大模型推理中的Prefill阶段。连续批处理对吞吐的影响 — 123,456 tokens/s.\n\n\tif err != nil {\n\t\treturn err\n\t}\n", 60)
	if err := os.WriteFile(corpus, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for model, frame := range frames {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			tok := realModel(t, model, frame)
			for _, from := range []string{"", corpus} {
				for _, of := range []string{OfContent, OfTemplated} {
					p := Defaults()
					p.Requests, p.Input, p.LengthOf, p.From, p.Seed = 8, "uniform:700-1400", of, from, 1
					mustBuild(t, p, tok)
					p.Input, p.CacheShare, p.Groups, p.PageSize = "1500", "0.8", 3, 16
					mustBuild(t, p, tok)
					p.Kind = KindCopy
					b := mustBuild(t, p, tok)
					for i, r := range b.Rows {
						if n := len(tok.Content(nil, questions(t, b.data)[i])); of == OfContent && n != 1500 || n != r.Content {
							t.Errorf("row %d: %d tokens, %+v", i, n, r)
						}
					}
				}
			}
		})
	}
}

// One prompt of 131,072 tokens that shares nine tenths with others, finished and
// counted: a set of 640 takes 640 times as long over the number of processors.
func BenchmarkRow(b *testing.B) {
	tok := realModel(b, "qwen3", frames["qwen3"])
	p := Defaults()
	p.Requests, p.Input, p.CacheShare, p.PageSize = 8, "131072", "0.9", 64
	bl, err := NewBuilder(p, tok)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	n := 0
	for b.Loop() {
		m, err := bl.Write(context.Background(), io.Discard, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		n += len(m.Rows)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(n), "ms/row")
}
