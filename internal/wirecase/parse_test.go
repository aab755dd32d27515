package wirecase

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// answer1 wraps a timeline of one line, which is line 2.
func answer1(line string) string { return "answer\n  " + line + "\n" }

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		part string
	}{
		{"", 1, "no answer block"},
		{"  indented\n", 1, "before the first block"},
		{"reply\n", 1, `no block "reply"; blocks are case`},
		{"case 4\n", 1, "a letter and two digits"},
		{"case A01\ncase A02\n", 2, "a second case"},
		{"# x\ntitle\n", 2, "its text is missing"},
		{"let x = DONE\n", 1, "NAME = WORDS"},
		{"let A = DONE\nlet A = DONE\n", 2, "taken"},
		{"let ROLE = DONE\n", 1, "taken"},
		{"let A =\n", 1, "words are missing"},
		{"variant\n", 1, "NAME in small letters"},
		{"variant a\nanswer\n  @0 END\nvariant a\n", 4, "a second variant a"},
		{"variant a\n  @0 END\n", 2, "stand at the margin"},
		{"answer x0\n", 1, "only xN"},
		{"answer\n", 1, "without a timeline"},
		{"answer\n  status 200\n  @0 \"x\"\n", 3, "must end in END, CUT, RST or HANG"},
		{answer1("\"x\" END"), 2, "before the first @time"},
		{answer1("END"), 2, "before the first @time"},
		{answer1("@5 @6 END"), 2, "at which nothing happens"},
		{answer1("@5 \"x\" @4 END"), 2, "@4 is before"},
		{answer1("@0 END \"x\""), 2, "behind the end"},
		{answer1("@x END"), 2, `"" is not a time`},
		{answer1("@1.0000001 END"), 2, "not a time in milliseconds"},
		{answer1("@99999999 END"), 2, "more than a day"},
		{answer1("@0*3 \"x\" END"), 2, "wants the time between two writes"},
		{"answer\n  @0*3/10 \"x\"\n  @15 END\n", 2, "behind the next one"},
		{answer1("@0 \"x END"), 2, "string that does not end"},
		{answer1("@0 {\"a\":1 END"), 2, "JSON value that does not end"},
		{answer1("@0 C(x END"), 2, "bracket that is not closed"},
		{"answer\n  @0 C(x\n  y) END\n", 2, "over the line's end"},
		{answer1("@0 X(1) END"), 2, "no call X(…); calls are C(TEXT)"},
		{answer1("@0 GOOD END"), 2, "no word GOOD"},
		{answer1("@0 e() END"), 2, "here must stand"},
		{answer1("@0 e(@1) END"), 2, "a time inside a call"},
		{answer1("@0 e(END) END"), 2, "only bytes"},
		{answer1("@0 U(1) END"), 2, `"," is missing`},
		{answer1("@0 with(\"x\", {}) END"), 2, "must be JSON objects"},
		{answer1("@0 idx(1, \"x\") END"), 2, `no "index":0`},
		{answer1("@0 part(3, 9, \"x\") END"), 2, "only 1 bytes"},
		{answer1("@0 repeat(10000000, repeat(1000, \"x\")) END"), 2, "come to more than"},
		{answer1("@0 C(<xxxxxxxxxx*99999999>) END"), 2, "come to more than"},
		{answer1("@0 \"a\" raw(\"b\") END"), 2, "a write of its own"},
		{answer1("@0 CUT(1) END"), 2, "CUT takes no argument"},
		{answer1("@0 HANG(x)"), 2, "how many milliseconds"},
		{answer1("@0 % END"), 2, `"%" begins no word`},
		{"answer\n  until-close\n  @0 END(X: y)\n", 1, "only a chunked body"},
		{"answer\n  http 2\n", 2, "1.0 or 1.1"},
		{"answer\n  lines lfcr\n", 2, "lf, crlf or cr"},
		{"answer\n  length -1\n", 2, "auto or a number"},
		{"answer\n  gzip twice\n", 2, "each or end"},
		{"answer\n  colour red\n", 2, `no setting "colour" of an answer`},
		{"answer\n  refuse\n  @0 END\n", 3, "has no timeline"},
		{"request\n  limit hurry 5\n", 2, "first_token, idle or total"},
		{"request\n  stream yes\n", 2, "true or false"},
		{"request\n  n 0\n", 2, "above 0"},
		{"request\n  set [1]\n", 2, "JSON object"},
		{"request\n  colour red\n", 2, `no setting "colour" of a request`},
		{"expect\n  colour red\n", 2, `no key "colour"`},
		{"expect\n  text \"x\n", 2, "a quote that does not end"},
		{"expect\n  ttft 1\n  ttft 2\n", 3, "a second ttft"},
		{"expect\n  has\n", 2, "has what?"},
		{"answer\n  @0 \"\xff\" END\n", 2, "not UTF-8"},
	} {
		_, err := Parse("x.case", []byte(c.text))
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Msg, c.part) || !strings.HasPrefix(err.Error(), "x.case:") {
			t.Errorf("%q: %v, want line %d: …%s…", c.text, err, c.line, c.part)
		}
	}
}

