package synth

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Any length that the shortest prompt allows comes out exactly, by counting the
// finished text, whatever the tokenizer, and no prompt begins as another.
func TestExact(t *testing.T) {
	for _, tok := range []Tokenizer{plain, merging, small(t)} {
		t.Run(tok.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := Defaults()
				p.Requests = rapid.IntRange(1, 20).Draw(t, "requests")
				p.Input = "uniform:60-400"
				p.LengthOf = rapid.SampledFrom([]string{OfContent, OfTemplated}).Draw(t, "of")
				p.Kind = rapid.SampledFrom([]string{KindPlain, KindPlain, KindCopy}).Draw(t, "kind")
				if p.Kind == KindCopy {
					p.Input = "uniform:160-400" // a request of letters takes some
				}
				p.Seed = rapid.Uint64().Draw(t, "seed")
				b, err := NewBuilder(p, tok)
				if err != nil {
					t.Fatal(err)
				}
				var data bytes.Buffer
				m, err := b.Write(context.Background(), &data, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				var first []string
				for i, q := range questionsOf(data.Bytes()) {
					content := len(tok.Content(nil, q))
					ids, _ := tok.Prompt(nil, user(q))
					f := m.Rows[i]
					want := b.shapes[i].target
					got := content
					if p.LengthOf == OfTemplated {
						got = len(ids)
					}
					if got != want || f.Content != content || f.Templated != len(ids) {
						t.Fatalf("row %d: %d content, %d templated tokens; asked %d, manifest %+v", i, content, len(ids), want, f)
					}
					if p.Kind == KindCopy && (f.Output != content-b.suffixCost && tok.Name() != "merging" || !strings.HasSuffix(q, copyRequest)) {
						t.Fatalf("row %d: %+v, of which %d tokens ask for the copy", i, f, b.suffixCost)
					}
					key := string([]byte{byte(ids[b.before]), byte(ids[b.before] >> 8), byte(ids[b.before] >> 16)})
					if b.digits == 1 && slices.Contains(first, key) {
						t.Fatalf("two prompts begin alike")
					}
					first = append(first, key)
				}
			})
		})
	}
}

func questionsOf(data []byte) []string { return questions(fatal{}, data) }

// fatal is a testing.TB where there is none.
type fatal struct{ testing.TB }

func (fatal) Helper()                   {}
func (fatal) Fatalf(s string, a ...any) { panic(s) }

func TestUnreachable(t *testing.T) {
	p := Defaults()
	p.Input = "21"
	_, err := build(t, p, pairs)
	if err == nil || !strings.Contains(err.Error(), "row 0: no text of tokenizer pairs was found that counts exactly 21 content tokens; the nearest are 20 and 22") {
		t.Errorf("%v", err)
	}
	p.Input = "22"
	if b := mustBuild(t, p, pairs); b.Rows[0].Content != 22 {
		t.Errorf("%+v", b.Rows[0])
	}
	p.Input, p.LengthOf = "3", OfTemplated
	_, err = build(t, p, plain)
	if err == nil || !strings.Contains(err.Error(), "the nearest length is 5 (1 for words that tell the prompts apart, 4 of the template)") {
		t.Errorf("%v", err)
	}
}

// 118,784 cached of an actual input of 131,076 are 90.6222 %, which are 90.625 %
// of the 131,072-token body.
func TestCacheShareOfActualInput(t *testing.T) {
	for _, change := range []func(*Params){
		func(p *Params) { p.CachedTokens, p.Input, p.LengthOf = 118784, "131076", OfTemplated },
		func(p *Params) { p.CacheShare, p.Input, p.LengthOf = "0.906222", "131076", OfTemplated },
		func(p *Params) { p.CacheShare, p.Input, p.LengthOf = "0.906222", "131072", OfContent },
	} {
		p := Defaults()
		p.Requests, p.PageSize, p.Seed = 3, 64, 1
		change(&p)
		b := mustBuild(t, p, plain)
		for i, r := range b.Rows {
			want := 118784
			if i == 0 {
				want = 0
			}
			if r.Templated != 131076 || r.Content != 131072 || r.Expected != want {
				t.Errorf("%s: %+v", p.Input, r)
			}
		}
		if got := round(b.Summary.RepeatShare, 6); got != "0.906222" {
			t.Errorf("share %s", got)
		}
	}
}

