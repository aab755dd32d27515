package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tokentape/internal/analysis"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var cases = []struct {
	name string
	of   func() *analysis.Results
}{{"open-loop", openLoop}, {"zero", zero}, {"one", one}, {"interrupted", interrupted}}

func text(t *testing.T, r *analysis.Results, view func(io.Writer, *analysis.Results) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := view(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func consoleOf(o Options) func(io.Writer, *analysis.Results) error {
	return func(w io.Writer, r *analysis.Results) error { return Console(w, r, o) }
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./internal/report -update writes it)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (-want +got); go test ./internal/report -update accepts it:\n%s", path, d)
	}
}

func TestGolden(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			golden(t, c.name+".txt", text(t, c.of(), consoleOf(Options{})))
			golden(t, c.name+".full.txt", text(t, c.of(), consoleOf(Options{Full: true})))
			golden(t, c.name+".md", text(t, c.of(), markdownOf(Options{})))
			golden(t, c.name+".full.md", text(t, c.of(), markdownOf(Options{Full: true})))
			golden(t, c.name+".json", text(t, c.of(), JSON))
			golden(t, c.name+".stats.csv", text(t, c.of(), StatsCSV))
			golden(t, c.name+".requests.csv", text(t, c.of(), RequestsCSV))
		})
	}
}

// At 80 columns no line is broken by the terminal, CJK text included.
func TestWidth(t *testing.T) {
	for _, c := range cases {
		for _, o := range []Options{{Width: 80}, {Width: 100}, {Width: 80, Full: true}, {Width: 100, Full: true}} {
			for i, l := range strings.Split(text(t, c.of(), consoleOf(o)), "\n") {
				if w := columns.StringWidth(l); w > o.Width {
					t.Errorf("%s %+v: line %d has %d columns: %q", c.name, o, i+1, w, l)
				}
				if strings.HasSuffix(l, " ") {
					t.Errorf("%s %+v: line %d ends in a space: %q", c.name, o, i+1, l)
				}
			}
		}
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	for _, full := range []bool{false, true} {
		testColor(t, full)
	}
}

func testColor(t *testing.T, full bool) {
	r := openLoop()
	without, with := text(t, r, consoleOf(Options{Full: full})), text(t, r, consoleOf(Options{Color: true, Full: full}))
	if strings.Contains(without, "\x1b") {
		t.Error("an escape sequence reached a report without colours")
	}
	if !strings.Contains(with, "\x1b[1;32mFIT FOR USE") {
		t.Errorf("no green verdict: %q", with[:60])
	}
	bare := with
	for _, st := range []style{bold, dim, red, green, yellow} {
		bare = strings.ReplaceAll(bare, "\x1b["+string(st)+"m", "")
	}
	if bare = strings.ReplaceAll(bare, "\x1b[0m", ""); bare != without {
		t.Error("colours changed the text:\n" + cmp.Diff(without, bare))
	}
}

func TestFirstLine(t *testing.T) {
	for line, want := range map[string]string{
		"fit for use; 2 notes": "FIT FOR USE · 2 notes",
		"fit for use; 2 notes: window too small, prompts repeated": "FIT FOR USE · 2 notes: window too small, prompts repeated",
		"fit for use":                           "FIT FOR USE",
		"":                                      "FIT FOR USE",
		"NOT fit for use: client-bound; 1 note": "NOT FIT FOR USE: client-bound · 1 note",
		"NOT fit for use: a; b":                 "NOT FIT FOR USE: a; b",
		"odd words":                             "FIT FOR USE: odd words",
	} {
		r := one()
		r.Verdict = analysis.Verdict{Fit: !strings.HasPrefix(want, "NOT"), Line: line}
		if got, _, _ := strings.Cut(text(t, r, consoleOf(Options{})), "\n"); got != want {
			t.Errorf("%q: first line %q, want %q", line, got, want)
		}
	}
}

// Fills every string of Results that warns of something with a text of its own
// and looks for each in each view.
func TestEveryWarningReachesEveryView(t *testing.T) {
	r := openLoop()
	for i := range r.Windows {
		for _, s := range r.Windows[i].Metrics {
			s.Warnings = []string{"x"}
		}
		r.Windows[i].Warnings = []string{"x", "x"}
		r.Windows[i].LeftOut = "x"
	}
	for i := range r.Verdict.Checks {
		r.Verdict.Checks[i].Result = analysis.ResultMiss
		r.Verdict.Checks[i].Do = "x"
	}
	r.Notes, r.About.Faults = []string{"x", "x"}, []string{"x", "x"}
	var planted []string
	plant := func(v reflect.Value) {
		s := "planted-" + string(rune('a'+len(planted)/26)) + string(rune('a'+len(planted)%26)) + "-warning"
		planted = append(planted, s)
		v.SetString(s)
	}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				walk(it.Value())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Field(i)
				switch v.Type().Field(i).Name {
				case "Warnings", "Notes", "Faults":
					for j := range f.Len() {
						plant(f.Index(j))
					}
				case "Why", "LeftOut", "Do":
					plant(f)
				case "Rows":
				default:
					walk(f)
				}
			}
		}
	}
	walk(reflect.ValueOf(r))
	if len(planted) < 30 {
		t.Fatalf("only %d warnings planted; the walk is broken", len(planted))
	}
	for name, view := range map[string]func(io.Writer, *analysis.Results) error{"short": consoleOf(Options{}), "full": consoleOf(Options{Full: true}),
		"markdown": markdownOf(Options{}), "full markdown": markdownOf(Options{Full: true}), "json": JSON, "stats.csv": StatsCSV} {
		out := text(t, r, view)
		for _, s := range planted {
			if !strings.Contains(out, s) {
				t.Errorf("%s lacks %s", name, s)
			}
		}
	}
}

