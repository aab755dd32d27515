package view

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"tokentape/internal/bundle"
	"tokentape/tape"
)

// Bounds of what is looked at below the folder.
const (
	mostDepth   = 12
	mostTapes   = 20_000
	mostEntries = 2_000_000 // of folders
	packEnd     = ".tokentape.zip"
)

// stamp tells a file from what it was before. The zero stamp is no file.
type stamp struct {
	size, mtime int64
}

func stampOf(st fs.FileInfo) stamp { return stamp{st.Size(), st.ModTime().UnixNano()} }

// candidate is a file that may be a tape, and what lies beside it.
type candidate struct {
	rel           string // with / between, below the folder
	tape, results stamp
}

// named reports whether a file is called as the tape of a run's folder.
func (c candidate) named() bool {
	base := path.Base(c.rel)
	return base == tape.NameCompressed || base == tape.NamePlain
}

// shown is the path that people know a run by.
func (c candidate) shown() string {
	if dir := path.Dir(c.rel); c.named() && dir != "." {
		return dir
	}
	return c.rel
}

// idOf is the name of a run in URLs: no path ever comes from a request.
func idOf(rel string) string {
	h := sha256.Sum256([]byte(rel))
	return hex.EncodeToString(h[:10])
}

// seen is what is known of a candidate as long as its files stay as they are.
type seen struct {
	candidate
	entry *Entry // nil: no tape
}

// index knows the runs below a folder. It is safe for concurrent use.
type index struct {
	root *os.Root

	mu       sync.Mutex
	by       map[string]*seen // by id
	knows    map[string]known // what analyses said, by id
	scanning chan struct{}    // nil: no scan runs; closed at its end
	left     leftOut
	done     int // of the scan that runs
	total    int
	err      error // of the last scan
}

// known is what an analysis of a tape said, as long as the tape stays as it is.
type known struct {
	tape stamp
	said *summary
}

// leftOut is what the list does not show, and why.
type leftOut struct {
	Links   int64  `json:"links,omitempty"`   // symbolic links, which are not followed
	Deep    int64  `json:"deep,omitempty"`    // folders below the deepest that are looked at
	Many    bool   `json:"many,omitempty"`    // more than are listed
	Unread  int64  `json:"unread,omitempty"`  // folders that could not be read
	Example string `json:"example,omitempty"` // of an error
}

func newIndex(dir string) (*index, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &index{root: root, by: map[string]*seen{}, knows: map[string]known{}}, nil
}

// open opens a regular file below the folder. os.Root lets no name and no symbolic
// link lead out of it.
func (x *index) open(rel string) (*os.File, error) {
	f, err := x.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return nil, cause(err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("no regular file (%s)", st.Mode().Type())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// cause is an error of a file without the path, which the list shows anyway.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// learn keeps what an analysis of a tape said.
func (x *index) learn(c candidate, s *summary) {
	x.mu.Lock()
	defer x.mu.Unlock()
	id := idOf(c.rel)
	if len(x.knows) >= mostTapes {
		clear(x.knows)
	}
	x.knows[id] = known{c.tape, s}
	if old := x.by[id]; old != nil && old.entry != nil && old.tape == c.tape {
		e := *old.entry
		e.tell(s)
		x.by[id] = &seen{old.candidate, &e}
	}
}

func (x *index) learned(c candidate) *summary {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k, ok := x.knows[idOf(c.rel)]; ok && k.tape == c.tape {
		return k.said
	}
	return nil
}

// refresh looks at the folder anew, unless that is being done, and waits for it until
// ctx ends.
func (x *index) refresh(ctx context.Context) {
	x.mu.Lock()
	if x.scanning == nil {
		x.scanning = make(chan struct{})
		go x.scan(x.scanning)
	}
	end := x.scanning
	x.mu.Unlock()
	select {
	case <-end:
	case <-ctx.Done():
	}
}

// scan finds tapes and reads what is new.
func (x *index) scan(end chan struct{}) {
	w := walker{index: x}
	err := w.walk(".", 0)
	x.mu.Lock()
	var fresh []candidate
	there := map[string]bool{}
	for _, c := range w.found {
		id := idOf(c.rel)
		there[id] = true
		if old := x.by[id]; old == nil || old.candidate != c {
			fresh = append(fresh, c)
		}
	}
	for id := range x.by {
		if !there[id] {
			delete(x.by, id)
		}
	}
	x.done, x.total = 0, len(fresh)
	x.mu.Unlock()

	work := make(chan candidate)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for c := range work {
				e := x.readSafely(c)
				x.mu.Lock()
				x.by[idOf(c.rel)] = &seen{c, e}
				x.done++
				x.mu.Unlock()
			}
		})
	}
	for _, c := range fresh {
		work <- c
	}
	close(work)
	all.Wait()

	x.mu.Lock()
	x.err, x.left, x.scanning = err, w.left, nil
	x.done, x.total = 0, 0
	x.mu.Unlock()
	close(end)
}

