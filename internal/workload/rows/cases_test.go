package rows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tokentape/internal/dialect"
	"tokentape/internal/plan"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
)

// The cases of data sets and traces, by their numbers.

// prompts are the user's last words of every item.
func prompts(t *testing.T, s *Source) []string {
	t.Helper()
	out := []string{}
	for i := range s.Len() {
		item, err := s.Item(i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, item.Messages[len(item.Messages)-1].Content)
	}
	return out
}

func mustOpen(t *testing.T, w spec.Workload) *Source {
	t.Helper()
	s, err := source(t, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refuses(t *testing.T, w spec.Workload, want ...string) {
	t.Helper()
	s, err := source(t, w)
	if err == nil {
		t.Fatalf("accepted: %q", s.Notes())
	}
	contains(t, err, want...)
}

func contains(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func says(t *testing.T, s *Source, want string) {
	t.Helper()
	if !slices.ContainsFunc(s.Notes(), func(n string) bool { return strings.Contains(n, want) }) {
		t.Errorf("%q does not say %q", s.Notes(), want)
	}
}

// C01: conversations that ask nothing are left out and counted by reason; those that
// can be used are, whatever their roles are called.
func TestC01UnusableConversations(t *testing.T) {
	w := write(t, "c01.json", `[{"id":"1","conversations":[]},{"id":"2","conversations":[{"from":"human","value":"q"}]},{"id":"3"},{"id":"4","conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"q"}]},{"id":"5","conversations":[{"from":"human","value":""},{"from":"gpt","value":"a"}]},{"id":"6","conversations":[{"from":"human","value":"ok"},{"from":"gpt","value":"yes"},{"from":"human","value":"more"},{"from":"gpt","value":"fine"}]},{"id":"7","conversations":[{"from":"system","value":"s"},{"from":"user","value":"u"},{"from":"assistant","value":"v"}]}]`)
	s := mustOpen(t, w)
	if got := prompts(t, s); !reflect.DeepEqual(got, []string{"ok", "u"}) {
		t.Errorf("%q", got)
	}
	says(t, s, "5 rows were left out since they ask nothing: empty 1, empty_prompt 1, no_answer 1, no_conversations 1, wrong_order 1")
	item, _ := s.Item(1)
	if item.Ref.Row != 6 || item.Messages[0].Content != "s" || item.Messages[0].Role != "system" {
		t.Errorf("%+v", item)
	}
	w.Dataset.Turns = "all"
	if item, _ := mustOpen(t, w).Item(0); len(item.Messages) != 3 || item.Messages[1].Role != "assistant" || item.Messages[2].Content != "more" {
		t.Errorf("%+v", item)
	}
	refuses(t, write(t, "none.json", `[{"conversations":[]},{"conversations":[]}]`), "none of its 2 rows asks anything: empty 2")
	refuses(t, write(t, "odd.json", `[{"conversations":"hi"}]`), "odd.json:1:1: conversations is not a list of turns")
}

// C02: a byte order mark, blank lines and CR LF are no rows and no errors; a bad line is
// named by file and line and ends it before anything is sent, or is skipped and counted.
func TestC02LinesOfJSON(t *testing.T) {
	w := write(t, "c02.jsonl", "\xEF\xBB\xBF{\"prompt\":\"a\"}\r\n\r\n{\"prompt\":\"b\"}\n{\"prompt\": }\n   \n{\"prompt\":\"c\"}")
	w.Template = "{prompt}"
	refuses(t, w, "c02.jsonl:4:12: the row is not JSON")
	w.Dataset.OnBadRow = "skip"
	s := mustOpen(t, w)
	if got := prompts(t, s); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
	says(t, s, "bad=1")
	if item, _ := s.Item(2); item.Ref.Offset != 53 {
		t.Errorf("offset %d", item.Ref.Offset)
	}
}

// C03: a quoted field is one prompt with its quotes, commas and line breaks; a bare quote
// and a field too many are named by line; an empty length is the default.
func TestC03Quoting(t *testing.T) {
	w := write(t, "c03.csv", "\xEF\xBB\xBFprompt,output_len\r\n\"say \"\"hi\"\", then\r\ngo\",5\r\nplain \"bare\" quote,6\r\n\r\n\"x\",\r\na,7,extra\r\n")
	w.Template, w.Dataset.Columns = "{prompt}", map[string]string{"max_tokens": "output_len"}
	refuses(t, w, "c03.csv:4:7: a quote stands within a field")
	w.Dataset.OnBadRow = "skip"
	s := mustOpen(t, w)
	if got := prompts(t, s); !reflect.DeepEqual(got, []string{"say \"hi\", then\r\ngo", "x"}) {
		t.Errorf("%q", got)
	}
	says(t, s, "bad=2")
	if item, _ := s.Item(0); item.OutputLen != 5 {
		t.Errorf("%+v", item)
	}
	if item, _ := s.Item(1); item.OutputLen != 0 {
		t.Errorf("an empty cell is no length: %+v", item)
	}
	// The other bad row alone.
	w = write(t, "c03.csv", "prompt,output_len\na,7,extra\n")
	w.Template = "{prompt}"
	refuses(t, w, "c03.csv:2:1: the row has 3 fields, the header 2")
}

// C04: prompts that stand more than once are counted before the start, 47 of 50 here.
func TestC04RepeatedPrompts(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, `{"question":"q%d"}`+"\n", i%3)
	}
	says(t, mustOpen(t, write(t, "c04.jsonl", b.String())), "47 of 50 prompts (94 %) repeat an earlier one")
	same := strings.Repeat("The same story. ", 100)
	s := mustOpen(t, write(t, "c04.jsonl", `{"question":"`+same+`A?"}`+"\n"+`{"question":"`+same+`B?"}`+"\n"))
	says(t, s, "all prompts begin with the same 1605 bytes (99.8 % of the shortest)")
	for _, n := range mustOpen(t, write(t, "c04.jsonl", `{"question":"a"}`+"\n"+`{"question":"b"}`)).Notes() {
		t.Errorf("nothing repeats, but: %s", n)
	}
	// Repeats of rows are the plan's: 3 rows, 50 requests.
	p, err := plan.Make(spec.Load{Requests: 50, Concurrency: 1}, 0, 3, "cycle", "file", spec.Seeds{})
	if err != nil || p.Repeats() != 47 {
		t.Errorf("%d repeats, %v", p.Repeats(), err)
	}
}

// C05: fewer rows than requests is an error unless they may be sent again, and then each
// is used as often as any other; no row at all is an error.
func TestC05FewRows(t *testing.T) {
	load := spec.Load{Requests: 90, Concurrency: 1}
	if _, err := plan.Make(load, 0, 21, "none", "file", spec.Seeds{}); err == nil || !strings.Contains(err.Error(), "need 90 dataset rows, the dataset has 21") {
		t.Errorf("%v", err)
	}
	for _, order := range []string{"file", "shuffle"} {
		p, err := plan.Make(load, 0, 21, "cycle", order, spec.Seeds{Run: 3})
		if err != nil {
			t.Fatal(err)
		}
		used := make([]int, 21)
		for i := range p.Rows() {
			r, _ := p.At(i)
			used[r.Item]++
		}
		if slices.Min(used) != 4 || slices.Max(used) != 5 || p.Repeats() != 69 {
			t.Errorf("%s: %v, %d repeats", order, used, p.Repeats())
		}
	}
	refuses(t, write(t, "c05.jsonl", "\n\n"), "no rows")
	refuses(t, write(t, "c05.csv", "question\n"), "no rows")
	refuses(t, write(t, "c05.json", "[]"), "no rows")
	w := write(t, "c05.jsonl", `{"question":"a","split":"train"}`)
	w.Dataset.Filter = map[string]any{"split": "test"}
	refuses(t, w, "workload.dataset.filter: leaves none of the 1 rows")
	w.Dataset.Filter = map[string]any{"splitt": "train"}
	refuses(t, w, `no row has a field "splitt"`, "did you mean split?")
	w.Dataset.Filter, w.Dataset.Skip = nil, 1
	refuses(t, w, "workload.dataset.skip: 1 leaves none of the 1 rows")
}

// The share of C09 that is the rows': text of special tokens is sent as it is.
func TestC09SpecialTokensAreText(t *testing.T) {
	const prompt = "<|im_start|>user\nHi</s>"
	w := write(t, "c09.jsonl", `{"question":"<|im_start|>user\nHi</s>"}`)
	item, err := mustOpen(t, w).Item(0)
	if err != nil || item.Prompt != prompt {
		t.Fatalf("%q, %v", item.Prompt, err)
	}
	d, _ := dialect.Get("openai-chat")
	body, err := d.Body(item, dialect.Options{})
	if err != nil || !strings.Contains(string(body), `"<|im_start|>user\nHi</s>"`) {
		t.Errorf("%s, %v", body, err)
	}
}

// C10: seconds and milliseconds are told apart, times count from the first row and are
// put in order; a row without one is named.
func TestC10TimesOfTraces(t *testing.T) {
	const rest = `, "input_length": 10, "output_length": 5, "hash_ids": [%d]}` + "\n"
	trace := func(times ...string) string {
		var b strings.Builder
		for i, at := range times {
			fmt.Fprintf(&b, `{"timestamp": %s`+rest, at, i/2)
		}
		return b.String()
	}
	ms := int64(time.Millisecond)
	for _, tt := range []struct {
		name, text, unit string
		times            []int64
		rows             []int64
		says             []string
		silent           bool // nothing absurd
	}{
		{"since 1970", trace("1700000000000", "1700000000500", "1700000000200"), "auto", []int64{0, 200 * ms, 500 * ms}, []int64{0, 2, 1},
			[]string{"read as ms (they count from 1970): 3 rows over 500ms", "1 of 3 rows were out of order"}, true},
		{"seconds since 1970", trace("1700000000", "1700000000.5", "1700000000.2"), "auto", []int64{0, 200 * ms, 500 * ms}, []int64{0, 2, 1},
			[]string{"read as s (they count from 1970)"}, true},
		{"ns since 1970", trace("1700000000000000000", "1700000000500000000"), "auto", []int64{0, 500 * ms}, []int64{0, 1}, []string{"read as ns"}, true},
		{"fractions", trace("0.0", "0.5", "0.2"), "auto", []int64{0, 200 * ms, 500 * ms}, []int64{0, 2, 1}, []string{"read as s (fractions"}, true},
		{"the rule", trace("0", "200", "500"), "auto", []int64{0, 200 * ms, 500 * ms}, []int64{0, 1, 2}, []string{"read as ms (the rule of a Mooncake trace)"}, true},
		{"ms with a fraction", trace("0", "200.25", "500"), "auto", []int64{0, 200*ms + 250_000, 500 * ms}, []int64{0, 1, 2}, []string{"read as ms (the rule"}, true},
		{"said otherwise", trace("1700000000000", "1700000000500", "1700000000200"), "s", []int64{0, 200_000 * ms, 500_000 * ms}, []int64{0, 2, 1},
			[]string{"read as s (workload.dataset.time_unit)", "absurd timestamps? 3 rows over 8m20s is one every 4m10s; is s the right unit"}, false},
		{"seconds read as ms", trace("0", "0.2", "0.5"), "ms", []int64{0, 200_000, 500_000}, []int64{0, 1, 2}, []string{"absurd timestamps? 3 rows over 500µs is one every 250µs"}, false},
		{"begins late", trace("5000", "5000", "6000"), "auto", []int64{0, 0, 1000 * ms}, []int64{0, 1, 2}, nil, true},
		{"exponents", trace("1.7e12", "1.7000000005e12"), "auto", []int64{0, 500 * ms}, []int64{0, 1}, []string{"read as ms (they count"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := write(t, "c10.jsonl", tt.text)
			w.Dataset.TimeUnit = tt.unit
			s := mustOpen(t, w)
			if got := s.Times(); !slices.Equal(got, tt.times) {
				t.Errorf("times %v, want %v", got, tt.times)
			}
			for i, row := range tt.rows {
				if item, err := s.Item(int64(i)); err != nil || item.Ref.Row != row || item.At != tt.times[i] || item.InputLen != 10 || item.OutputLen != 5 {
					t.Errorf("item %d: %+v, %v", i, item, err)
				}
			}
			for _, n := range tt.says {
				says(t, s, n)
			}
			if said := strings.Contains(strings.Join(s.Notes(), "\n"), "absurd"); said == tt.silent {
				t.Errorf("%q", s.Notes())
			}
		})
	}
	for name, tt := range map[string]struct{ text, want string }{
		"missing":    {trace("0", "1") + `{"input_length": 10, "output_length": 5, "hash_ids": [0]}`, "c10.jsonl:3:1: the row has no timestamp"},
		"null":       {trace("0", "null"), "c10.jsonl:2:1: the row has no timestamp"},
		"negative":   {trace("0", "-5"), "c10.jsonl:2:1: timestamp is -5, which is negative"},
		"text":       {trace("0", `"2023-11-16"`), `c10.jsonl:2:1: timestamp is "2023-11-16", which is no number`},
		"text of it": {trace("0", `"5"`), "which is no number"},
		"huge":       {trace("0", "1e40"), "which is too large"},
		"centuries":  {trace("0", "9000000000000000000"), "the trace would last more than 290 years"},
		"no length":  {`{"timestamp": 0, "hash_ids": [1], "output_length": 5}`, "c10.jsonl:1:1: the row has no input_length"},
		"bad length": {`{"timestamp": 0, "input_length": 2.5, "output_length": 5}`, "input_length is 2.5, which is no number of tokens"},
		"bad ids":    {`{"timestamp": 0, "input_length": 100, "output_length": 5, "hash_ids": [1,2,3]}`, "3 hash_ids are not those of 100 tokens"},
		"odd ids":    {`{"timestamp": 0, "input_length": 100, "output_length": 5, "hash_ids": [-1]}`, "hash_ids holds -1"},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, write(t, "c10.jsonl", tt.text), tt.want) })
	}
	w := write(t, "c10.jsonl", trace("0", "-5", "7"))
	w.Dataset.OnBadRow = "skip"
	s := mustOpen(t, w)
	if !slices.Equal(s.Times(), []int64{0, 7 * ms}) {
		t.Errorf("%v", s.Times())
	}
	says(t, s, "bad=1")
	// Rows of another kind carry times when the spec says so.
	w = write(t, "c10.csv", "question,sent\na,10\nb,20\n")
	if s := mustOpen(t, w); s.Times() != nil {
		t.Errorf("nobody asked for %v", s.Times())
	}
	w.Dataset.Columns = map[string]string{"timestamp": "sent"}
	refuses(t, w, "workload.dataset.time_unit: the unit of the timestamps is not known")
	w.Dataset.TimeUnit = "s"
	if s := mustOpen(t, w); !slices.Equal(s.Times(), []int64{0, 10_000 * ms}) {
		t.Errorf("%v", s.Times())
	}
}