// A class of failure, its example, the finish reasons and the stop reason are
// facts that no view for people may lose.
func TestConsoleNamesWhatFailed(t *testing.T) {
	for full, wants := range map[bool][]string{
		true: {"640 planned = 636 ok + 4 failed + 0 cancelled + 0 not issued", "3 http_status (429: 2, 503: 1)", "429, for example: 429 Too Many", "503 Service Unavailable", "1 reset", "length 600", "641 for 640 issued",
			"1,311 output tokens", "87.10 % of requests waited for a slot", "in-flight never reached 90", "no_done 2, not_streamed 5", "client_bound", "cache_state (the server reports no cached tokens)",
			"11 requests (2 of preparation, 4 of warm-up, 5 of tail), in no number below", "flush POST http://127.0.0.1:30000/flush_cache at -0.50", "status 200 after 12.2", "api_key=*** at -0.40", "no answer after 3 ms: connection refused"},
		false: {"640 planned = 636 ok + 4 failed (http_status 3 (429: 2, 503: 1), reset 1) + 0 cancelled + 0 not issued", "503: 503 Service Unavailable", "429: 429 Too Many Requests", "reset: 连接被对端重置", "length 600", "641 attempts for 640",
			"1,311 output tokens", "87.10 % waited for a slot", "in-flight never reached 90", "2 checks passed", "not judged: cache_state (the server reports no cached tokens)", "flags: no_done 2, not_streamed 5", "2 of preparation, 4 of warm-up, 5 of tail"},
	} {
		out := strings.Join(strings.Fields(text(t, openLoop(), consoleOf(Options{Full: full}))), " ")
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("full %v lacks %q", full, want)
			}
		}
	}
}

func TestJSONReadsBackAndIsStable(t *testing.T) {
	r := openLoop()
	out := text(t, r, JSON)
	if !strings.HasSuffix(out, "}\n") {
		t.Error("no newline at the end")
	}
	var back analysis.Results
	if err := json.Unmarshal([]byte(out), &back); err != nil {
		t.Fatal(err)
	}
	if again := text(t, &back, JSON); again != out {
		t.Error("a second round gives other bytes:\n" + cmp.Diff(out, again))
	}
	if strings.Contains(text(t, zero(), JSON), `"mean": 0`) {
		t.Error("zero samples have a mean")
	}
}

