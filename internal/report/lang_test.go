package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/analysis"
)

func TestChineseGolden(t *testing.T) {
	for _, c := range cases {
		golden(t, c.name+".zh.txt", text(t, c.of(), consoleOf(Options{Lang: "zh"})))
		golden(t, c.name+".zh.full.txt", text(t, c.of(), consoleOf(Options{Lang: "zh", Full: true})))
		golden(t, c.name+".zh.md", text(t, c.of(), markdownOf(Options{Lang: "zh"})))
	}
}

var figure = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)

// figures are the numbers of a text, sorted: languages put them in another order.
func figures(s string) []string {
	all := figure.FindAllString(s, -1)
	slices.Sort(all)
	return all
}

// Every number of the English report is in the Chinese one, as often and as it was,
// and no other; so are names of checks, windows and settings.
func TestChineseSaysTheSame(t *testing.T) {
	name := regexp.MustCompile(`\b[a-z]+(?:[._][a-z0-9]+)+\b`)
	for _, c := range cases {
		for _, full := range []bool{false, true} {
			// Wide enough that no line breaks within a number or name.
			en := text(t, c.of(), consoleOf(Options{Width: 100_000, Full: full}))
			zh := text(t, c.of(), consoleOf(Options{Width: 100_000, Full: full, Lang: "zh"}))
			if d := cmp.Diff(figures(en), figures(zh)); d != "" {
				t.Errorf("%s, full %v: other numbers (-English +Chinese):\n%s", c.name, full, d)
			}
			had, has := name.FindAllString(en, -1), name.FindAllString(zh, -1)
			slices.Sort(had)
			slices.Sort(has)
			if d := cmp.Diff(had, has); d != "" {
				t.Errorf("%s, full %v: other names (-English +Chinese):\n%s", c.name, full, d)
			}
			if n, m := strings.Count(en, "\n"), strings.Count(zh, "\n"); n != m {
				t.Errorf("%s, full %v: %d lines of %d", c.name, full, m, n)
			}
		}
	}
}

// No line is wider than the page, and none begins with a mark that ends a sentence.
func TestChineseWidth(t *testing.T) {
	for _, c := range cases {
		for _, o := range []Options{{Width: 60}, {Width: 100}, {Width: 60, Full: true}, {Width: 100, Full: true}} {
			o.Lang = "zh"
			for i, l := range strings.Split(text(t, c.of(), consoleOf(o)), "\n") {
				if w := columns.StringWidth(l); w > o.Width {
					t.Errorf("%s %+v: line %d has %d columns: %q", c.name, o, i+1, w, l)
				}
				if trimmed := strings.TrimSpace(l); trimmed != "" && strings.ContainsRune("，。；：、）」", []rune(trimmed)[0]) {
					t.Errorf("%s %+v: line %d begins with a mark: %q", c.name, o, i+1, l)
				}
			}
		}
	}
}

// What came from outside is not looked up, even where it is a word of ours.
func TestChineseLeavesNames(t *testing.T) {
	r := one()
	r.About.Model, r.About.Engine, r.About.Version = "cache", "closed loop", ""
	r.About.URL = "completed"
	r.Counts.Examples = map[string]string{"http": "no rate; nothing"}
	r.Counts.ByClass = map[string]int64{"http": 1}
	for _, full := range []bool{false, true} {
		got := text(t, r, consoleOf(Options{Width: 1000, Full: full, Lang: "zh"}))
		for _, want := range []string{"completed · ", "cache", "closed loop", "no rate; nothing"} {
			if !strings.Contains(got, want) {
				t.Errorf("full %v: %q is gone:\n%s", full, want, got)
			}
		}
	}
}

// A run may be called as a word of ours is; why has its name beside the id.
func TestChineseLeavesRunNames(t *testing.T) {
	for _, name := range []string{"load", "stream", "first", "closed loop"} {
		var b strings.Builder
		if err := WhyText(&b, &analysis.Triage{State: analysis.StateFine, Line: "x", Name: name, Run: "20261130T102534Z-2f7fd4768f"}, Options{Lang: zh}); err != nil {
			t.Fatal(err)
		}
		r := one()
		r.Name, r.Run = name, "20261130T102534Z-2f7fd4768f"
		for view, got := range map[string]string{"why": b.String(), "report": text(t, r, consoleOf(Options{Lang: zh})), "full": text(t, r, consoleOf(Options{Lang: zh, Full: true})), "md": text(t, r, markdownOf(Options{Lang: zh}))} {
			if !strings.Contains(got, name+" · 20261130T102534Z-2f7fd4768f") {
				t.Errorf("%s: the name %q is gone:\n%.600s", view, name, got)
			}
		}
	}
}

// literals are the constant texts that package analysis assigns to a field or maps in a
// variable of that name.
func literals(t *testing.T, name string) (out []string) {
	t.Helper()
	paths, err := filepath.Glob("../analysis/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	add := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				s, _ := strconv.Unquote(l.Value)
				out = append(out, s)
			}
			return true
		})
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if k, ok := n.Key.(*ast.Ident); ok && k.Name == name {
					add(n.Value)
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if s, ok := l.(*ast.SelectorExpr); ok && s.Sel.Name == name && len(n.Rhs) > 1 && i < len(n.Rhs) {
						add(n.Rhs[i])
					} else if ok && s.Sel.Name == name {
						add(n.Rhs[0])
					}
				}
			case *ast.ValueSpec:
				for i, v := range n.Names {
					if m, ok := initial(n, i).(*ast.CompositeLit); ok && v.Name == name {
						for _, e := range m.Elts {
							add(e.(*ast.KeyValueExpr).Value)
						}
					}
				}
			}
			return true
		})
	}
	return out
}

func initial(n *ast.ValueSpec, i int) ast.Expr {
	if i < len(n.Values) {
		return n.Values[i]
	}
	return nil
}

// What a check calls its miss, and what it says is to be done, are in the dictionary.
func TestChineseChecks(t *testing.T) {
	titles, dos := literals(t, "missed"), literals(t, "Do")
	if len(titles) < 30 || len(dos) < 25 {
		t.Fatalf("only %d titles and %d texts found", len(titles), len(dos))
	}
	for _, s := range append(titles, dos...) {
		s = strings.TrimPrefix(s, "; ") // what one goes on with
		if s == "" {
			continue
		}
		if zh := dictionary().Say(s); !strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("no Chinese in internal/report/words/console.json for %q", s)
		}
	}
	if len(titles) != len(analysis.CheckNames()) {
		t.Errorf("%d titles of %d checks", len(titles), len(analysis.CheckNames()))
	}
}
