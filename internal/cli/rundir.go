package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// minFree is the room that must be left on the disk before a run starts.
const minFree = 16 << 20

// runDir is the folder of one run: <out>/<name>/<UTC time>. It is made new;
// nothing in it is ever overwritten.
type runDir struct {
	path string
}

func newRunDir(out, name string, now time.Time) (*runDir, error) {
	return newRunDirAs(out, name, now, "")
}

// newRunDirAs is newRunDir for what is more than a run: kind, such as -sweep, ends its
// name.
func newRunDirAs(out, name string, now time.Time, kind string) (*runDir, error) {
	parent := filepath.Join(out, folderName(name))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder for the run: %w", err)
	}
	stamp := now.UTC().Format("2006-01-02T150405Z") + kind
	for i := 1; i < 1000; i++ {
		path := filepath.Join(parent, stamp)
		if i > 1 {
			path = fmt.Sprintf("%s-%d", path, i)
		}
		err := os.Mkdir(path, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot make the folder for the run: %w", err)
		}
		d := &runDir{path}
		if err := d.checkFree(); err != nil {
			d.removeIfEmpty()
			return nil, err
		}
		return d, nil
	}
	return nil, fmt.Errorf("%s: a thousand runs began in the same second", parent)
}

// folder is where the run goes.
func (o runOptions) folder(name string, now time.Time) (*runDir, error) {
	if o.dir == "" {
		return newRunDir(o.out, name, now)
	}
	if err := os.Mkdir(o.dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder for the run: %w", err)
	}
	d := &runDir{o.dir}
	if err := d.checkFree(); err != nil {
		os.Remove(o.dir)
		return nil, err
	}
	return d, nil
}

// folderError is why a run's folder, or what stands in it from the beginning, cannot be
// written. The first of several runs alone can go to another place.
func (o runOptions) folderError(err error) error {
	if o.dir == "" {
		return usageError(err.Error(), "another place: --out DIR")
	}
	return &exitError{code: exitInternal, msg: err.Error(), hints: []string{"make room on the disk, or see that the folder can be written"}}
}

func (d *runDir) checkFree() error {
	var st unix.Statfs_t
	if err := unix.Statfs(d.path, &st); err != nil {
		return nil // the first write will tell
	}
	if free := st.Bavail * uint64(st.Bsize); free < minFree {
		return fmt.Errorf("%s: only %d MiB are free on this disk; a run needs at least %d MiB", d.path, free>>20, minFree>>20)
	}
	return nil
}

func (d *runDir) file(name string) string { return filepath.Join(d.path, name) }

// write makes a new file in one step: it is there whole, or not at all.
func (d *runDir) write(name string, fill func(*os.File) error) error {
	return writeNew(d.file(name), fill)
}

// removeIfEmpty takes back a folder in which nothing was written.
func (d *runDir) removeIfEmpty() {
	os.Remove(d.path)
	os.Remove(filepath.Dir(d.path))
}

// writeNew creates path with what fill writes, whole or not at all, and refuses
// to replace a file.
func writeNew(path string, fill func(*os.File) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: there is such a file already; nothing is overwritten", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// Link, not rename: it fails when somebody made the file meanwhile. Some
	// file systems know no links.
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return err
	} else if err != nil {
		return os.Rename(f.Name(), path)
	}
	return os.Remove(f.Name())
}

// folderName makes a name fit for a folder.
func folderName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '\\' || r == ':' || r < ' ' || r == 0x7f:
			return '-'
		}
		return r
	}, strings.TrimSpace(name))
	if name = strings.Trim(name, "."); name == "" {
		return "run"
	}
	return name
}

// newRunID is unique and sorts by time.
func newRunID(now time.Time) string {
	var b [5]byte
	rand.Read(b[:])
	return fmt.Sprintf("%s-%x", now.UTC().Format("20060102T150405Z"), b)
}
