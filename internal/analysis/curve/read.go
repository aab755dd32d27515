package curve

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
	"tokentape/tape"
)

// Options choose how a sweep is read. The zero Options are the defaults.
type Options struct {
	// Window is the table that is read of every run; "": the steady one where all runs of
	// a point have it, else the whole.
	Window string
	// Expected is a file of expected values; "": that which the sweep was given, if any.
	Expected string
	// FitOnly leaves runs out that are not fit for use, and says which.
	FitOnly bool
	// Watch is told how many runs of how many are read. Optional; may be called from
	// several goroutines, one after the other.
	Watch func(done, total int)
}

// Read reads the sweep in dir, run by run, off the tapes. What a single run lacks is
// said at its point. Errors: sweep.json cannot be read or is of a newer format; the
// file of expected values is wrong (an *ExpectedError names the line); no such window.
func Read(dir string, o Options) (*Curves, error) {
	m, err := sweep.Read(dir)
	if err != nil {
		return nil, err
	}
	if o.Window != "" {
		if err := window.Check(o.Window); err != nil {
			return nil, err
		}
	}
	c, err := Of(m, analysed(dir, m, o), o)
	if err == nil && o.Expected == "" && m.Expected != "" {
		c.given(dir, m.Expected)
	}
	return c, err
}

// Of reads the runs of a manifest together; runs[i] is that of m.Points[i], its Results
// with their rows.
func Of(m *sweep.Manifest, runs []Result, o Options) (*Curves, error) {
	if len(m.Points) == 0 {
		return nil, errors.New("the sweep has no points")
	}
	for i := range runs {
		if r := &runs[i]; r.Res != nil && r.backlog == nil {
			r.backlog = grown(r.Res)
		}
	}
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

// CheckExpected holds a file of expected values against the points of a sweep that has
// not run. Errors: an *ExpectedError.
func CheckExpected(m *sweep.Manifest, path string) error {
	_, err := Of(m, make([]Result, len(m.Points)), Options{Expected: path})
	return err
}

// given reads the expected values that the sweep itself was given. They were checked
// before it began, so what is wrong with them now hides nothing that was measured.
func (c *Curves) given(dir, name string) {
	e, err := c.expect(filepath.Join(dir, name))
	if err != nil {
		c.Notes = append(c.Notes, "the expected values of the sweep cannot be read: "+err.Error())
		return
	}
	e.Path = name // wherever the folder is
	c.Expected = e
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
				out[i] = analyse(dir, m.Fields, &m.Points[i], o)
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

func analyse(dir string, fields []string, p *sweep.Point, o Options) Result {
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
	if why := unlike(fields, p, res); why != "" {
		return Result{Err: errors.New(why)}
	}
	r := Result{Res: res, backlog: grown(res)}
	res.Rows = analysis.Rows{} // of a thousand points not all are kept
	return r
}

// Tape is the tape in the folder of a run.
func Tape(run string) (string, error) {
	if info, err := os.Stat(run); err != nil || !info.IsDir() {
		return "", errors.New("its folder is missing")
	}
	for _, name := range []string{tape.NameCompressed, tape.NamePlain} {
		if path := filepath.Join(run, name); regular(path) {
			return path, nil
		}
	}
	return "", errors.New("its folder holds no tape")
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
