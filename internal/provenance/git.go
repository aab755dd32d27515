package provenance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"tokentape/tape"
)

// gitLimit bounds what git may take for a folder, all together: the status of a large
// tree on a cold disk takes seconds.
const gitLimit = 20 * time.Second

// Source is the git state of a folder. Git itself is asked, and where there is none,
// or it refuses, its files are read: they tell the commit and the branch, and nothing
// of changes. What was not observed is in Why. Nothing in the folder is written.
func Source(ctx context.Context, dir string) *tape.Source {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	s := &tape.Source{Path: dir}
	err := askGit(ctx, s)
	if err == nil {
		return s
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("git took longer than %s", gitLimit)
	}
	if s.By != "" { // it answered, and not to all
		s.Why = "not observed: changes: " + err.Error()
		return s
	}
	if byHand := readGit(s); byHand != nil {
		s.Why = "not observed: " + byHand.Error() + " (git: " + err.Error() + ")"
		return s
	}
	s.By, s.Why = "files", "not observed: changes (git: "+err.Error()+")"
	return s
}

// git is a command that writes nothing, asks nobody, and runs no program that the
// folder's configuration names for it.
func git(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") { // the folder decides, not a hook that runs us
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	return cmd
}

// output is the first line that git prints.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := git(ctx, dir, args...)
	cmd.Stdout, cmd.Stderr = &limited{&out, 64 << 10}, &limited{&said, 4 << 10}
	if err := cmd.Run(); err != nil {
		return "", gitError(err, said.String())
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	return word(line), nil
}

func gitError(err error, said string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("it is not installed")
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		return errors.New(word(line))
	}
	return err
}

// limited keeps the first bytes, and takes all.
type limited struct {
	w    *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.w.Write(p[:n])
	l.left -= n
	return len(p), nil
}

func askGit(ctx context.Context, s *tape.Source) (err error) {
	if s.Commit, err = output(ctx, s.Path, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return err
	}
	s.By = "git"
	s.Branch, _ = output(ctx, s.Path, "symbolic-ref", "--quiet", "--short", "HEAD") // fails when none is checked out
	s.Describe, _ = output(ctx, s.Path, "describe", "--tags", "--always", "--abbrev=12")
	changed, untracked, err := changes(ctx, s.Path)
	if err != nil {
		return err
	}
	s.Changed, s.Untracked = tape.Some(changed), tape.Some(untracked)
	if changed > 0 {
		s.Diff, err = diff(ctx, s.Path)
	}
	return err
}

// changes counts the entries of git status, of which there may be any number.
func changes(ctx context.Context, dir string) (changed, untracked int64, err error) {
	// v2 with -z: one entry a NUL, "?" for an untracked one; renames are not looked for.
	err = stream(git(ctx, dir, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=normal"), func(r io.Reader) error {
		in := bufio.NewReaderSize(r, 64<<10)
		first := true
		for {
			b, err := in.ReadSlice(0)
			if err != nil && err != bufio.ErrBufferFull {
				return nil // the command's own error tells more
			}
			if first && len(b) > 0 {
				switch b[0] {
				case '?':
					untracked++
				case '1', '2', 'u':
					changed++
				}
			}
			first = err == nil
		}
	})
	return changed, untracked, err
}

// diff is the hash of all changes of tracked files.
func diff(ctx context.Context, dir string) (string, error) {
	sum := sha256.New()
	err := stream(git(ctx, dir, "diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "HEAD"),
		func(r io.Reader) error {
			_, err := io.Copy(sum, r)
			return err
		})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// stream runs a command and reads what it prints as it comes.
func stream(cmd *exec.Cmd, read func(io.Reader) error) error {
	var said bytes.Buffer
	cmd.Stderr = &limited{&said, 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return gitError(err, "")
	}
	readErr := read(out)
	if err := cmd.Wait(); err != nil {
		return gitError(err, said.String())
	}
	return readErr
}
