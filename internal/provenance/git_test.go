package provenance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/tape"
)

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSource(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	if s := Source(t.Context(), dir); s.Commit != "" || !strings.Contains(s.Why, "not observed") {
		t.Errorf("no commit yet: %+v", s)
	}
	write(t, filepath.Join(dir, "a"), "1\n")
	write(t, filepath.Join(dir, "b"), "1\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-q", "-m", "one")
	run(t, dir, "tag", "v1")
	commit := run(t, dir, "rev-parse", "HEAD")

	clean := Source(t.Context(), dir)
	if want := (tape.Source{Path: dir, Commit: commit, Branch: "main", Describe: "v1", Changed: tape.Some(int64(0)), Untracked: tape.Some(int64(0)), By: "git"}); *clean != want {
		t.Errorf("clean: %+v", clean)
	}
	// A program that the folder's configuration names must not run.
	mark := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "hook")
	write(t, script, "#!/bin/sh\ntouch "+mark+"\n")
	os.Chmod(script, 0o755)
	run(t, dir, "config", "core.fsmonitor", script)
	run(t, dir, "config", "diff.external", script)
	write(t, filepath.Join(dir, "a"), "2\n")
	write(t, filepath.Join(dir, "new é\nname"), "x")
	dirty := Source(t.Context(), dir)
	if dirty.Changed != tape.Some(int64(1)) || dirty.Untracked != tape.Some(int64(1)) || len(dirty.Diff) != 64 {
		t.Errorf("dirty: %+v", dirty)
	}
	if again := Source(t.Context(), dir); again.Diff != dirty.Diff {
		t.Errorf("the same changes have another hash: %s, %s", again.Diff, dirty.Diff)
	}
	write(t, filepath.Join(dir, "a"), "3\n")
	if other := Source(t.Context(), dir); other.Diff == dirty.Diff {
		t.Error("other changes have the same hash")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the folder's configuration ran")
	}
	run(t, dir, "checkout", "-q", "--detach")
	if s := Source(t.Context(), dir); s.Branch != "" || s.Commit != commit {
		t.Errorf("detached: %+v", s)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if s := Source(cancelled, dir); s.By == "git" || !strings.Contains(s.Why, "not observed") {
		t.Errorf("cancelled: %+v", s)
	}
}

// Without git its files are read.
func TestSourceByFiles(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const sum = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		name           string
		files          map[string]string
		at             string
		commit, branch string
		why            string
	}{
		{"a branch", map[string]string{".git/HEAD": "ref: refs/heads/x/y\n", ".git/refs/heads/x/y": sum + "\n"}, "", sum, "x/y", "not observed: changes (git: it is not installed)"},
		{"a folder below", map[string]string{".git/HEAD": sum, "a/b/c": ""}, "a/b", sum, "", "changes"},
		{"packed", map[string]string{".git/HEAD": "ref: refs/heads/m", ".git/packed-refs": "# pack-refs with: peeled\n" + sum + " refs/heads/m\n^" + sum + "\n"}, "", sum, "m", "changes"},
		{"a worktree", map[string]string{"w/.git": "gitdir: ../main/.git/worktrees/w\n", "main/.git/worktrees/w/HEAD": "ref: refs/heads/w", "main/.git/worktrees/w/commondir": "../..\n",
			"main/.git/refs/heads/w": sum}, "w", sum, "w", "changes"},
		{"none", map[string]string{"a": ""}, "", "", "", "in no git repository"},
		{"another way of keeping references", map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n"}, "", "", "", "in another way"},
		{"rubbish", map[string]string{".git/HEAD": "\x00\xff"}, "", "", "", "cannot be read"},
		{"out of the folder", map[string]string{".git/HEAD": "ref: refs/../../secret", "secret": sum}, "", "", "", "cannot be read"},
		{"a circle", map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "ref: refs/heads/b", ".git/refs/heads/b": "ref: refs/heads/a"}, "", "", "", "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Source(t.Context(), filepath.Join(files(t, c.files), c.at))
			if s.Commit != c.commit || s.Branch != c.branch || !strings.Contains(s.Why, c.why) || s.Changed.OK {
				t.Errorf("%+v", s)
			}
		})
	}
}
