package aisbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tokentape/internal/analysis/as"
	"tokentape/tape"
)

// Layout names a place in AISBench's work folder, and what the tape does not hold.
type Layout struct {
	Dir     string // the folder named by a time, WORK_DIR/20261130_040500
	Model   string // abbr of the model: a folder below performances
	Dataset string // abbr of the dataset: the beginning of the files' names
	// Input is the prompt of a row of the plan as JSON, a text or a list of
	// messages. Nil where the dataset is not at hand: prompts are never on a tape,
	// and are written as empty texts.
	Input func(seq int64) (json.RawMessage, error)
	// Stage is that of the tables NAME.csv and NAME.json: Total, also when it is
	// empty, or Stable.
	Stage string
	// Path is the tokenizer folder for the config, as AISBench's model has one.
	Path string
}

// Name makes a text fit for an abbr, which is a file's name.
func Name(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' || r == 0x7f {
			return '-'
		}
		return r
	}, strings.TrimSpace(s))
	if s = strings.TrimLeft(s, ".-"); s == "" {
		return "run"
	}
	return s
}

func (l *Layout) folder() string { return filepath.Join(l.Dir, "performances", l.Model) }

// file is the path of one of the dataset's files.
func (l *Layout) file(suffix string) string { return filepath.Join(l.folder(), l.Dataset+suffix) }

// Write writes the run: details, failures, time points, both tables, plot and
// config. again is the tape from its start once more, for ids and answers. Errors:
// those of again and of the files, of which none may exist; a run of which AISBench
// makes no table has the rest all the same, and the error is a NoTable.
func (l *Layout) Write(r *as.Run, again as.Source) error {
	if err := os.MkdirAll(l.folder(), 0o755); err != nil {
		return err
	}
	first, err := again.Next()
	if err != nil {
		return err
	}
	if err := l.details(r, again); err != nil {
		return err
	}
	h, _ := first.(*tape.Header) // the first of any tape
	if err := l.config(r, askedOf(h)); err != nil {
		return err
	}
	if err := l.plot(r); err != nil {
		return err
	}
	t, err := as.Make("aisbench", r)
	if err != nil {
		return &NoTable{err}
	}
	if l.Stage == "" {
		l.Stage = Total
	}
	if _, _, err := stage(t, l.Stage); err != nil {
		return &NoTable{err}
	}
	_, err = l.Tables(t, l.Stage)
	return err
}

// NoTable says why AISBench makes no table of a run: that all requests failed, or
// that there is no stable stage.
type NoTable struct{ err error }

func (e *NoTable) Error() string { return e.err.Error() }

// Unwrap gives the reason.
func (e *NoTable) Unwrap() error { return e.err }

// create makes a new file, whole or not at all.
func create(path string, fill func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: there is such a file already; nothing is overwritten", path)
	}
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Close()
	} else {
		f.Close()
	}
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
