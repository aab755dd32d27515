package archtest

import (
	"bufio"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every package has a doc.go that says what comes in, what goes out and what it
// must never do. A command of one file may say what it is in that file.
func TestDocs(t *testing.T) {
	for _, p := range list(t) {
		b, err := os.ReadFile(filepath.Join(p.Dir, "doc.go"))
		if err != nil {
			if p.Name != "main" || p.Doc == "" {
				t.Errorf("%s has no doc.go", room(p.ImportPath))
			}
			continue
		}
		text := strings.Join(strings.Fields(strings.ReplaceAll(string(b), "//", " ")), " ")
		for _, want := range []string{"In: ", "Out: ", "must never "} {
			if !strings.Contains(text, want) {
				t.Errorf("%s/doc.go lacks %q", room(p.ImportPath), want)
			}
		}
	}
}

// clockReads are the functions of package time that read the clock or wait.
var clockReads = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// Only clock reads the clock: everything else can run in virtual time.
func TestClock(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		name := ""
		for _, i := range s.file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); path == "time" {
				name = "time"
				if i.Name != nil {
					name = i.Name.Name
				}
			}
		}
		switch name {
		case "":
			continue
		case ".":
			t.Errorf("%s imports time with a dot", s.path)
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok || x.Name != name || !slices.Contains(clockReads, sel.Sel.Name) {
				return true
			}
			if room(s.pkg.ImportPath) == "clock" {
				found++
				return true
			}
			at := s.fset.Position(sel.Pos())
			t.Errorf("%s:%d: time.%s; take a *clock.Clock instead", s.path, at.Line, sel.Sel.Name)
			return true
		})
	}
	if found == 0 {
		t.Error("found no clock read in clock either: this test looks at nothing")
	}
}

// Names of common interfaces' methods explain themselves.
var plainMethods = []string{"Error", "Unwrap", "String", "Len", "Less", "Swap", "Push", "Pop"}

// Every exported name has a doc comment.
func TestComments(t *testing.T) {
	for _, s := range sources(t) {
		missing := func(n ast.Node, name string) {
			t.Errorf("%s:%d: exported %s has no comment", s.path, s.fset.Position(n.Pos()).Line, name)
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !d.Name.IsExported() || d.Doc != nil {
					continue
				}
				if d.Recv != nil && (slices.Contains(plainMethods, d.Name.Name) || !ast.IsExported(receiver(d))) {
					continue
				}
				missing(d, d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
							missing(spec, spec.Name.Name)
						}
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							if n.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
								missing(spec, n.Name)
							}
						}
					}
				}
			}
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	for {
		switch v := x.(type) {
		case *ast.StarExpr:
			x = v.X
		case *ast.IndexExpr:
			x = v.X
		case *ast.IndexListExpr:
			x = v.X
		case *ast.Ident:
			return v.Name
		default:
			return ""
		}
	}
}

// What must not be committed: marks of unfinished work, conflicts, paths of one
// developer's machine. (Written so that the patterns do not match themselves.)
var forbidden = regexp.MustCompile(`\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b|^(<{7}|>{7}) |/hom[e]/|/User[s]/|/wor[k]/|(?i)lorem ipsu[m]|coming soo[n]|not yet implemente[d]`)

func TestForbiddenWords(t *testing.T) {
	eachLine(t, []string{".go", ".md", ".sh", ".yaml", ".yml", ".mod", ".txtar", ""}, func(path string, line int, text string) {
		if m := forbidden.FindString(text); m != "" {
			t.Errorf("%s:%d: %q", path, line, m)
		}
	})
}

// A smell, not a fault: logged for whoever looks with -v.
func TestLongFiles(t *testing.T) {
	const long = 700
	count := map[string]int{}
	eachLine(t, []string{".go"}, func(path string, line int, _ string) { count[path] = line })
	for path, n := range count {
		if n > long {
			t.Logf("%s has %d lines; would it be clearer as two ideas?", path, n)
		}
	}
}

func eachLine(t *testing.T, extensions []string, do func(path string, line int, text string)) {
	t.Helper()
	for _, path := range files(t, extensions...) {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		s := bufio.NewScanner(f)
		s.Buffer(nil, 4<<20)
		for n := 1; s.Scan(); n++ {
			do(strings.TrimPrefix(path, root+"/"), n, s.Text())
		}
		if err := s.Err(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		f.Close()
	}
}
