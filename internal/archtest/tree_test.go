package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	module = "tokentape"
	root   = "../.."
)

// pkg is what `go list` says of one package of this module. Imports are those of
// non-test files: tests may import what they like.
type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Doc        string
	GoFiles    []string
	IgnoredGo  []string `json:"IgnoredGoFiles"`
	Imports    []string
}

// room is the package's name in ARCHITECTURE.md: its path without the module
// and without internal/.
func room(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module+"/"), "internal/")
}

var packages = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,Doc,GoFiles,IgnoredGoFiles,Imports", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

func list(t *testing.T) []pkg {
	t.Helper()
	l, err := packages()
	if err != nil {
		t.Fatal("go list ./...:", err)
	}
	if len(l) < 10 {
		t.Fatalf("go list found only %d packages", len(l))
	}
	return l
}

// source is one parsed non-test file.
type source struct {
	path string // from the root
	pkg  pkg
	file *ast.File
	fset *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, p := range list(t) {
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGo) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			path := filepath.Join(p.Dir, name)
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			all = append(all, source{path: fromRoot(path), pkg: p, file: f, fset: fset})
		}
	}
	return all
}

func fromRoot(path string) string {
	abs, err := filepath.Abs(root)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(abs, path)
	if err != nil {
		return path
	}
	return rel
}

// files are the project's own text files: what would be committed.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "runs" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