func TestParse(t *testing.T) {
	f, err := Parse("x.case", []byte(`
# a comment
case Z09
title two
  lines
policy one
policy two
let PAIR = e(C(a)) @+5 e(C(b))
request x2
  limit idle 1.5
  header A: b
  set {"k":1}
answer x3
  status 429
  header X-Y: z
  length auto
  lines crlf
  # another comment
  @10 PAIR
  @20/2 "xyz"
  @30*2/1 "q" END
expect
  outcome ok
  ttft 10
  has "a b"
variant a first
expect
  ttft 11
variant b second
answer
  http 1.0
  head none
  @0 raw("r") HANG(7)
`))
	if err != nil {
		t.Fatal(err)
	}
	if f.ID != "Z09" || f.Title != "two lines" || len(f.Policy) != 2 || len(f.Variants) != 2 {
		t.Errorf("%+v", f)
	}
	a, b := f.Variants[0], f.Variants[1]
	q := a.Requests[0]
	if q.Times != 2 || q.Limits["idle"] != 1500*time.Microsecond || q.Headers[0] != "A: b" || len(b.Requests) != 1 {
		t.Errorf("request: %+v", q)
	}
	if e := a.Expects[0]; e.Want["ttft"] != "11" || e.Want["outcome"] != "ok" || e.Has[0] != "a b" || b.Expects[0].Want["ttft"] != "10" {
		t.Errorf("expectations: %+v, %+v", e, b.Expects[0])
	}
	ans := a.Answers[0]
	crlf := func(s string) []byte { return bytes.ReplaceAll([]byte(s), []byte("\n"), []byte("\r\n")) }
	want := []Step{
		{At: 10 * time.Millisecond, Data: crlf("data: " + strings.Replace(wordC, "%s", "a", 1) + "\n\n"), Count: 1},
		{At: 15 * time.Millisecond, Data: crlf("data: " + strings.Replace(wordC, "%s", "b", 1) + "\n\n"), Count: 1},
		{At: 20 * time.Millisecond, Data: []byte("xyz"), Count: 1, Every: 2 * time.Millisecond, Drip: true},
		{At: 30 * time.Millisecond, Data: []byte("q"), Count: 2, Every: time.Millisecond},
		{At: 31 * time.Millisecond, Count: 1, End: EndClean},
	}
	if !reflect.DeepEqual(ans.Steps, want) {
		t.Errorf("steps:\n%+v\nwant\n%+v", ans.Steps, want)
	}
	n := len(want[0].Data) + len(want[1].Data) + 5
	if head := string(ans.Head); ans.Times != 3 || ans.Framing != FramingLength ||
		head != "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/event-stream\r\nX-Y: z\r\nContent-Length: "+itoa(n)+"\r\n\r\n" {
		t.Errorf("head: %q", head)
	}
	if s := b.Answers[0].Steps; len(b.Answers[0].Head) != 0 || !s[0].Raw || s[1].End != EndHang || s[1].For != 7*time.Millisecond {
		t.Errorf("second answer: %+v", b.Answers[0])
	}
}

func itoa(n int) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

// Words are the bytes that the project's list of cases gives.
func TestWords(t *testing.T) {
	for words, want := range map[string]string{
		"ROLE":          `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		"C(a b)":        `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a b"},"finish_reason":null}]}`,
		"C(<ab*2>c)":    `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"ababc"},"finish_reason":null}]}`,
		"C(<b> f(x) %)": `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"<b> f(x) %"},"finish_reason":null}]}`,
		`D({"x":")"})`:  `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"x":")"},"finish_reason":null}]}`,
		"FIN(stop)":     `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		"U(7, 2)":       `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`,
		"T()":           `{"id":"t1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"","finish_reason":null}]}`,
		"TFIN(length)":  `{"id":"t1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"","finish_reason":"length"}]}`,
		"DONE":          "data: [DONE]\n\n",
		`e("x")`:        "data: x\n\n",
		`e({"a":1})`:    "data: {\"a\":1}\n\n",

		`with({"a":1}, {"b":2})`: `{"a":1,"b":2}`,
		`idx(3, {"index":0})`:    `{"index":3}`,
		`repeat(3, "ab")`:        "ababab",
		`part(1, 3, "abcd")`:     "bc",
		`"\xe4" + "\r\n" [1,2]`:  "\xe4\r\n[1,2]",
		"`a\\n`":                 `a\n`,
	} {
		f, err := Parse("x", []byte(answer1("@0 "+words+" END")))
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		if got := string(f.Variants[0].Answers[0].Steps[0].Data); got != want {
			t.Errorf("%s:\n%q, want\n%q", words, got, want)
		}
	}
}

// Any text is a file or an *Error with a line of it; never a panic, never more
// bytes than are allowed.
func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/cases/*.case")
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("answer\n  gzip end if-asked\n  head none\n  @0/1 raw(\"x\") @+3*4/5 C(<ab*3>) HANG(5)\n")
	old := maxBytes
	maxBytes = 1 << 20
	f.Cleanup(func() { maxBytes = old })
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("x", []byte(text))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Line > 1+strings.Count(text, "\n") || e.Msg == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, v := range file.Variants {
			for _, a := range v.Answers {
				total, last := 0, time.Duration(-1)
				for i, s := range a.Steps {
					if total += len(s.Data); s.At < last || s.At > 2*maxTime {
						t.Fatalf("step %d at %s, the one before at %s", i, s.At, last)
					}
					if last = s.At; (s.End != EndNone) != (i == len(a.Steps)-1) {
						t.Fatalf("an end at step %d of %d", i, len(a.Steps))
					}
				}
				if total > 4*maxBytes {
					t.Fatalf("%d bytes", total)
				}
			}
		}
	})
}
