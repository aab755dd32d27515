package view

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tokentape/internal/analysis"
	"tokentape/internal/bundle"
	"tokentape/internal/report"
	"tokentape/internal/report/html"
	"tokentape/tape"
)

// made says what a run on disk is like.
type made struct {
	name, run string
	n         int
	slow      int64 // ns more to each first token
	notes     map[string]string
	bare      bool // no results.json
	page      bool // with report.html
	model     string
}

// write makes the folder of a run below dir.
func (m made) write(tb testing.TB, dir, rel string) string {
	tb.Helper()
	at := filepath.Join(dir, rel)
	if err := os.MkdirAll(at, 0o755); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(at, tape.NameCompressed)
	m.tape(tb, path)
	if m.bare {
		return at
	}
	res, err := analysis.AnalyseFile(path, analysis.Options{Charts: true})
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.JSON(&b, res); err != nil {
		tb.Fatal(err)
	}
	put(tb, filepath.Join(at, "results.json"), b.String())
	if m.page {
		b.Reset()
		if err := html.Write(&b, res, html.Options{}); err != nil {
			tb.Fatal(err)
		}
		put(tb, filepath.Join(at, pageName), b.String())
	}
	return at
}

func (m made) tape(tb testing.TB, path string) {
	tb.Helper()
	w, err := tape.Create(path, strings.HasSuffix(path, ".zst"))
	if err != nil {
		tb.Fatal(err)
	}
	some := tape.Some[int64]
	if m.run == "" {
		m.run = "run-" + m.name
	}
	if m.model == "" {
		m.model = "m"
	}
	spec, _ := json.Marshal(map[string]any{"name": m.name, "target": map[string]any{"api": "openai-chat"}, "workload": map[string]any{"stream": true}, "load": map[string]any{"requests": m.n, "concurrency": 2}, "notes": m.notes})
	lines := []any{&tape.Header{
		Type: "header", Schema: tape.Schema, Run: m.run, Name: m.name, Tool: tape.Tool{Version: "0"}, Spec: spec,
		Anchor: tape.Anchor{Wall: "2026-11-30T04:00:00Z", Clock: "monotonic", ReadStamp: "conn"},
		Plan:   tape.PlanRef{SHA256: "aa", Rows: int64(m.n), Kind: "rows"}, Data: tape.DataRef{Path: "d.jsonl", Rows: 10, SHA256: "bb"},
		Host: tape.Host{OS: "linux", Arch: "amd64", CPUs: 2}, Server: tape.Server{URL: "http://me:pw1234@127.0.0.1:30000/v1/chat/completions", Model: m.model},
	}}
	var end int64
	for i := range m.n {
		at := int64(i) * 50_000_000
		from := at + 40_000
		ttft := 20_000_000 + m.slow + int64(i%7)*1_000_000
		last := from + ttft + 3*10_000_000
		end = last + 100_000
		lines = append(lines, &tape.Request{
			Type: "request", Seq: int64(i), Phase: tape.PhaseMeasure, Attempts: 1, Ref: tape.Ref{Row: int64(i % 10)}, Outcome: tape.OutcomeOK, Finish: "stop",
			TReady: some(at), TReleased: some(at), TConn: some(at + 1000), TWroteFirst: some(from), TWrote: some(from + 1000), Conn: &tape.Conn{ID: 1, Reused: i > 0},
			TFirstEvent: some(from + ttft), THeaders: some(from + ttft), TFirstToken: some(from + ttft), TFirstVisible: some(from + ttft), TLastToken: some(last), TEnd: some(end),
			HTTP:   tape.HTTP{Status: 200, Proto: "HTTP/1.1"},
			Events: tape.Events{DT: []int64{ttft, 10_000_000, 10_000_000, 10_000_000, 0}, Kind: "c4 d"},
			Tokens: tape.Tokens{Input: some(10), InputSource: tape.SourceUsage, Output: some(4), OutputSource: tape.SourceUsage},
		})
	}
	lines = append(lines, &tape.Footer{Type: "footer", Reason: tape.ReasonCompleted, TEnd: end, Planned: int64(m.n), OK: int64(m.n), Failed: map[string]int64{}})
	for _, l := range lines {
		if err := w.Write(l); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

func put(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// over is a Server over dir.
func over(tb testing.TB, dir string, o Options) *Server {
	tb.Helper()
	o.Dir = dir
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// get asks s; change alters the request.
func get(s http.Handler, target string, change ...func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "127.0.0.1:30078"
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func body(r *http.Response) string {
	var b bytes.Buffer
	b.ReadFrom(r.Body)
	return b.String()
}

// runs asks for the list until no scan runs, and gives it by path.
func runs(tb testing.TB, s *Server) map[string]*Entry {
	tb.Helper()
	for {
		var l listing
		if err := json.Unmarshal([]byte(body(get(s, "/api/runs"))), &l); err != nil {
			tb.Fatal(err)
		}
		if l.Error != "" {
			tb.Fatal(l.Error)
		}
		if l.Scanning {
			continue
		}
		by := map[string]*Entry{}
		for _, e := range l.Runs {
			by[e.Path] = e
		}
		return by
	}
}

// settled asks until the work behind an answer is done, or failed.
func settled(s *Server, target string) *http.Response {
	for {
		r := get(s, target)
		if r.StatusCode != http.StatusAccepted {
			return r
		}
		s.works.wait()
		if strings.HasPrefix(target, "/run/") { // its page tries again what failed
			if r := get(s, "/api"+target); r.StatusCode != http.StatusOK {
				return r
			}
		}
	}
}

// What lies in a folder is listed as what it is, and what is broken with the reason.
func TestList(t *testing.T) {
	dir := t.TempDir()
	made{name: "first", n: 40, notes: map[string]string{"cards": "8", "api_key": "sk-123456"}}.write(t, dir, "first/2026-11-30T040000Z")
	made{name: "bare", n: 3, bare: true}.write(t, dir, "bare/1")
	made{name: "empty", n: 0}.write(t, dir, "deep/er/down")
	made{name: "imported", n: 2}.tape(t, filepath.Join(dir, "old.jsonl.zst"))
	made{name: "plain", n: 2}.tape(t, filepath.Join(dir, "plain.jsonl"))
	put(t, filepath.Join(dir, "data.jsonl"), `{"question": "what?"}`+"\n")
	put(t, filepath.Join(dir, "other.zip"), "PK\x03\x04 some other archive")
	put(t, filepath.Join(dir, "notes.txt"), "hello")
	torn := made{name: "torn", n: 5}.write(t, dir, "torn/1")
	whole, err := os.ReadFile(filepath.Join(torn, tape.NameCompressed))
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range map[string]string{"broken/cut": string(whole[:100]), "broken/text": "hello", "broken/empty": "", "broken/newer": `{"type":"header","schema":"tokentape.tape/99"}` + "\n"} {
		if err := os.MkdirAll(filepath.Join(dir, at), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, at, tape.NamePlain), text)
	}
	mixed := made{name: "mixed", n: 2}.write(t, dir, "mixed/1")
	other, err := os.ReadFile(filepath.Join(dir, "first/2026-11-30T040000Z/results.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(mixed, "results.json"), string(other))
	garbled := made{name: "garbled", n: 2}.write(t, dir, "garbled/1")
	put(t, filepath.Join(garbled, "results.json"), "{\"schema\": 7")
	pack(t, filepath.Join(dir, "packed"+packEnd), filepath.Join(dir, "first/2026-11-30T040000Z"))
	put(t, filepath.Join(dir, "cut"+packEnd), "PK\x03\x04")

	got := runs(t, over(t, dir, Options{}))
	for path, want := range map[string][2]string{
		"first/2026-11-30T040000Z": {StateUnfit, ""}, "bare/1": {StateUnread, "no results.json"}, "deep/er/down": {StateUnfit, ""}, "old.jsonl.zst": {StateUnread, ""}, "plain.jsonl": {StateUnread, ""},
		"torn/1": {StateUnfit, ""}, "broken/cut": {StateBroken, ""}, "broken/text": {StateBroken, "hello"}, "broken/empty": {StateBroken, "nothing in it"}, "broken/newer": {StateBroken, "99"},
		"mixed/1": {StateUnread, "another run"}, "garbled/1": {StateUnread, "results.json"}, "packed" + packEnd: {StateUnfit, ""}, "cut" + packEnd: {StateBroken, "cut short"},
	} {
		e := got[path]
		if e == nil {
			t.Errorf("%s is not listed", path)
			continue
		}
		if state := e.State; state != want[0] && (want[0] != StateUnfit || state != StateFit) || !strings.Contains(e.Line, want[1]) || e.Line == "" {
			t.Errorf("%s: %s, %q; want %s, %q", path, e.State, e.Line, want[0], want[1])
		}
		delete(got, path)
	}
	for path, e := range got {
		t.Errorf("%s should not be listed: %s %s", path, e.State, e.Line)
	}
	e := runs(t, over(t, dir, Options{}))["first/2026-11-30T040000Z"]
	if e.Name != "first" || e.Model != "m" || e.Server != "127.0.0.1:30000" || e.N != 40 || e.C != 2 || e.Notes["cards"] != "8" || e.Notes["api_key"] != "***" || e.TTFTP50 == nil || *e.TTFTP50 < 20 || e.TPOTP50 == nil || e.Output == nil || e.Started != "2026-11-30T04:00:00Z" {
		text, _ := json.Marshal(e)
		t.Errorf("%s", text)
	}
}

// pack makes a pack of a run's folder.
func pack(tb testing.TB, path, dir string) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var members []bundle.Source
	for _, name := range []string{tape.NameCompressed, bundle.ResultsName} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		members = append(members, bundle.Bytes(name, b))
	}
	if err := bundle.Write(f, bundle.Manifest{Run: "run-first", Name: "first", Tool: "0", Datasets: []bundle.Dataset{}}, members); err != nil {
		tb.Fatal(err)
	}
}

// Runs that come, change and go are seen without a restart; what did not change is not
// read again.
func TestNewRuns(t *testing.T) {
	dir := t.TempDir()
	s := over(t, dir, Options{})
	if got := runs(t, s); len(got) != 0 {
		t.Fatalf("%d runs", len(got))
	}
	at := made{name: "a", n: 3, bare: true}.write(t, dir, "a/1")
	if got := runs(t, s); got["a/1"] == nil || got["a/1"].State != StateUnread {
		t.Fatalf("%v", got)
	}
	first := s.index.by[idOf("a/1/"+tape.NameCompressed)]
	if runs(t, s); s.index.by[idOf("a/1/"+tape.NameCompressed)] != first {
		t.Error("read again without a change")
	}
	made{name: "b", n: 3}.write(t, dir, "b/1")
	res, err := os.ReadFile(filepath.Join(dir, "b/1/results.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(at, "results.json"), strings.ReplaceAll(string(res), `"run-b"`, `"run-a"`))
	if got := runs(t, s); got["a/1"].State == StateUnread || got["b/1"] == nil {
		t.Errorf("after its results came: %+v", got["a/1"])
	}
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if got := runs(t, s); got["b/1"] != nil {
		t.Error("what has gone is listed")
	}
	if r := get(s, "/run/"+idOf("b/1/"+tape.NameCompressed)); r.StatusCode != http.StatusNotFound {
		t.Errorf("what has gone: %d", r.StatusCode)
	}
}

// The list is not sent again where it has not changed.
func TestTag(t *testing.T) {
	dir := t.TempDir()
	made{name: "a", n: 3, bare: true}.write(t, dir, "a/1")
	s := over(t, dir, Options{})
	runs(t, s)
	tag := get(s, "/api/runs").Header.Get("ETag")
	same := func(r *http.Request) { r.Header.Set("If-None-Match", tag) }
	if r := get(s, "/api/runs", same); tag == "" || r.StatusCode != http.StatusNotModified {
		t.Errorf("%d with tag %q", r.StatusCode, tag)
	}
	made{name: "b", n: 3, bare: true}.write(t, dir, "b/1")
	if r := get(s, "/api/runs", same); r.StatusCode != http.StatusOK {
		t.Errorf("a new run: %d", r.StatusCode)
	}
}

// A page in the run's folder is served where it is that of its tape and of this version,
// and made of the tape where it is not; either way nothing but our own script can run.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	at := made{name: "a", n: 12, page: true}.write(t, dir, "a/1")
	page := filepath.Join(at, pageName)
	own, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	s := over(t, dir, Options{})
	url := "/run/" + runs(t, s)["a/1"].ID
	check := func(what string, r *http.Response, anew bool) {
		t.Helper()
		if r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", what, r.StatusCode, body(r))
		}
		if csp := r.Header.Get("Content-Security-Policy"); csp != html.Policy()+"; frame-ancestors 'none'" || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "script-src 'sha256-") {
			t.Errorf("%s: policy %q", what, csp)
		}
		if got := body(r); strings.Contains(got, "evil") || !strings.Contains(got, "default-src") || !strings.Contains(got, `id="data"`) {
			t.Errorf("%s: another page: %.300s", what, got)
		}
		if held := s.works.order.Len(); (held > 0) != anew {
			t.Errorf("%s: %d pages were made", what, held)
		}
	}
	check("the page of the run", get(s, url), false)
	check("in another language", settled(s, url+"?lang=zh"), true)
	for what, spoil := range map[string]func(){
		"older than the tape":      func() { past(t, page) },
		"another script":           func() { put(t, page, strings.Replace(string(own), `"use strict"`, `evil()`, 1)) },
		"cut short":                func() { put(t, page, string(own[:len(own)-9])) },
		"no page":                  func() { put(t, page, "evil") },
		"missing":                  func() { os.Remove(page) },
		"a link out of the folder": func() { os.Remove(page); os.Symlink(outside(t, string(own)+"evil"), page) },
	} {
		put(t, page+".new", string(own))
		if err := os.Rename(page+".new", page); err != nil {
			t.Fatal(err)
		}
		spoil()
		s = over(t, dir, Options{})
		runs(t, s)
		check(what, settled(s, url), true)
	}
}

func past(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		tb.Fatal(err)
	}
}

// outside is a file that lies in another folder.
func outside(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "outside")
	put(tb, path, text)
	return path
}

// A run that was opened has its numbers in the list from then on, without a file.
func TestLearned(t *testing.T) {
	dir := t.TempDir()
	at := made{name: "bare", n: 40, bare: true}.write(t, dir, "bare/1")
	s := over(t, dir, Options{})
	e := runs(t, s)["bare/1"]
	if r := get(s, "/run/"+e.ID); r.StatusCode != http.StatusAccepted || !strings.Contains(body(r), `data-page="wait"`) {
		t.Fatalf("%d", r.StatusCode)
	}
	if r := settled(s, "/api/run/"+e.ID); r.StatusCode != http.StatusOK || !strings.Contains(body(r), `"ready"`) {
		t.Fatalf("%d", r.StatusCode)
	}
	if got := runs(t, s)["bare/1"]; got.State == StateUnread || got.TTFTP50 == nil {
		t.Errorf("%+v", got)
	}
	names, err := os.ReadDir(at)
	if err != nil || len(names) != 1 {
		t.Errorf("something was written: %v", names)
	}
}

// Data of charts and comparisons come as what they are, with the reason where there is
// none.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	made{name: "a", n: 60}.write(t, dir, "a/1")
	made{name: "b", n: 60, slow: 30_000_000}.write(t, dir, "b/1")
	put(t, filepath.Join(dir, "c.jsonl"), "")
	made{name: "gone", n: 1}.write(t, dir, "gone/1")
	s := over(t, dir, Options{})
	by := runs(t, s)
	a, b := by["a/1"].ID, by["b/1"].ID
	if r := settled(s, "/api/data/"+a); r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "application/octet-stream" || len(body(r)) < 1000 {
		t.Errorf("data: %d", r.StatusCode)
	}
	r := settled(s, "/api/compare?run="+a+"&run="+b)
	var c struct {
		Sides []struct{ Path string }
		Pairs []struct {
			Metrics []struct{ Name, Verdict string }
		}
	}
	if err := json.Unmarshal([]byte(body(r)), &c); err != nil || r.StatusCode != http.StatusOK || len(c.Sides) != 2 || c.Sides[1].Path != "b/1" {
		t.Fatalf("%d %v %+v", r.StatusCode, err, c)
	}
	if !slices.ContainsFunc(c.Pairs[0].Metrics, func(m struct{ Name, Verdict string }) bool {
		return m.Name == "ttft_ms.p50" && m.Verdict == "worse"
	}) {
		t.Errorf("30 ms more are not called worse: %+v", c.Pairs[0].Metrics)
	}
	for target, want := range map[string]struct {
		status int
		why    string
	}{
		"/api/compare":                        {422, "from 2"},
		"/api/compare?run=" + a:               {422, "from 2"},
		"/api/compare?run=" + a + "&run=" + a: {422, "same tape"},
		"/api/compare?run=" + a + strings.Repeat("&run="+b, mostSides): {422, "from 2"},
		"/api/compare?run=" + a + "&run=../../etc/passwd":              {404, "no such run"},
		"/api/data/..%2f..%2fetc%2fpasswd":                             {404, "no such run"},
		"/api/run/nothing":                                             {404, "no such run"},
		"/run/":                                                        {404, "no such run"},
		"/run/" + idOf("a/1/results.json"):                             {404, "no such run"},
		"/a/1/results.json":                                            {404, "no such page"},
		"/../../../../etc/passwd":                                      {404, "no such page"},
		"/run/" + idOf("c.jsonl"):                                      {404, "no such run"},
	} {
		if r := settled(s, target); r.StatusCode != want.status || !strings.Contains(body(r), want.why) {
			t.Errorf("%s: %d, want %d %q", target, r.StatusCode, want.status, want.why)
		}
	}
}