func TestNaNIsRefused(t *testing.T) {
	bad := func() *analysis.Results {
		r := openLoop()
		r.Windows[2].Metrics["ttft_ms"].CI["p50"] = ci(1, math.NaN())
		r.Rows = analysis.RowsOf([]analysis.Row{{TPOTMS: p(math.Inf(1))}})
		return r
	}
	for name, view := range map[string]func(io.Writer, *analysis.Results) error{"console": consoleOf(Options{}), "json": JSON, "stats": StatsCSV, "requests": RequestsCSV} {
		var b bytes.Buffer
		err := view(&b, bad())
		if err == nil || !strings.Contains(err.Error(), "must be absent") {
			t.Errorf("%s: err = %v", name, err)
		}
		if strings.Contains(b.String(), "NaN") {
			t.Errorf("%s wrote NaN", name)
		}
	}
}

func TestCSV(t *testing.T) {
	for _, c := range cases {
		for name, view := range map[string]func(io.Writer, *analysis.Results) error{"stats": StatsCSV, "requests": RequestsCSV} {
			lines, err := csv.NewReader(strings.NewReader(text(t, c.of(), view))).ReadAll()
			if err != nil {
				t.Fatalf("%s %s: %v", c.name, name, err)
			}
			if name == "requests" && len(lines) != 1+c.of().Rows.Len() {
				t.Errorf("%s: %d lines for %d requests", c.name, len(lines), c.of().Rows.Len())
			}
		}
	}
	lines, _ := csv.NewReader(strings.NewReader(text(t, openLoop(), RequestsCSV))).ReadAll()
	at := func(line int, column string) string {
		for i, h := range lines[0] {
			if h == column {
				return lines[line][i]
			}
		}
		t.Fatalf("no column %s", column)
		return ""
	}
	for _, x := range []struct {
		line         int
		column, want string
	}{
		{1, "released_s", "0.000012345"}, {1, "due_s", "0.000000000"}, {1, "ttft_ms", "193.250001"}, {1, "cached_tokens", "0"}, {1, "connection_reused", "false"},
		{1, "reasoning_tokens", ""}, {1, "windows", "whole steady"}, {2, "message", `'=HYPERLINK("http://x")`}, {2, "due_s", ""}, {2, "flags", "no_done buffered"},
		{2, "output_tokens", ""}, {3, "http_status", ""}, {3, "connection_reused", ""}, {3, "message", "拒绝连接, \"quoted\" second line"},
	} {
		if got := at(x.line, x.column); got != x.want {
			t.Errorf("request %d %s = %q, want %q", x.line, x.column, got, x.want)
		}
	}
}