// readSafely is read: a file that breaks a reader breaks its own line of the list alone.
func (x *index) readSafely(c candidate) (e *Entry) {
	defer func() {
		if v := recover(); v != nil {
			e = (&Entry{ID: idOf(c.rel), Path: shown(c.shown(), mostText), Bytes: c.tape.size}).broken(fmt.Errorf("a fault of tokentape while it was read: %v", v))
		}
	}()
	return x.read(c)
}

// find is the run of an id, as its files are now.
func (x *index) find(id string) (candidate, *Entry, bool) {
	x.mu.Lock()
	s := x.by[id]
	x.mu.Unlock()
	if s == nil || s.entry == nil {
		return candidate{}, nil, false
	}
	c := s.candidate
	if st, err := x.root.Lstat(c.rel); err == nil {
		c.tape = stampOf(st)
	}
	return c, s.entry, true
}

// listing is what the list shows at a moment.
type listing struct {
	Runs     []*Entry `json:"runs"`
	Left     leftOut  `json:"left_out"`
	Scanning bool     `json:"scanning,omitempty"` // this is not yet all
	Done     int      `json:"done,omitempty"`     // of Total new files that are read
	Total    int      `json:"total,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// list are the runs, newest first.
func (x *index) list() listing {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := listing{Runs: []*Entry{}, Left: x.left}
	if x.scanning != nil {
		l.Scanning, l.Done, l.Total = true, x.done, x.total
	}
	if x.err != nil {
		l.Error = shown(x.err.Error(), mostLine)
	}
	var sweeps []*seen
	for _, s := range x.by {
		if s.entry != nil && s.entry.State == StateSweep {
			sweeps = append(sweeps, s)
		}
	}
	for _, s := range x.by {
		if s.entry == nil {
			continue
		}
		e := s.entry
		for _, of := range sweeps {
			if s.below(of.candidate) {
				point := *e
				point.Sweep, e = of.entry.ID, &point
			}
		}
		l.Runs = append(l.Runs, e)
	}
	slices.SortFunc(l.Runs, func(a, b *Entry) int {
		return cmp.Or(-strings.Compare(a.Started, b.Started), strings.Compare(a.Path, b.Path), strings.Compare(a.ID, b.ID))
	})
	return l
}

// walker looks for candidates.
type walker struct {
	*index
	found  []candidate
	left   leftOut
	looked int
}

func (w *walker) walk(dir string, depth int) error {
	d, err := w.root.Open(dir)
	var entries []fs.DirEntry
	if err == nil {
		entries, err = d.ReadDir(mostEntries - w.looked)
		d.Close()
	}
	if len(entries) > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		if depth == 0 {
			return fmt.Errorf("the folder cannot be read: %w", cause(err))
		}
		w.left.Unread++
		w.left.Example = shown(dir+": "+cause(err).Error(), mostText)
		return nil
	}
	if w.looked += len(entries); w.looked >= mostEntries {
		w.left.Many = true
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var results, curves stamp
	for _, e := range entries {
		if e.Name() == bundle.ResultsName && e.Type().IsRegular() {
			results = w.stamp(path.Join(dir, e.Name()))
		}
		if e.Name() == curvesName && e.Type().IsRegular() {
			curves = w.stamp(path.Join(dir, e.Name()))
		}
	}
	for _, e := range entries {
		name, rel := e.Name(), path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(name, "."): // hidden; files that are being written too
		case e.Type()&fs.ModeSymlink != 0:
			w.left.Links++
		case e.IsDir() && depth >= mostDepth:
			w.left.Deep++
		case e.IsDir():
			if err := w.walk(rel, depth+1); err != nil {
				return err
			}
		case !e.Type().IsRegular() || !mayBe(name):
		case len(w.found) >= mostTapes:
			w.left.Many = true
		default:
			c := candidate{rel: rel, tape: w.stamp(rel)}
			if c.tape == (stamp{}) {
				continue // it has just gone
			}
			if c.named() {
				c.results = results
			}
			if c.sweep() {
				c.results = curves
			}
			w.found = append(w.found, c)
		}
	}
	return nil
}

func (w *walker) stamp(rel string) stamp {
	st, err := w.root.Lstat(rel)
	if err != nil || !st.Mode().IsRegular() {
		return stamp{}
	}
	return stampOf(st)
}

// mayBe reports whether a file can be a tape by its name. What a run's folder has
// beside its tape is none.
func mayBe(name string) bool {
	if name == bundle.PlanName {
		return false
	}
	if name == sweepName {
		return true
	}
	for _, end := range []string{".jsonl", ".jsonl.zst", ".zip"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