// A tape that cannot be analysed says why, and is tried again when it is asked for again.
func TestFailed(t *testing.T) {
	dir := t.TempDir()
	at := made{name: "a", n: 3, bare: true}.write(t, dir, "a/1")
	put(t, filepath.Join(at, "power.csv"), "no power")
	s := over(t, dir, Options{})
	url := "/run/" + runs(t, s)["a/1"].ID
	get(s, url)
	s.works.wait()
	if r := get(s, "/api"+url); r.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body(r), "power.csv beside the tape") {
		t.Errorf("%d", r.StatusCode)
	}
	os.Remove(filepath.Join(at, "power.csv"))
	if r := settled(s, url); r.StatusCode != http.StatusOK {
		t.Errorf("after it was mended: %d", r.StatusCode)
	}
}

// Our own pages have every word, and hold what came from outside as text.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	const evil = `</script><img src=x onerror=alert(1)>"'&{{.}}` + "\u202e\x1b[31m"
	made{name: evil, model: evil, n: 3, bare: true, notes: map[string]string{evil: evil}}.write(t, dir, "a"+strings.ReplaceAll(evil, "/", "_"))
	made{name: "bytes", n: 3, bare: true}.write(t, dir, "bad\xff\xfe\nname")
	s := over(t, dir, Options{})
	by := runs(t, s)
	if len(by) != 2 {
		t.Fatalf("%d runs: %v", len(by), by)
	}
	for path, e := range by {
		for _, text := range []string{path, e.Name, e.Model} {
			if strings.ContainsAny(text, "\u202e\x1b\n") || !utf8.ValidString(text) {
				t.Errorf("%q steers what shows it", text)
			}
		}
		r := get(s, "/run/"+e.ID)
		if got := body(r); r.StatusCode != http.StatusAccepted || strings.Contains(got, "<img") || strings.Contains(got, "</script><") && strings.Contains(got, "onerror=alert(1)>") {
			t.Errorf("%d: %s", r.StatusCode, got)
		}
		if r := settled(s, "/run/"+e.ID); r.StatusCode != http.StatusOK || strings.Contains(body(r), "<img src=x") {
			t.Errorf("page: %d", r.StatusCode)
		}
	}
	raw := body(get(s, "/api/runs"))
	if strings.Contains(raw, "<") {
		t.Error("markup in the list")
	}
}

