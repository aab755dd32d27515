package tokenizer

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reference is one line of scripts/tokenizer-reference.js.
type reference struct {
	Name      string
	Tokenizer json.RawMessage // a tokenizer.json, or
	Model     []byte          // a tokenizer.model, or
	File      string          // a file beside
	Want      []answer
}

type answer struct {
	Text            string
	IDs             []int32
	Special         []int32
	Spans           [][2]int // characters
	Skip, Full      *string  // decoded Special, without and with special tokens
	Any             []int32
	AnySkip, AnyOut *string
	AnyFull         *string
}

// The reference's own answers for small tokenizers that between them use every
// step there is. scripts/tokenizer-diff.sh update writes them.
func TestReferenceSmall(t *testing.T) {
	f, err := os.Open("testdata/reference.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if n := holdAgainst(t, z, ""); n < 80 {
		t.Errorf("%d small tokenizers, want at least 80", n)
	}
}

// Thousands of random texts; scripts/tokenizer-diff.sh makes them.
func TestReferenceDiff(t *testing.T) {
	dir := os.Getenv("TOKENTAPE_TOKENIZER_DIFF")
	if dir == "" {
		t.Skip("SKIPPED: NOT held against the reference on random texts. To do so: scripts/tokenizer-diff.sh")
	}
	for _, name := range []string{"small.jsonl", "models.jsonl"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		holdAgainst(t, f, dir)
		f.Close()
	}
}

func holdAgainst(t *testing.T, r io.Reader, dir string) (n int) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<30)
	for ; sc.Scan(); n++ {
		var ref reference
		if err := json.Unmarshal(sc.Bytes(), &ref); err != nil {
			t.Fatal(err)
		}
		t.Run(ref.Name, func(t *testing.T) { ref.hold(t, dir) })
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func (ref *reference) load(t *testing.T, dir string) *Tokenizer {
	var tok *Tokenizer
	var err error
	switch {
	case ref.Tokenizer != nil:
		tok, err = parse("tokenizer.json", ref.Tokenizer, &config{})
	case ref.Model != nil:
		tok, err = parse("tokenizer.model", ref.Model, &config{})
	case ref.File != "":
		tok, err = Load(filepath.Join(dir, ref.File))
	default:
		return modelTokenizer(t, ref.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func (ref *reference) hold(t *testing.T, dir string) {
	tok := ref.load(t, dir)
	wrong := 0
	for _, a := range ref.Want {
		if a.Text == "" && len(a.Any) == 0 && a.IDs == nil {
			t.Fatal("an empty answer")
		}
		bad := func(what string, got, want any) {
			if wrong++; wrong <= 3 {
				t.Errorf("%q\n%s\n got %+q\nwant %+q", a.Text, what, got, want)
			}
		}
		got := tok.Encode(a.Text, false)
		if !slices.Equal(got, a.IDs) {
			bad("ids", tokensOf(tok, got), tokensOf(tok, a.IDs))
			continue
		}
		ids, spans := tok.EncodeOffsets(a.Text, false)
		if !slices.Equal(ids, a.IDs) {
			bad("ids with offsets", tokensOf(tok, ids), tokensOf(tok, a.IDs))
		}
		checkSpans(t, a.Text, ids, spans)
		if a.Special != nil {
			if got := tok.Encode(a.Text, true); !slices.Equal(got, a.Special) {
				bad("ids with special tokens", got, a.Special)
			}
		}
		for _, d := range []struct {
			what string
			ids  []int32
			skip bool
			want *string
		}{
			{"decoded, special tokens left out", a.Special, true, a.Skip}, {"decoded", orIDs(a.Special, a.IDs), false, a.Full},
			{"any ids decoded, special tokens left out", a.Any, true, a.AnySkip}, {"any ids decoded", a.Any, false, a.AnyFull},
		} {
			if d.want != nil {
				if got := tok.Decode(d.ids, d.skip); got != *d.want {
					bad(d.what, got, *d.want)
				}
			}
		}
		// The reference trims blanks off spans in most tokenizers; not in these.
		// What NFC changes it aligns character by character, we in segments.
		if (ref.Name == "model-bytebpe-nosplit" || ref.Name == "qwen3") && norm.NFC.IsNormalString(a.Text) {
			if got := inRunes(a.Text, spans); !slices.Equal(got, a.Spans) {
				bad("spans", got, a.Spans)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d texts wrong", wrong, len(ref.Want))
	}
}

func orIDs(special, ids []int32) []int32 {
	if special != nil {
		return special
	}
	return ids
}

func tokensOf(t *Tokenizer, ids []int32) (out []string) {
	for _, id := range ids {
		s, _ := t.Token(id)
		out = append(out, s)
	}
	return out
}

// inRunes turns bytes into the characters that they touch, which is how the
// reference counts.
func inRunes(s string, spans []Span) [][2]int {
	out := make([][2]int, len(spans))
	for i, p := range spans {
		a, b := p.Start, p.End
		for a > 0 && a < len(s) && !utf8.RuneStart(s[a]) {
			a--
		}
		for b < len(s) && !utf8.RuneStart(s[b]) {
			b++
		}
		out[i] = [2]int{utf8.RuneCountInString(s[:a]), utf8.RuneCountInString(s[:b])}
	}
	return out
}