func TestScenarios(t *testing.T) {
	base := Defaults()
	base.Requests, base.Input, base.CacheShare, base.PageSize, base.Groups, base.Seed = 40, "500", "0.9", 8, 4, 3
	for _, tok := range []Tokenizer{plain, merging, small(t)} {
		for name, change := range map[string]func(*Params){
			"interleaved": func(p *Params) {},
			"grouped":     func(p *Params) { p.Order = Grouped },
			"shuffled":    func(p *Params) { p.Order = Shuffled },
			"zipf":        func(p *Params) { p.Popularity = "zipf:1.1" },
			"prepared":    func(p *Params) { p.Prepare = true },
			"lengths":     func(p *Params) { p.Input, p.Prepare = "uniform:300-900", true },
			"copy":        func(p *Params) { p.Kind, p.Input, p.CacheShare = KindCopy, "900", "0.5" },
		} {
			t.Run(tok.Name()+"/"+name, func(t *testing.T) {
				p := base
				change(&p)
				b := mustBuild(t, p, tok)
				first := map[int]bool{}
				for i, r := range b.Rows {
					if r.First == (p.Prepare || first[r.Group]) {
						t.Errorf("row %d: first touch %v", i, r.First)
					}
					first[r.Group] = true
				}
				if got, want := round(b.Summary.RepeatShare, 1), p.CacheShare; got != want {
					t.Errorf("share %s, want %s", got, want)
				}
				want := len(first)
				if p.Prepare {
					want = 0
				}
				if b.Summary.FirstTouches != want {
					t.Errorf("%d first touches, want %d", b.Summary.FirstTouches, want)
				}
				// And the set says the same when it is read and counted again.
				src, data := source(t, b.data)
				var err error
				var list []Difference
				if p.Prepare {
					prep, seeds := source(t, b.prepare)
					list, err = Verify(context.Background(), Files{src, data, prep, seeds}, tok, b.Manifest, nil)
				} else {
					list, err = Verify(context.Background(), Files{Rows: src, Data: data}, tok, b.Manifest, nil)
				}
				if err != nil || len(list) > 0 {
					t.Errorf("%v %v", list, err)
				}
			})
		}
	}
}

func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		n, groups int
		exp       float64
		want      []int
	}{
		{10, 3, 0, []int{4, 3, 3}},
		{100, 4, 1, []int{48, 24, 16, 12}},
		{3, 5, 1, []int{1, 1, 1, 0, 0}},
	} {
		if got := apportion(tt.n, tt.groups, tt.exp); !slices.Equal(got, tt.want) {
			t.Errorf("%d among %d: %v, want %v", tt.n, tt.groups, got, tt.want)
		}
	}
	s := settled{Params: Params{Requests: 6, Groups: 2, CachedTokens: 1, Order: Interleaved}}
	if got := s.groups(); !slices.Equal(got, []int{0, 1, 0, 1, 0, 1}) {
		t.Errorf("interleaved: %v", got)
	}
	s.Order = Grouped
	if got := s.groups(); !slices.Equal(got, []int{0, 0, 0, 1, 1, 1}) {
		t.Errorf("grouped: %v", got)
	}
}

// Another salt is the same set in other words; nothing of the one hits a cache
// that has seen the other, but the template.
func TestSalt(t *testing.T) {
	p := Defaults()
	p.Requests, p.Input, p.CacheShare, p.Groups, p.Seed = 30, "uniform:200-400", "0.5", 3, 9
	a := mustBuild(t, p, plain)
	again := mustBuild(t, p, plain)
	if !bytes.Equal(a.data, again.data) || cmp.Diff(a.Manifest, again.Manifest) != "" {
		t.Error("the same parameters gave other bytes")
	}
	p.Salt = 1
	b := mustBuild(t, p, plain)
	for i := range a.Rows {
		x, y := a.Rows[i], b.Rows[i]
		if x.SHA256 == y.SHA256 {
			t.Errorf("row %d is the same text", i)
		}
		if x.SHA256, y.SHA256 = "", ""; x != y {
			t.Errorf("row %d has another shape: %+v, %+v", i, x, y)
		}
	}
	tr := newTree(16)
	for _, set := range []built{a, b} {
		shared := 0
		for i, q := range questions(t, set.data) {
			ids, _ := plain.Prompt(nil, user(q))
			got := tr.add(pages(ids, 16), len(ids))
			if set.Manifest == b.Manifest && got != b.Rows[i].Expected {
				shared++
			}
		}
		if shared > 0 {
			t.Errorf("%d rows of the second set hit pages of the first", shared)
		}
	}
}