// wordRe finds the words that pages and scripts ask for.
var wordRe = regexp.MustCompile(`(?:say\(|\{\{t |\{\{word |title: |note: |word\(|data-label=|data-hint=|put\(say\()"([a-z_.A-Z0-9]+[a-z0-9])"`)

// Every word that the pages and scripts ask for is there, in two languages, and no other.
func TestWords(t *testing.T) {
	var own map[string][2]string
	if err := json.Unmarshal(must("words.json"), &own); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, glob := range []string{"*.html", "js/*.js"} {
		names, err := filepath.Glob(glob)
		if err != nil || len(names) == 0 {
			t.Fatal(glob, err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	text := all.String()
	columns := " run started model server n c r verdict ttft50 ttft99 tpot50 output window notes fit unfit unread broken sweep any better worse same differs "
	for key, w := range own {
		if w[0] == "" || w[1] == "" {
			t.Errorf("%s lacks a language", key)
		}
		name := strings.TrimPrefix(key, "view.")
		if !strings.Contains(text, `"`+key+`"`) && !strings.Contains(columns, " "+name+" ") {
			t.Errorf("nobody says %s", key)
		}
	}
	for _, m := range wordRe.FindAllStringSubmatch(text, -1) {
		if _, ok := words()[m[1]]; !ok {
			t.Errorf("no word for %s", m[1])
		}
	}
	for _, name := range strings.Fields(columns) {
		if _, ok := own["view."+name]; !ok {
			t.Errorf("no word for view.%s", name)
		}
	}
	if n := len(wordRe.FindAllString(text, -1)); n < 60 {
		t.Errorf("only %d words are asked for: this test looks at nothing", n)
	}
}

// BenchmarkList is a folder of 1,000 runs that is looked at for the first time, and again.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	at := made{name: "run", n: 200, notes: map[string]string{"cards": "8"}}.write(b, dir, "run/0")
	for i := 1; i < 1000; i++ {
		to := filepath.Join(dir, "run", strconv.Itoa(i))
		if err := os.CopyFS(to, os.DirFS(at)); err != nil {
			b.Fatal(err)
		}
	}
	look := func(b *testing.B, s *Server) {
		s.index.refresh(b.Context())
		if l := s.index.list(); len(l.Runs) != 1000 || l.Runs[999].TTFTP50 == nil {
			b.Fatalf("%d runs", len(l.Runs))
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s, err := New(Options{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			look(b, s)
			s.Close()
		}
	})
	b.Run("again", func(b *testing.B) {
		s := over(b, dir, Options{})
		look(b, s)
		for b.Loop() {
			look(b, s)
		}
	})
}
