package aisbenchconfig

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tokentape/internal/importer/aisbench/pyconf"
	"tokentape/internal/spec"
	"tokentape/internal/workload/rows"
)

var update = flag.Bool("update", false, "rewrite what the fixtures want")

// want begins the names of what a fixture expects.
const want = "want/"

// TestFixtures: a config in; specs, the beginnings of their rows, and warnings out.
// The file "args" of a fixture holds NAME=VALUE of the environment, and the flags
// num-prompts, num-warmups and config-dir. Every spec is one that a run would take.
func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 32 {
		t.Fatalf("%d fixtures: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := convert(t, a)
			if *update {
				in := slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool { return strings.HasPrefix(f.Name, want) })
				a.Files = append(in, got...)
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			expected := map[string]string{}
			for _, f := range a.Files {
				if strings.HasPrefix(f.Name, want) {
					expected[f.Name] = string(f.Data)
				}
			}
			for _, f := range got {
				if w, ok := expected[f.Name]; !ok || w != string(f.Data) {
					t.Errorf("%s (go test -update rewrites it):\n got:\n%s\n want:\n%s", f.Name, f.Data, w)
				}
				delete(expected, f.Name)
			}
			for name := range expected {
				t.Errorf("%s is not made any more", name)
			}
		})
	}
}

// convert imports the config of a fixture, in a folder of its own.
func convert(t *testing.T, a *txtar.Archive) []txtar.File {
	t.Chdir(t.TempDir())
	o := Options{OutDir: ".", Warmups: 1}
	env := map[string]string{}
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, want) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if f.Name != "args" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch name {
			case "num-prompts":
				o.NumPrompts = n
			case "num-warmups":
				o.Warmups = n
			case "config-dir":
				o.ConfigDir = value
			case "":
			default:
				env[name] = value
			}
		}
	}
	o.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	o.Count = func(w spec.Workload) (int64, error) {
		s, err := rows.OpenWith(w, 1, rows.Options{})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		return s.Len(), nil
	}
	res, err := Import("perf_config.py", o)
	if err != nil {
		return []txtar.File{{Name: want + "refused", Data: []byte(err.Error() + "\n")}}
	}
	var out []txtar.File
	for _, j := range res.Jobs {
		for _, f := range j.Files {
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
			if err := os.WriteFile(f.Name, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(b.Bytes(), []byte("\n"))
			head := bytes.Join(lines[:min(3, len(lines))], nil)
			out = append(out, txtar.File{Name: want + f.Name, Data: fmt.Appendf(head, "(%d lines)\n", len(lines)-1)})
		}
		out = append(out, txtar.File{Name: want + j.Name + ".yaml", Data: j.YAML})
		check(t, j, !strings.Contains(fmt.Sprint(res.Warnings), "is not known here"))
	}
	var said strings.Builder
	for _, w := range res.Warnings {
		fmt.Fprintln(&said, w)
	}
	if len(res.Variables) > 0 {
		fmt.Fprintln(&said, "variables:", strings.Join(res.Variables, ", "))
	}
	return append(out, txtar.File{Name: want + "warnings", Data: []byte(said.String())})
}

// check reads a spec as a run would, with its rows where they are there. Every
// field of it has a comment that says where it came from, and no secret.
func check(t *testing.T, j Job, sendable bool) {
	t.Helper()
	if err := os.WriteFile("check.yaml", j.YAML, 0o644); err != nil {
		t.Fatal(err)
	}
	s, issues := spec.Read("check.yaml", func(string) (string, bool) { return "set", true }, nil)
	for _, is := range issues {
		if !is.Warning {
			t.Errorf("%s: the spec is no spec: %s\n%s", j.Name, is.Format(), j.YAML)
		}
	}
	if sendable {
		src, err := rows.OpenWith(s.Workload, 1, rows.Options{})
		if err != nil {
			t.Errorf("%s: the rows cannot be sent: %v", j.Name, err)
		} else {
			src.Close()
		}
	}
	for line := range strings.Lines(string(j.YAML)) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, ":") && !strings.Contains(line, "  # ") {
			t.Errorf("%s: no origin: %s", j.Name, line)
		}
		if strings.Contains(line, "sk-") {
			t.Errorf("%s: a key: %s", j.Name, line)
		}
	}
}

// Every warning names a place, but those about flags.
func TestWarningPlaces(t *testing.T) {
	w := Warning{pyconf.Pos{File: "a.py", Line: 3, Col: 1}, "retry", "is 0"}
	if w.String() != "a.py:3: retry: is 0" {
		t.Error(w)
	}
}