func TestCorpus(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corpus.txt")
	text := strings.Repeat("The cat sat on the mat.\nThen “it” slept — on and on, 12,345 times.\n\n", 40)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Defaults()
	p.Requests, p.Input, p.From, p.Seed, p.CacheShare, p.PageSize = 12, "700", path, 5, "0.8", 8
	for _, tok := range []Tokenizer{plain, merging, small(t)} {
		b := mustBuild(t, p, tok)
		for i, q := range questions(t, b.data) {
			if n := len(tok.Content(nil, q)); n != 700 {
				t.Errorf("%s: row %d has %d tokens", tok.Name(), i, n)
			}
			if !strings.Contains(q, "slept — on and on") {
				t.Errorf("%s: row %d is not of the corpus: %q", tok.Name(), i, q)
			}
		}
		if b.Files[0].Param != "from" || b.Summary.Expected == 0 {
			t.Errorf("%+v", b.Files)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("fine\nfine \xff\xfe\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.From = bad
	if _, err := build(t, p, plain); err == nil || !strings.Contains(err.Error(), "bad.txt:2 is not UTF-8") {
		t.Errorf("%v", err)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Params)
		want   string
	}{
		{"no rows", func(p *Params) { p.Requests = 0 }, "--requests 0"},
		{"too many rows", func(p *Params) { p.Requests = 1 << 40 }, "--requests"},
		{"length", func(p *Params) { p.Input = "0" }, "--input: length \"0\""},
		{"output", func(p *Params) { p.Output = "x" }, "--output-len: "},
		{"length of", func(p *Params) { p.LengthOf = "all" }, "--length-of \"all\": must be content or templated"},
		{"kind", func(p *Params) { p.Kind = "x" }, "must be plain or copy"},
		{"order", func(p *Params) { p.Order = "x" }, "must be grouped or interleaved or shuffled"},
		{"page", func(p *Params) { p.PageSize = 0 }, "--page-size 0"},
		{"share 1", func(p *Params) { p.CacheShare = "1" }, "below 1: the last token is always computed"},
		{"share negative", func(p *Params) { p.CacheShare = "-0.1" }, "must be a share from 0"},
		{"share in percent", func(p *Params) { p.CacheShare = "90.6%" }, "write --cache-share 0.906"},
		{"share as text", func(p *Params) { p.CacheShare = "NaN" }, "must be a share"},
		{"both", func(p *Params) { p.CacheShare, p.CachedTokens = "0.5", 8 }, "give one"},
		{"groups without cache", func(p *Params) { p.Groups = 2 }, "no effect without --cache-share"},
		{"prepare without cache", func(p *Params) { p.Prepare = true }, "no effect without --cache-share"},
		{"more groups than rows", func(p *Params) { p.Groups, p.CacheShare = 11, "0.5" }, "from 1 to the 10 requests"},
		{"popularity", func(p *Params) { p.Popularity, p.CacheShare = "pareto", "0.5" }, "zipf:1.1"},
		{"share out of reach", func(p *Params) { p.CacheShare, p.PageSize = "0.900", 64 },
			"--cache-share 0.900 is not reachable with --page-size 64: of 1028 tokens with the template the nearest are 0.871595 (--cached-tokens 896) and 0.933852 (--cached-tokens 960)"},
		{"tokens between pages", func(p *Params) { p.CachedTokens, p.PageSize = 900, 64 }, "in steps of 64; the nearest is 896"},
		{"all tokens", func(p *Params) { p.CachedTokens = 1040 }, "the nearest is 1024"},
		{"below the template", func(p *Params) { p.CachedTokens, p.PageSize = 1, 1 }, "the nearest is 3"},
		{"page longer than the prompt", func(p *Params) { p.CacheShare, p.PageSize = "0.5", 2048 }, "use a smaller --page-size"},
		{"too short to tell apart", func(p *Params) { p.Input, p.Kind = "5", KindCopy }, "that ask for the copy"},
		{"page 1, no first token of its own", func(p *Params) { p.Requests, p.PageSize = 400, 1 }, "use more --prefix-groups, fewer --requests or a larger --page-size"},
	}
	for _, tt := range tests {
		p := Defaults()
		p.Requests = 10
		tt.change(&p)
		if _, err := build(t, p, plain); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %q", tt.name, err, tt.want)
		}
	}
}

func TestManifestGolden(t *testing.T) {
	p := Defaults()
	p.Requests, p.Input, p.Output, p.CacheShare, p.Groups, p.Prepare, p.Seed, p.PageSize = 6, "uniform:60-90", "8", "0.6", 2, true, 7, 4
	b := mustBuild(t, p, plain)
	var got bytes.Buffer
	if err := b.Write(&got); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/manifest.golden.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("-update rewrites it:\n%s", d)
	}
	m, err := ReadManifest(golden)
	if err != nil || cmp.Diff(m, b.Manifest) != "" {
		t.Errorf("read back: %v\n%s", err, cmp.Diff(m, b.Manifest))
	}
}

func TestReadManifestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"question":"x"}`:                 "schema \"\"",
		`{`:                                "is no manifest",
		`{"schema":"tokentape.dataset/2"}`: "tokentape.dataset/2",
		`{"schema":"tokentape.dataset/1","data":{"rows":2}}`: "it counts 2 rows and lists 0",
	} {
		path := filepath.Join(t.TempDir(), "m.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadManifest(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What was read as a manifest is written and read again as the same; parameters
// of a stranger's manifest are refused or settled, never a panic.
func FuzzManifest(f *testing.F) {
	golden, err := os.ReadFile("testdata/manifest.golden.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"schema":"tokentape.dataset/1","params":{"requests":2,"input":"uniform:3-9","cache_share":"0.5","page_size":4}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest(bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := decodeManifest(&out)
		if err != nil {
			t.Fatal(err)
		}
		var twice bytes.Buffer
		if err := again.Write(&twice); err != nil || again.Params != m.Params || len(again.Rows) != len(m.Rows) {
			t.Fatalf("%v: %+v, %+v", err, again.Params, m.Params)
		}
		if !strings.Contains(m.Params.Input+m.Params.Output, ":/") { // no file of this machine
			_, _ = m.Params.settle()
		}
	})
}

func TestVerifyFinds(t *testing.T) {
	p := Defaults()
	p.Requests, p.Input, p.Output, p.CacheShare, p.PageSize = 4, "100", "8", "0.5", 8
	b := mustBuild(t, p, plain)
	lines := bytes.SplitAfter(b.data, []byte("\n"))
	word := strings.Fields(questions(t, b.data)[2])[90]
	lines[2] = bytes.Replace(lines[2], []byte(" "+word), nil, 1)
	lines[3] = bytes.Replace(lines[3], []byte(`"max_tokens":8`), []byte(`"max_tokens":9`), 1)
	src, data := source(t, bytes.Join(lines, nil))
	list, err := Verify(context.Background(), Files{Rows: src, Data: data}, merging, b.Manifest, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, strings.Repeat("·", d.Row+1)+" "+d.Text)
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"the file was changed", "··· SHA-256 of the row", "··· content tokens: 99, the manifest says 100", "··· templated tokens: 103", "···· output tokens: 9, the manifest says 8"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

func TestInspect(t *testing.T) {
	src, _ := source(t, []byte(`{"question":"waa wab wac"}
{"question":"waa wab wad wae","max_tokens":5}
{"question":"waa wab wac"}
{"question":"wax wäy"}
`))
	x, err := Inspect(context.Background(), src, plain, InspectOptions{PageSize: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if x.Content.Sum != 12 || x.Content.Min != 2 || x.Content.P50 != 3 || x.Content.Max != 4 || x.Templated.Sum != 28 || x.Output.N != 1 || x.Output.Max != 5 {
		t.Errorf("content %+v, templated %+v, output %+v", x.Content, x.Templated, x.Output)
	}
	if x.Bytes.Max != 15 || x.Characters.Min != 7 || x.Bytes.Min != 8 {
		t.Errorf("bytes %+v, characters %+v", x.Bytes, x.Characters)
	}
	if x.Duplicates != (Duplicates{Rows: 1, Share: 0.25, Row: 2, Of: 0}) {
		t.Errorf("duplicates %+v", x.Duplicates)
	}
	// Pages of 2: the template's two tokens, "waa wab", then "wac" and the
	// template's first of two behind it: row 2 repeats row 0 but for its last token.
	if x.Prefix.Cached != 4+6+2 || x.Prefix.Common != 2 || len(x.Prefix.Groups) != 1 || x.Prefix.Groups[0].Shared != 4 {
		t.Errorf("prefix %+v", x.Prefix)
	}
	b, err := Inspect(context.Background(), src, nil, InspectOptions{PageSize: 2}, nil)
	if err != nil || b.Content != nil || b.Tokenizer != nil || b.Prefix.Unit != "bytes" {
		t.Errorf("without a tokenizer: %+v, %v", b, err)
	}
}

// A build can be stopped.
func TestCancel(t *testing.T) {
	p := Defaults()
	p.Requests, p.Input = 100, "100"
	b, err := NewBuilder(p, plain)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err = b.Write(ctx, &bytes.Buffer{}, nil, func(done, _ int) {
		if done == 3 {
			cancel()
		}
	})
	if err != context.Canceled {
		t.Errorf("%v", err)
	}
}
