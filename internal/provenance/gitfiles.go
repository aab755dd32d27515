package provenance

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tokentape/tape"
)

// objectName is that of a commit, by SHA-1 or SHA-256.
var objectName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// readGit reads commit and branch from git's own files.
func readGit(s *tape.Source) error {
	dir, err := gitFolder(s.Path)
	if err != nil {
		return err
	}
	// A worktree has a HEAD of its own, and shares the references.
	common := dir
	if text := small(filepath.Join(dir, "commondir")); text != "" {
		if common = text; !filepath.IsAbs(text) {
			common = filepath.Join(dir, text)
		}
	}
	head := small(filepath.Join(dir, "HEAD"))
	if objectName.MatchString(head) {
		s.Commit = head
		return nil
	}
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return errors.New("its HEAD cannot be read")
	}
	for range 5 { // a reference may name another
		if ref = strings.TrimSpace(ref); !strings.HasPrefix(ref, "refs/") || strings.Contains(ref, "..") {
			break
		}
		for _, root := range []string{dir, common} {
			text := small(filepath.Join(root, filepath.FromSlash(ref)))
			if objectName.MatchString(text) {
				s.Commit = text
			} else if next, ok := strings.CutPrefix(text, "ref: "); ok {
				ref = next
			}
		}
		if s.Commit == "" {
			s.Commit = packed(filepath.Join(common, "packed-refs"), ref)
		}
		if s.Commit != "" {
			if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
				s.Branch = word(branch)
			}
			return nil
		}
	}
	return errors.New("its commit cannot be read: there is none yet, or git keeps references in another way")
}

// gitFolder is the folder of git's files for dir, in it or above it.
func gitFolder(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		git := filepath.Join(at, ".git")
		if i, err := os.Stat(git); err == nil && i.IsDir() {
			return git, nil
		} else if err == nil {
			// Of a worktree or a submodule it is a file that names the folder.
			to, ok := strings.CutPrefix(small(git), "gitdir: ")
			if !ok {
				return "", errors.New(".git is no folder of git")
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(at, to)
			}
			return to, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("it is in no git repository")
		}
		at = up
	}
}

// small is a short file's text without the space around it; "" where there is none.
func small(path string) string {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	return strings.TrimSpace(readUpTo(f, 4<<10))
}

// readUpTo is the beginning of what r has; an error ends it.
func readUpTo(r io.Reader, limit int64) string {
	b, _ := io.ReadAll(io.LimitReader(r, limit))
	return string(b)
}

// packed finds a reference among those that git packed into one file.
func packed(path, ref string) string {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, 256<<20))
	for in.Scan() {
		if sum, name, ok := strings.Cut(in.Text(), " "); ok && name == ref && objectName.MatchString(sum) {
			return sum
		}
	}
	return ""
}