// Equal ids at the start make equal text, and nothing else does.
func TestBlocks(t *testing.T) {
	w := write(t, "a.jsonl", `{"timestamp":0,"input_length":1300,"output_length":1,"hash_ids":[1,2,3]}
{"timestamp":1,"input_length":1500,"output_length":1,"hash_ids":[1,2,4]}
{"timestamp":2,"input_length":1400,"output_length":1,"hash_ids":[1,2,3]}
{"timestamp":3,"input_length":1024,"output_length":1,"hash_ids":[2,1]}
{"timestamp":4,"input_length":700,"output_length":1}
{"timestamp":5,"input_length":700,"output_length":1}
`)
	got := prompts(t, mustOpen(t, w))
	shared := func(a, b string) int { // words
		n, x, y := 0, strings.Fields(a), strings.Fields(b)
		for n < min(len(x), len(y)) && x[n] == y[n] {
			n++
		}
		return n
	}
	for i, n := range []int{1300, 1500, 1400, 1024, 700, 700} {
		if words := len(strings.Fields(got[i])); words != n {
			t.Errorf("row %d has %d words, not %d", i, words, n)
		}
	}
	for _, tt := range []struct{ a, b, want int }{{0, 1, 1024}, {0, 2, 1300}, {0, 3, 0}, {4, 5, 0}, {0, 4, 0}} {
		if n := shared(got[tt.a], got[tt.b]); n < tt.want || n > tt.want+2 {
			t.Errorf("rows %d and %d share %d words, not %d", tt.a, tt.b, n, tt.want)
		}
	}
	other, err := Open(w, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if prompts(t, other)[0] == got[0] {
		t.Error("another seed gives the same prompts")
	}
	seen := map[string]bool{}
	for _, word := range words {
		seen[word] = true
	}
	if len(seen) != len(words) {
		t.Error("a word stands twice")
	}
}

// C11: fields for the body must be JSON, are merged deeply, and leave what tokentape
// itself sets in place unless they are announced.
func TestC11ExtraFields(t *testing.T) {
	d, _ := dialect.Get("openai-chat")
	body := func(row string) string {
		t.Helper()
		s := mustOpen(t, write(t, "c11.jsonl", row))
		item, _ := s.Item(0)
		b, err := d.Body(item, dialect.Options{Model: "m", Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// Nested objects are merged, so that include_usage survives.
	if got := body(`{"question":"a","extra":{"stream_options":{"continuous_usage_stats":true}}}`); !strings.Contains(got, `"stream_options":{"continuous_usage_stats":true,"include_usage":true}`) {
		t.Error(got)
	}
	for _, tt := range []struct{ row, want string }{
		{`{"question":"a","extra":{"stream_options":{"include_usage":"True"}}}`, `c11.jsonl:1:1: stream_options.include_usage is "True"; true or false, without quotes`},
		{`{"question":"a","extra":{bad}}`, "c11.jsonl:1:26: the row is not JSON"},
		{`{"question":"a","extra":"{bad"}`, `c11.jsonl:1:1: extra is no object: "{bad"`},
		{`{"question":"a","extra":{"messages":[]}}`, "messages is made from the row"},
		{`{"question":"a","extra":{"stream":false}}`, "set workload.stream"},
	} {
		refuses(t, write(t, "c11.jsonl", tt.row), tt.want)
	}
	// What overrides the spec's own is announced.
	s := mustOpen(t, write(t, "c11.jsonl", `{"question":"a","extra":{"model":"x","top_p":0.5}}`+"\n"+`{"question":"b"}`))
	says(t, s, "of 2 dataset rows, these set body fields of their own, which win over the spec's: model (1), top_p (1)")
	// What a caller refuses is refused before the run, with its place.
	w := write(t, "c11.jsonl", `{"question":"a"}`+"\n"+`{"question":"b"}`)
	_, err := Open(w, 1, func(item workload.Item) error {
		if item.Prompt == "b" {
			return errors.New("no")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "c11.jsonl:2:1: the row cannot be sent: no") {
		t.Error(err)
	}
}

// 64 MB of rows, one of them 5 MB: memory does not grow with the file.
func TestC11HugeFile(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MB")
	}
	for name, form := range map[string][2]string{"c11.jsonl": {"", `{"question":%s}` + "\n"}, "c11.csv": {"question\n", "%s\n"}} {
		path := filepath.Join(t.TempDir(), name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(form[0])
		for i := range 64 {
			size := 1 << 10
			if i == 30 {
				size = 5 << 20
			}
			line := fmt.Sprintf(form[1], `"`+strings.Repeat("a b ", size/4)+`"`)
			f.WriteString(strings.Repeat(line, max((1<<20)/len(line), 1)))
		}
		f.Close()
		w := spec.Default().Workload
		w.Dataset.Path = path
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := mustOpen(t, w)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
			t.Errorf("%s: %d rows keep %d bytes", name, s.Len(), kept)
		}
		if sys := int64(after.HeapSys) - int64(before.HeapSys); sys > 150<<20 {
			t.Errorf("%s: the heap grew by %d MB", name, sys>>20)
		}
	}
}
