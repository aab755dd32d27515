package wirecase_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokentape/internal/wirecase"
	"tokentape/simserver"
)

const root = "../.."

func httpServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
}

// writeDoc compares a generated document with what is there, or writes it. A
// test that has failed writes nothing.
func writeDoc(t *testing.T, path, text string) {
	t.Helper()
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is not what the tests say now; rewrite it: TOKENTAPE_SLOW=1 go test ./internal/wirecase -update", filepath.Clean(path))
	}
}

// owned are the ids that must be proved here, by a timeline or a Go test.
func owned() (ids []string) {
	for _, of := range []struct {
		letter string
		n      int
	}{{"A", 37}, {"B", 22}, {"C", 11}, {"D", 10}} {
		for i := 1; i <= of.n; i++ {
			ids = append(ids, fmt.Sprintf("%s%02d", of.letter, i))
		}
	}
	return ids
}

// awaited are owned ids without a proof yet, and why. One that gets a proof must
// be taken off the list.
var awaited = map[string]string{}

// proof is a Go test that proves a case: its comment begins with the case's id
// and a colon, or its name with Test and the id. In a script of the command line
// it is a line of comment that begins so.
type proof struct {
	id, pkg, name, about string
}

var proofForm = regexp.MustCompile(`^([A-Z][0-9]{2}): `)
var proofName = regexp.MustCompile(`^Test([A-D][0-9]{2})[A-Z_]`)

func proofs(t *testing.T) (out []proof) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // go vet and the compiler say it better
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			about := strings.Join(strings.Fields(fn.Doc.Text()), " ")
			id := ""
			if m := proofForm.FindStringSubmatch(about); m != nil {
				id, about = m[1], about[len(m[0]):]
			} else if m := proofName.FindStringSubmatch(fn.Name.Name); m != nil {
				id, about = m[1], strings.TrimPrefix(about, fn.Name.Name+": ")
			} else {
				continue
			}
			out = append(out, proof{id, "./" + filepath.ToSlash(dir), fn.Name.Name, about})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(root + "/cmd/tokentape/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if m := proofForm.FindStringSubmatch(strings.TrimPrefix(line, "# ")); m != nil && strings.HasPrefix(line, "# ") {
				name := "TestScripts/" + strings.TrimSuffix(filepath.Base(path), ".txtar")
				out = append(out, proof{m[1], "./cmd/tokentape", name, strings.TrimSpace(line[2+len(m[0]):])})
			}
		}
	}
	slices.SortFunc(out, func(a, b proof) int {
		return strings.Compare(a.id+a.pkg+a.name, b.id+b.pkg+b.name)
	})
	return out
}

// runProofs runs the Go tests that prove cases; a document is written only when
// all of them pass.
func runProofs(t *testing.T, list []proof) {
	t.Helper()
	byPkg := map[string][]string{} // by package and, where scripts are subtests, their test
	for _, p := range list {
		if p.pkg == "./internal/wirecase" { // those run now
			continue
		}
		key := p.pkg
		if test, _, ok := strings.Cut(p.name, "/"); ok {
			key += " " + test
		}
		if name := p.name; !slices.Contains(byPkg[key], name) {
			byPkg[key] = append(byPkg[key], name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byPkg)) {
		pkg, _, _ := strings.Cut(key, " ")
		pattern := "^(" + strings.Join(byPkg[key], "|") + ")$"
		if test, sub, ok := strings.Cut(byPkg[key][0], "/"); ok { // scripts
			pattern = "^" + test + "$/^(" + sub
			for _, name := range byPkg[key][1:] {
				pattern += "|" + strings.TrimPrefix(name, test+"/")
			}
			pattern += ")$"
		}
		cmd := exec.Command("go", "test", "-count=1", "-v", "-run", pattern, pkg)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", pkg, err, out)
		}
		for _, name := range byPkg[key] {
			if !strings.Contains(string(out), "--- PASS: "+name+" (") {
				t.Errorf("%s %s did not pass:\n%s", pkg, name, clip(string(out)))
			}
		}
	}
}

// results of this run by name of the variant.
type results map[string]string