func TestGuard(t *testing.T) {
	for in, want := range map[string]string{"": "", "=1": "'=1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": " x", "\x1b[31mred\x07": "?[31mred?", "a=1": "a=1", "中": "中"} {
		if got := guard(in); got != want {
			t.Errorf("guard(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNum(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0", 1: "1", 640: "640", -1234567: "-1,234,567", 12345.678: "12,346", 999.96: "1,000", 193.25: "193.2", 99.9999: "100.0",
		9.87412: "9.874", 0.5: "0.500", 0.0912: "0.0912", 0.000012: "1.2e-05", 100000: "100,000", -0.25: "-0.250", 10.013: "10.01",
	} {
		if got := num(in); got != want {
			t.Errorf("num(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	long := "请求编号A001。请用三句话解释大模型推理中的Prefill阶段。"
	for _, width := range []int{8, 11, 20, 33} {
		var back string
		for _, l := range wrap(long, width) {
			if w := columns.StringWidth(l); w > width {
				t.Errorf("width %d: %q has %d", width, l, w)
			}
			back += l
		}
		if back != long {
			t.Errorf("width %d: text changed to %q", width, back)
		}
	}
}

// Every metric with a definition appears once, and text from servers cannot
// steer a terminal.
func TestGlossaryAndClean(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range terms {
		if seen[x.name] || x.text == "" || x.title == "" || columns.StringWidth(x.title) > 14 {
			t.Errorf("bad term %+v", x)
		}
		seen[x.name] = true
	}
	if got := clean("a\x1b[31m\u202eb\r\nc\u009b"); got != "a?[31m?b  c?" {
		t.Errorf("clean: %q", got)
	}
}

// The document names every column of requests.csv, in its order.
func TestRequestColumnsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(doc), "\n## requests.csv\n")
	part, _, _ = strings.Cut(part, "\n## ")
	var said, have []string
	for _, line := range strings.Split(part, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cells[1], -1) {
				said = append(said, m[1])
			}
		}
	}
	for _, c := range slices.Concat(requestColumns, partColumns) {
		have = append(have, c.name)
	}
	if !slices.Equal(said, have) {
		t.Errorf("docs/metrics.md has %v, requests.csv %v", said, have)
	}
}

// No line of a console is wider than its page, down to the narrowest.
func TestNothingIsWiderThanThePage(t *testing.T) {
	for _, c := range cases {
		for _, full := range []bool{false, true} {
			for width := 60; width <= 130; width += 7 {
				got := text(t, c.of(), consoleOf(Options{Width: width, Full: full}))
				for _, line := range strings.Split(got, "\n") {
					if n := columns.StringWidth(line); n > width {
						t.Errorf("%s at %d columns, full %v, is %d wide: %q", c.name, width, full, n, line)
					}
				}
			}
		}
	}
}

// A table that is too wide is cut into parts, evenly, and stacked where no two columns
// fit; no cell is lost.
func TestTablesFit(t *testing.T) {
	long := strings.Repeat("long ", 9)
	wide := table{head: []string{"name", "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd"}, rows: []row{
		{cells: []string{"one", "1", "2", "3", "4"}}, {under: "a remark"}, {cells: []string{"two", "5"}, wide: "not observed"}}}
	for _, c := range []struct {
		width int
		t     table
		want  string
	}{
		{60, wide, "  name  aaaaaaaaaa  bbbbbbbbbb  cccccccccc  dddddddddd\n  one            1           2           3           4\n      a remark\n  two            5  not observed\n"},
		{50, wide, "  name  aaaaaaaaaa  bbbbbbbbbb\n  one            1           2\n      a remark\n  two            5  not observed\n\n  name  cccccccccc  dddddddddd\n  one            3           4\n"},
		{40, table{head: []string{"", "value"}, rows: []row{{cells: []string{long, "12"}}}}, "  long long long long long long long\n  long long\n      value 12\n"},
	} {
		p := page{width: c.width}
		if p.table(c.t); p.b.String() != c.want {
			t.Errorf("%d:\n%s\nwant\n%s", c.width, p.b.String(), c.want)
		}
	}
	p := page{width: 30}
	p.sideTables([]sideTable{{heads: []sideRow{{label: "Latency", cells: []beside{{value: "whole"}, {value: "steady"}, {value: "stable"}}}},
		rows: []sideRow{{label: "  TTFT p50", cells: []beside{{"1,000", "(900–1,100)"}, {"2", ""}, {"3", "(2–4)"}}}}}})
	want := "\nLatency           whole\n  TTFT p50        1,000\n            (900–1,100)\n\nLatency     steady  stable\n  TTFT p50       2       3\n                     (2–4)\n"
	if got := p.b.String(); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// The full page tells the words of the load's rows that it shows, and no others.
func TestGlossaryOfLoad(t *testing.T) {
	r := one()
	r.Load.Loop, r.Load.PacerLagP99MS, r.Load.ClientWaitReads = "open", p(1.0), nil
	for range 2 {
		shown := r.Load.ClientWaitReads != nil
		for lang, want := range map[string][]string{"en": {"Pacer lag with the start counts them", "had lain in the client's kernel"}, zh: {"闭环最先的 C 次发送", "于客户端内核中停留"}} {
			got := text(t, r, consoleOf(Options{Width: 100_000, Full: true, Lang: lang}))
			for _, w := range want {
				if strings.Contains(got, w) != shown {
					t.Errorf("%s, shown %t: %q\n%s", lang, shown, w, got)
				}
			}
		}
		r.Load.Loop, r.Load.ClientWaitReads = "closed", p[int64](200)
	}
}
