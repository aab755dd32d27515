package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tiny is a tokenizer.json with a few characters and merges; fields replace or
// add top-level members.
func tiny(fields map[string]string) []byte {
	doc := map[string]json.RawMessage{
		"model": json.RawMessage(`{"type":"BPE","vocab":{"<unk>":0,"a":1,"b":2,"ab":3},"merges":["a b"],"unk_token":"<unk>"}`),
	}
	for k, v := range fields {
		doc[k] = json.RawMessage(v)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return b
}

// What is not supported, or wrong, is refused by its path.
func TestRefusals(t *testing.T) {
	model := func(s string) map[string]string { return map[string]string{"model": s} }
	for _, c := range []struct {
		fields map[string]string
		want   string
	}{
		{map[string]string{"normalizer": `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Rot13"}]}`}, `normalizer.normalizers[1].type: normalizer "Rot13" is not supported`},
		{map[string]string{"pre_tokenizer": `{"type":"Split","pattern":{"Regex":"a{1,3}+"},"behavior":"Isolated"}`}, `pre_tokenizer.pattern.Regex: "a{1,3}+": the quantifier {…}+ is not supported`},
		{map[string]string{"pre_tokenizer": `{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"}`}, `pre_tokenizer.pattern.Regex: "(": `},
		{map[string]string{"pre_tokenizer": `{"type":"Split","pattern":{"Regex":"a"},"behavior":"Around"}`}, `pre_tokenizer.behavior: "Around" is not a behaviour`},
		{map[string]string{"pre_tokenizer": `{"type":"Metaspace","replacement":"_","prepend_scheme":"last"}`}, `pre_tokenizer.prepend_scheme: "last" is not a scheme`},
		{map[string]string{"pre_tokenizer": `{"type":7}`}, `pre_tokenizer.type: must be a string, not 7`},
		{map[string]string{"pre_tokenizer": `{}`}, `pre_tokenizer.type: is missing; it must be a string`},
		{map[string]string{"decoder": `{"type":"Cipher"}`}, `decoder.type: decoder "Cipher" is not supported`},
		{map[string]string{"post_processor": `{"type":"Mail"}`}, `post_processor.type: post-processor "Mail" is not supported`},
		{map[string]string{"post_processor": `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],"special_tokens":{}}`}, `post_processor.single[0]: special_tokens has no "<s>"`},
		{map[string]string{"post_processor": `{"type":"TemplateProcessing","single":[],"special_tokens":{}}`}, `post_processor.single: has no place for the text`},
		{map[string]string{"added_tokens": `[{"id":9,"content":"<x>"}]`}, `added_tokens[0]: id 9 of "<x>"; the reference implementation would number it 4`},
		{map[string]string{"added_tokens": `[{"id":2,"content":"a"}]`}, `added_tokens[0]: id 2 of "a"; the reference implementation would number it 1`},
		{map[string]string{"normalizer": `{"type":"Precompiled","precompiled_charsmap":"AAAA"}`}, `normalizer.precompiled_charsmap: shorter than its 4-byte header`},
		{map[string]string{"normalizer": `{"type":"Precompiled","precompiled_charsmap":"!"}`}, `normalizer.precompiled_charsmap: not base64`},
		{model(`{"type":"Neural"}`), `model.type: model "Neural" is not supported`},
		{model(`{"type":"BPE","vocab":{"a":1},"merges":["a b"]}`), `model.merges[0]: "a" + "b": one of the two or both together is not in the vocabulary`},
		{model(`{"type":"BPE","vocab":{"a":1},"merges":["ab"]}`), `model.merges[0]: must be two tokens with a blank between them, not "ab"`},
		{model(`{"type":"BPE","vocab":{"a":-1},"merges":[]}`), `model.vocab[a]: must be a token id, not -1`},
		{model(`{"type":"BPE","vocab":{"a":99999999999},"merges":[]}`), `model.vocab[a]: must be a token id`},
		{model(`{"type":"BPE","vocab":[],"merges":[]}`), `model.vocab: must be an object from token to id`},
		{model(`{"type":"BPE","vocab":{"a":1},"merges":[],"dropout":0.1}`), `model.dropout: dropout makes token counts random`},
		{model(`{"type":"BPE","vocab":{"a":1},"merges":[],"unk_token":"?"}`), `model.unk_token: "?" is not in the vocabulary`},
		{model(`{"type":"Unigram","vocab":[["a",-1]]}`), `model.unk_id: is missing`},
		{model(`{"type":"Unigram","vocab":[["a",-1]],"unk_id":1}`), `model.unk_id: must be an integer from 0 to 0, not 1`},
		{model(`{"type":"Unigram","vocab":[["a"]],"unk_id":0}`), `model.vocab[0]: must be a token and its score`},
		{model(`{"type":"WordPiece","vocab":{"a":0}}`), `model.unk_token: is missing`},
		{model(`null`), `model: is missing`},
	} {
		_, err := parse("tokenizer.json", tiny(c.fields), &config{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\n got %v\nwant %s", c.fields, err, c.want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "missing"), "no such file"},
		{filepath.Dir(write("empty/readme.md", "hi")), "has no tokenizer.json, tokenizer.model or *.tiktoken"},
		{write("none/tokenizer.json", ""), "the file is empty"},
		{write("lfs/tokenizer.json", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), "git lfs pull"},
		{write("list/tokenizer.json", "[1]"), "a JSON array, not an object"},
		{write("text/tokenizer.json", "hello"), `neither JSON nor lines of base64 and a rank; it starts with "hello"`},
		{write("cut/tokenizer.json", `{"model":`), "not JSON"},
		{write("latin/tokenizer.json", "{\"model\":\"\xff\"}"), "the file is not UTF-8"},
		{write("sp/tokenizer.model", "hello"), "not a SentencePiece model"},
		{write("sp2/tokenizer.model", "\x0a\x03\x0a\x01a"), "no piece is the unknown piece"},
		{write("tik/own.tiktoken", "YQ== 0\n"), `write the model's pattern as "pat_str"`},
		{write("tik2/cl100k_base.tiktoken", "YQ== 0\nYQ== 1\n"), "line 2: the token"},
		{write("tik3/cl100k_base.tiktoken", "YQ== 0\n*\n"), "line 2: want a token in base64"},
		{write("tik4/cl100k_base.tiktoken", "YQ== 0\n"), "byte 0x00 has no token"},
		{filepath.Dir(write("two/a.tiktoken", "YQ== 0\n")), "has more than one .tiktoken file"},
		{filepath.Dir(write("cfg/tokenizer.json", string(tiny(nil)))), "tokenizer_config.json: bos_token: must be a string, not 3"},
	} {
		write("two/b.tiktoken", "YQ== 0\n")
		write("cfg/tokenizer_config.json", `{"bos_token":3}`)
		_, err := Load(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Base(dir)) {
			t.Errorf("%s:\n got %v\nwant the path and %q", c.path, err, c.want)
		}
	}
}

// byteFile is a .tiktoken file of all bytes and a few more tokens.
func byteFile() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, s := range []string{"he", "ll", "hell", " w", "hello"} {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(s)), 256+i)
	}
	return b.String()
}

