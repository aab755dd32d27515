package curve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
)

// Options choose how a sweep is read. The zero Options are the defaults.
type Options struct {
	// Window is the table that is read of every run; "": the steady one where all runs of
	// a point have it, else the whole.
	Window string
	// Expected is a file of expected values; "": none.
	Expected string
	// FitOnly leaves runs out that are not fit for use, and says which.
	FitOnly bool
	// Watch is told how many runs of how many are read. Optional; may be called from
	// several goroutines, one after the other.
	Watch func(done, total int)
}

// Is reports whether dir is the folder of a sweep or search.
func Is(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, sweep.File))
	return err == nil && info.Mode().IsRegular()
}

// Read reads the sweep in dir, run by run, off the tapes. What a single run lacks is
// said at its point. Errors: sweep.json cannot be read or is of a newer format; the
// file of expected values is wrong (an *ExpectedError names the line); no such window.
func Read(dir string, o Options) (*Curves, error) {
	m, err := manifest(dir)
	if err != nil {
		return nil, err
	}
	if o.Window != "" {
		if err := window.Check(o.Window); err != nil {
			return nil, err
		}
	}
	return Of(m, analysed(dir, m, o), o)
}

// Of reads the runs of a manifest together; runs[i] is that of m.Points[i].
func Of(m *sweep.Manifest, runs []Result, o Options) (*Curves, error) {
	c := &Curves{Schema: Schema, Kind: m.Kind, Name: m.Name, Fields: m.Fields, Prompts: m.Prompts, Fit: true, Notes: []string{}, Curves: []Curve{}}
	c.places(m, runs, o)
	c.choose()
	c.lay()
	c.notes(m)
	c.rules()
	if o.Expected != "" {
		var err error
		if c.Expected, err = c.expect(o.Expected); err != nil {
			return nil, err
		}
	}
	c.say()
	return c, nil
}

// mostManifest is the largest sweep.json that is read.
const mostManifest = 64 << 20

// manifest reads sweep.json of dir and refuses what would not make sense.
func manifest(dir string) (*sweep.Manifest, error) {
	path := filepath.Join(dir, sweep.File)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) > mostManifest {
		return nil, fmt.Errorf("%s: larger than %d MiB, which no sweep is", path, mostManifest>>20)
	}
	m := &sweep.Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		at := 0
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			at = int(syntax.Offset)
		case errors.As(err, &kind):
			at = int(kind.Offset)
		}
		line := 1 + bytes.Count(text[:min(at, len(text))], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: %w; the runs below points/ are whole, and each can be read by itself", path, line, err)
	}
	return m, check(path, m)
}

func check(path string, m *sweep.Manifest) error {
	if name, version, ok := strings.Cut(m.Schema, "/"); !ok || name != strings.Split(sweep.Schema, "/")[0] {
		return fmt.Errorf("%s: schema %q is none of a sweep (%s)", path, m.Schema, sweep.Schema)
	} else if m.Schema != sweep.Schema {
		return fmt.Errorf("%s: schema version %s is newer than this program's (%s): read it with the tokentape that wrote it", path, version, sweep.Schema)
	}
	if len(m.Points) == 0 {
		return fmt.Errorf("%s: no points", path)
	}
	seen := map[string]bool{}
	for i, p := range m.Points {
		switch {
		case p.Name == "" || seen[p.Name]:
			return fmt.Errorf("%s: point %d: the name %q is empty or stands twice", path, i+1, p.Name)
		case len(p.At) != len(m.Fields):
			return fmt.Errorf("%s: point %s has %d values for %d fields", path, p.Name, len(p.At), len(m.Fields))
		case p.Run != "" && !filepath.IsLocal(filepath.FromSlash(p.Run)):
			return fmt.Errorf("%s: point %s: its run %q is not below the folder of the sweep", path, p.Name, p.Run)
		}
		seen[p.Name] = true
	}
	return nil
}

// Result is what is known of one run: its Results, or why there are none.
type Result struct {
	Res *analysis.Results // with rows
	Err error
	// backlog is that of the rows, which are let go once it is known.
	backlog *growth
}

// analysed reads the tape of every run, several at once.
func analysed(dir string, m *sweep.Manifest, o Options) []Result {
	out := make([]Result, len(m.Points))
	var wait sync.WaitGroup
	var mu sync.Mutex
	next, done := 0, 0
	for range min(runtime.GOMAXPROCS(0), len(m.Points)) {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(m.Points) {
					return
				}
				out[i] = analyse(dir, &m.Points[i], o)
				mu.Lock()
				if done++; o.Watch != nil {
					o.Watch(done, len(m.Points))
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return out
}

func analyse(dir string, p *sweep.Point, o Options) Result {
	if p.Run == "" {
		return Result{}
	}
	path, err := Tape(filepath.Join(dir, filepath.FromSlash(p.Run)))
	if err != nil {
		return Result{Err: err}
	}
	kinds := []string{window.KindSteady, window.KindWhole}
	if o.Window != "" && !slices.Contains(kinds, o.Window) {
		kinds = append(kinds, o.Window)
	}
	res, err := analysis.AnalyseFile(path, analysis.Options{Windows: kinds})
	if err != nil {
		return Result{Err: err}
	}
	r := Result{Res: res, backlog: grown(res)}
	res.Rows = analysis.Rows{} // of a thousand points not all are kept
	return r
}

// Tape is the tape in the folder of a run.
func Tape(run string) (string, error) {
	if _, err := os.Stat(run); err != nil {
		return "", fmt.Errorf("its folder is missing: %w", err)
	}
	for _, name := range []string{"tape.jsonl.zst", "tape.jsonl"} {
		if path := filepath.Join(run, name); regular(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s holds no tape", run)
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