const (
	passed     = "passes"
	passedSlow = "passes; runs with `TOKENTAPE_SLOW=1`"
)

// documents writes docs/cases.md and docs/wire-policy.md.
func documents(t *testing.T, files []*wirecase.File, got results) {
	t.Helper()
	all := 0
	for _, f := range files {
		all += len(f.Variants)
	}
	if len(got) != all {
		t.Logf("documents are not compared: %d of %d variants ran", len(got), all)
		return
	}
	list := proofs(t)
	have := map[string]int{}
	for _, f := range files {
		have[f.ID] += len(f.Variants)
	}
	for _, p := range list {
		have[p.id]++
	}
	for _, id := range owned() {
		why, waits := awaited[id]
		switch {
		case have[id] == 0 && !waits:
			t.Errorf("case %s has neither a timeline nor a test whose comment begins with %q", id, id+": ")
		case have[id] > 0 && waits:
			t.Errorf("case %s is proved now: take it off the list of awaited ones (%s)", id, why)
		}
	}
	if *update {
		if !slow() {
			t.Fatal("a document says that the slow cases pass: -update wants TOKENTAPE_SLOW=1")
		}
		runProofs(t, list)
	}
	writeDoc(t, root+"/docs/cases.md", casesDoc(files, got, list))
	writeDoc(t, root+"/docs/wire-policy.md", policyDoc(files))
}

func casesDoc(files []*wirecase.File, got results, list []proof) string {
	var b strings.Builder
	b.WriteString(`# Cases

What servers and proxies have been seen to send, what tokentape makes of it, and the test that proves it. Written by
` + "`TOKENTAPE_SLOW=1 go test ./internal/wirecase -update`" + `, which runs every test named here and writes nothing when one
fails; ` + "`go test ./...`" + ` fails when this page and the tests differ.

## Timelines

Each is a file in ` + "`internal/wirecase/testdata/cases`" + ` ([the form](timelines.md)): the server's bytes and their times, and all that
the client must say; what a line does not name must be absent. ` + "`go test ./internal/wirecase -run 'TestCases/A04'`" + ` plays it in
virtual time, exact to the nanosecond; those that take less than 0.6 s are played over sockets, too. Times are in ms from the
release.

| case | what | expected | result |
|---|---|---|---|
`)
	for _, f := range files {
		for i, v := range f.Variants {
			what := f.Title
			if v.Title != "" {
				what += ": " + v.Title
			}
			if len(f.Variants) > 1 && i > 0 && v.Title != "" {
				what = v.Title
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name(f, v), cell(what), cell(summaries(v)), got[name(f, v)])
		}
	}
	b.WriteString("\n## Go tests\n\nCases that are no single timeline. A test, or a line in a script of the command line, proves a case when its comment begins\nwith the case's id.\n\n" +
		"| case | what and expected | test | result |\n|---|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| %s | %s | `%s` in %s | %s |\n", p.id, cell(p.about), p.name, strings.TrimPrefix(p.pkg, "./"), passed)
	}
	if len(awaited) > 0 {
		b.WriteString("\n## Without a proof\n\n")
		for _, id := range slices.Sorted(maps.Keys(awaited)) {
			fmt.Fprintf(&b, "* %s: %s\n", id, awaited[id])
		}
	}
	return b.String()
}

// cell makes text fit for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(s)
}

// summaries is what a variant expects, for people.
func summaries(v *wirecase.Variant) string {
	if len(v.Expects) == 1 {
		return summary(v.Expects[0])
	}
	var out []string
	n := 1
	for _, e := range v.Expects {
		which := strconv.Itoa(n)
		if e.Times > 1 {
			which += "–" + strconv.Itoa(n+e.Times-1)
		}
		out = append(out, "("+which+") "+summary(e))
		n += e.Times
	}
	return strings.Join(out, " ")
}