// A folder is looked through in order, and its tokenizer_config.json read.
func TestLoadFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("own.tiktoken", byteFile())
	write("tokenizer_config.json", `{"pat_str":"\\s?\\S+|\\s","added_tokens_decoder":{"300":{"content":"<e>","special":true}}}`)
	tok, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tok.Encode("hello w<e>", true)); got != "[260 259 300]" {
		t.Error("ids", got)
	}
	if tok.VocabSize() != 262 || !tok.Special(300) || tok.Special(260) || len(tok.SHA256()) != 64 || tok.Decode([]int32{260, 300}, true) != "hello" {
		t.Error(tok.VocabSize(), tok.SHA256(), tok.Decode([]int32{260, 300}, true))
	}
	write("tokenizer.json", string(tiny(map[string]string{"added_tokens": `[{"id":4,"content":"<s>","special":true}]`})))
	write("tokenizer_config.json", `{"tokenizer_class":"LlamaTokenizerFast","add_bos_token":true,"bos_token":{"content":"<s>"}}`)
	if tok, err = Load(dir); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tok.Encode("abxba<s>", true)); got != "[3 0 2 1 4]" {
		t.Error("ids", got)
	}
	if n := tok.Notes(); len(n) != 1 || !strings.Contains(n[0], "add_bos_token=true (<s>), tokenizer.json adds none") {
		t.Errorf("notes %q", n)
	}
	if n, err := tok.CountTokens("abxba"); n != 4 || err != nil {
		t.Error(n, err)
	}
}
