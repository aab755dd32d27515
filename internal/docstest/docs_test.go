package docstest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// block is a marked console block.
type block struct {
	Line     int // of the first command
	Exit     int
	Commands []string
}

var marker = regexp.MustCompile(`^<!-- run(?: exit=([0-9]+))? -->$`)

// blocks finds the marked console blocks of a document.
func blocks(text string) ([]block, error) {
	var all []block
	var b *block
	fenced, marked, exit := false, false, 0
	for i, line := range strings.Split(text, "\n") {
		n := i + 1
		switch m := marker.FindStringSubmatch(strings.TrimSpace(line)); {
		case fenced:
			switch last := b; {
			case strings.HasPrefix(line, "```"):
				if len(b.Commands) == 0 {
					return nil, fmt.Errorf("line %d: a block to run without a line that begins with $", n)
				}
				all, fenced = append(all, *b), false
			case strings.HasPrefix(line, "$ "):
				if len(b.Commands) == 0 {
					b.Line = n
				}
				b.Commands = append(b.Commands, line[2:])
			case len(last.Commands) > 0 && strings.HasSuffix(last.Commands[len(last.Commands)-1], `\`):
				last.Commands[len(last.Commands)-1] += "\n" + strings.TrimPrefix(line, "> ")
			}
		case m != nil:
			marked, exit = true, 0
			if m[1] != "" {
				exit, _ = strconv.Atoi(m[1])
			}
		case marked && line == "```console":
			b, fenced, marked = &block{Exit: exit}, true, false
		case marked && strings.TrimSpace(line) != "":
			return nil, fmt.Errorf("line %d: <!-- run --> must stand right before ```console", n)
		}
	}
	if fenced || marked {
		return nil, fmt.Errorf("the last block to run does not end")
	}
	return all, nil
}

// script is one shell program for all blocks of a document.
func script(doc string, list []block) string {
	var s strings.Builder
	for _, b := range list {
		fmt.Fprintf(&s, "echo '--- %s:%d' >&2\n(set -e\n%s\n)\ncode=$?\nif [ $code != %d ]; then echo '%s:%d: exit code '$code', the document says %d' >&2; exit 1; fi\n",
			doc, b.Line, strings.Join(b.Commands, "\n"), b.Exit, doc, b.Line, b.Exit)
	}
	return s.String()
}

func TestBlocks(t *testing.T) {
	text := "# x\n```console\n$ not marked\n```\n<!-- run -->\n```console\n$ a \\\n>  b\nout\n$ c\n```\n\n<!-- run exit=3 -->\n\n```console\n$ d\n```\n"
	got, err := blocks(text)
	want := []block{{Line: 7, Commands: []string{"a \\\n b", "c"}}, {Line: 16, Exit: 3, Commands: []string{"d"}}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	for _, bad := range []string{"<!-- run -->\n", "<!-- run -->\ntext\n", "<!-- run -->\n```console\n$ a\n", "<!-- run -->\n```console\nout\n```\n"} {
		if _, err := blocks(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// The runner itself: a wrong exit code fails, an expected one passes, and
// nothing stays behind.
func TestRunner(t *testing.T) {
	for _, c := range []struct {
		list []block
		ok   bool
	}{
		{[]block{{Commands: []string{"true"}}, {Exit: 3, Commands: []string{"exit 3"}}}, true},
		{[]block{{Commands: []string{"false", "true"}}}, false},
		{[]block{{Exit: 3, Commands: []string{"true"}}}, false},
		{[]block{{Commands: []string{"sleep 300 & echo $! >pid"}}, {Commands: []string{"kill -0 $(cat pid)"}}}, true},
	} {
		dir := t.TempDir()
		out, err := execute(t, dir, os.Getenv("PATH"), script("x.md", c.list))
		if (err == nil) != c.ok {
			t.Errorf("%v: %v\n%s", c.list, err, out)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			if running(pid) {
				t.Errorf("process %d stayed behind", pid)
			}
		}
	}
}

// running waits a moment for a killed process to be gone; a zombie is.
func running(pid int) bool {
	for range 100 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(b, []byte(") Z ")) {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}

// execute runs a script in dir and ends whatever it left in the background.
func execute(t *testing.T, dir, path, program string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+path, "NO_COLOR=1", "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := os.CreateTemp(t.TempDir(), "out") // a file, since Wait would wait for background writers of a pipe
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	text, _ := os.ReadFile(out.Name())
	return string(text), err
}

func TestDocuments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string][]block{}
	walk(t, root, func(path string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		b, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		list, err := blocks(string(b))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if len(list) > 0 {
			documents[path] = list
		}
	})
	if os.Getenv("TOKENTAPE_DOCS") != "1" {
		t.Skipf("%d documents have commands to run; TOKENTAPE_DOCS=1 runs them", len(documents))
	}
	if len(documents["README.md"]) == 0 {
		t.Error("README.md shows no command that is marked <!-- run -->")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./cmd/tokentape")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for path, list := range documents {
		t.Run(path, func(t *testing.T) {
			dir := t.TempDir()
			walk(t, root, func(path string) { copyFile(t, filepath.Join(root, path), filepath.Join(dir, path)) })
			out, err := execute(t, dir, bin+string(os.PathListSeparator)+os.Getenv("PATH"), script(path, list))
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// walk calls do with the path of every file of the project.
func walk(t *testing.T, root string, do func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "runs", "node_modules"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			do(rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}