func summary(e *wirecase.Expect) string {
	w := e.Want
	out := []string{strings.TrimSpace(w["outcome"] + " " + w["cause"])}
	for _, k := range []struct{ key, form string }{
		{"flags", "flag %s"}, {"ttft", "TTFT %s"}, {"e2e", "E2E %s"}, {"itl", "ITL %s"}, {"itl1", "of choice 1 %s"}, {"tpot", "TPOT %s"}, {"per_event", "%s tokens an event"},
		{"events", "%s token events"}, {"output", "output %s"}, {"input", "input %s"}, {"cached", "cached %s"}, {"reasoning", "reasoning %s"},
		{"verify", "verify %s"}, {"finish", "finish %s"}, {"end", "end %s"}, {"conn", "%s connection"},
	} {
		if value := w[k.key]; value != "" && value != absent {
			text := fmt.Sprintf(k.form, value)
			if k.key == "events" && value == "1" {
				text = "1 token event"
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, " · ")
}

func policyDoc(files []*wirecase.File) string {
	var b strings.Builder
	b.WriteString(`# Wire policy

Where a server's behaviour can be read in more than one way, tokentape takes the strict reading and says so here. Each line
stands in the case file that tests it, from which ` + "`TOKENTAPE_SLOW=1 go test ./internal/wirecase -update`" + ` writes this page.

A status of 200 alone is never a success. Where several classes fit one answer, the first of these holds: cancelled or
timeout · client_limit · connect · reset or truncated_stream (the connection) · http_status, redirect · event_too_large ·
not_a_stream · malformed_stream · server_error · aborted · filtered · truncated_stream (no end mark) · empty_response · ok.
Whatever came before a failure stays on the record; it takes part in no latency or token statistic.

`)
	for _, f := range files {
		if len(f.Policy) == 0 {
			continue
		}
		fmt.Fprintf(&b, "* **%s, %s.** %s.\n", f.ID, f.Title, strings.Join(f.Policy, ". "))
	}
	return b.String()
}

// Every word of the form is in its document.
func TestTimelinesDocument(t *testing.T) {
	b, err := os.ReadFile(root + "/docs/timelines.md")
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Collect(maps.Keys(wirecase.Keys))
	words = append(words, "has", "lacks", "seen", "unseen", "case", "title", "source", "policy", "slow", "let", "request", "answer", "expect", "variant",
		"dialect", "stream", "n", "prompt", "max_event", "header", "secret", "set", "limit", "after", "cancel",
		"http", "status", "no-header", "head", "length", "until-close", "lines", "gzip", "refuse",
		"ROLE", "DONE", "C(", "D(", "FIN(", "U(", "T(", "TFIN(", "e(", "with(", "idx(", "repeat(", "part(", "raw(", "END", "CUT", "RST", "HANG")
	for _, w := range words {
		if !strings.Contains(string(b), "`"+w) {
			t.Errorf("docs/timelines.md does not explain `%s`", w)
		}
	}
	// Its examples are what it says they are.
	examples := strings.Split(string(b), "```case\n")[1:]
	if len(examples) == 0 {
		t.Error("docs/timelines.md has no example")
	}
	for i, ex := range examples {
		text, _, _ := strings.Cut(ex, "```")
		f, err := wirecase.Parse(fmt.Sprintf("example-%d", i+1), []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, v := range f.Variants {
			if len(v.Expects) > 0 {
				playVirtual(t, t, f, v)
			}
		}
	}
}

// The faults in docs/sim.md are those that there are.
func TestSimDocument(t *testing.T) {
	path := root + "/docs/sim.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), "<!-- kinds -->\n")
	_, tail, ok2 := strings.Cut(rest, "<!-- /kinds -->")
	if !ok || !ok2 {
		t.Fatal("docs/sim.md has no table between <!-- kinds --> and <!-- /kinds -->")
	}
	table := "| kind | what happens | to streams alone | what tokentape calls it |\n|---|---|---|---|\n"
	for _, k := range simserver.Kinds {
		only := ""
		if k.Stream {
			only = "yes"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Kind, cell(k.About), only, strings.TrimSpace(string(played[k.Kind].outcome)+" "+played[k.Kind].rest))
	}
	writeDoc(t, path, head+"<!-- kinds -->\n"+table+"<!-- /kinds -->"+tail)
}
