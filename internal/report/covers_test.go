package report

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokentape/internal/report/words"
)

// spoken are the files whose sentences people read in a view that has --lang. A
// pattern stands for all files like it but tests.
var spoken = []string{"../analysis/*.go", "../analysis/compare/*.go", "../analysis/metric/*.go", "../analysis/window/*.go", "../analysis/scrape/*.go", "../observe/frame.go", "../observe/line.go", "../probe/*.go", "../analysis/curve/[bklnp]*.go", "*.go"}

// unspoken are files among these whose sentences stand in views without --lang.
var unspoken = regexp.MustCompile(`/?(_test|explain[a-z_]*|curve[a-z_]*|search[a-z_]*)\.go$`)

var (
	verb     = regexp.MustCompile(`%%|%[-+# 0-9.*\[\]]*[a-zA-Z]`)
	sentence = regexp.MustCompile(`[A-Za-z]{2,} [a-z]{2,}`)
	command  = regexp.MustCompile(`^tokentape [a-z]+\b`) // what follows is for a shell
	blank    = regexp.MustCompile(`\{\d(?::[a-z]+)?\}`)
)

// noView are texts of these files that no view shows: prompts, names of rows in CSV,
// what is looked for in texts of others, help and error messages.
var noView = []string{
	"Answer with one word: is water wet?", "Count from one to two hundred in words, separated by commas", "cached_ratio",
	"whole, stable, steady, seconds:10..60, rows:100..299 or phase:warmup", "of GET", "prefill or decode worker", "it answered", "bootstrap room",
	"repeat an earlier one; they can hit the server", "send a dataset row that was sent before; they can hit", "were sent before, and this run does not",
	"Numbers of one run, off its tape", "certificate required", "does not speak HTTP/2", "handshake failure", "no application protocol", "no cipher suite", "protocol version", "supported versions", "the proxy",
}

// english are the English sides of the dictionary, in both numbers, places cut out.
func english(t *testing.T) []string {
	t.Helper()
	var out []string
	put := func(s string) {
		s = blank.ReplaceAllString(s, "\x00")
		out = append(out, strings.ReplaceAll(s, "(s)", ""), strings.ReplaceAll(s, "(s)", "s"))
	}
	files, err := filepath.Glob("words/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]any
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		for en := range all {
			put(en)
		}
	}
	for _, w := range words.Page() {
		put(w[0])
	}
	for _, d := range dictionary().English() {
		put(d)
	}
	return out
}

// Every sentence in the source of what is shown in Chinese is part of one in the
// dictionary: one that is added in English alone fails here, whether a run of any
// test says it or not. Errors are English everywhere.
func TestChineseCovers(t *testing.T) {
	known := english(t)
	said := 0
	for _, pattern := range spoken {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %d files", pattern, err, len(paths))
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || unspoken.MatchString(path) {
				continue
			}
			for _, s := range sentences(t, path) {
				said++
				for _, part := range verb.Split(s, -1) {
					part = strings.TrimSpace(strings.Trim(strings.TrimSpace(part), ";,:.()·–*\n"))
					if !sentence.MatchString(part) || command.MatchString(part) || slices.ContainsFunc(noView, func(n string) bool { return strings.HasPrefix(part, n) || strings.HasSuffix(part, n) }) {
						continue
					}
					if sub := strings.Split(part, "; "); !has(known, part) && (len(sub) == 1 || slices.ContainsFunc(sub, func(p string) bool { return !has(known, p) })) {
						t.Errorf("%s: no Chinese in internal/report/words for %q of %q", filepath.Base(path), part, s)
					}
				}
			}
		}
	}
	if said < 200 {
		t.Errorf("only %d sentences found", said)
	}
}

// has reports whether a part of a sentence is in one of those that are known.
func has(known []string, part string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return strings.Contains(k, part) })
}

// sentences are the constant texts of a file that hold two words or more, but those of
// errors, panics and patterns.
func sentences(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				x, _ := f.X.(*ast.Ident)
				return x == nil || !slices.Contains([]string{"fmt.Errorf", "errors.New", "regexp.MustCompile"}, x.Name+"."+f.Sel.Name)
			case *ast.Ident:
				return f.Name != "panic"
			}
		case *ast.BasicLit:
			if s, _ := strconv.Unquote(n.Value); n.Kind == token.STRING && sentence.MatchString(s) {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}
