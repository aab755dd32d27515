package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
	"tokentape/internal/resource"
	"tokentape/internal/run"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/internal/sweep"
	"tokentape/tape"
)

// series is runs that belong together: the points of a sweep, or the looks of a search,
// in one folder with one manifest. It is for one goroutine.
type series struct {
	a    *app
	args []string // the spec's file, or none
	f    *specFlags
	o    runOptions
	kind string // sweep or search
	base *spec.Spec
	clk  *clock.Clock
	m    *sweep.Manifest

	dir    string // "" until begin
	parent *os.File
	sets   [][]spec.PointSet // of each point of m
	tries  []*tried          // of those that were tried
	said   map[string]bool   // lines that a statement of a point has said
	cut    string            // what the point before left running; "": nothing
	ran    bool              // a point was run by this command
	mine   map[int]bool      // the points that it ran
	codes  []int             // of these
	last   error
	has    *resource.Machine // nil: not read yet
}

// ended is what became of a point.
type ended struct {
	code int
	err  error
	dir  string            // of the run; "": nothing was sent
	res  *analysis.Results // nil: nothing was measured
	took time.Duration
}

// measured reports whether the point says anything: it went its whole way, and a request
// ended well.
func (e ended) measured() bool {
	return slices.Contains(goOn, e.code) && e.res != nil && e.res.Counts.OK > 0
}

// newSeries reads the spec, and makes nothing yet. It makes what points can share
// (app.shared), which close lets go.
func (a *app) newSeries(kind string, args []string, f *specFlags, o runOptions) (*series, error) {
	s, notes, err := a.loadSpec(args, f)
	if err != nil {
		return nil, err
	}
	a.shared = &shared{}
	o.log.hide(s.Secrets())
	for _, n := range notes {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	return &series{a: a, args: args, f: f, o: o, kind: kind, base: s, clk: clock.New(), said: map[string]bool{}, mine: map[int]bool{}, m: &sweep.Manifest{
		Kind: kind, Name: s.Name, Order: s.Sweep.Order, Prompts: s.Sweep.Prompts, Seed: s.Seeds.Run,
	}}, nil
}

// close lets go what the points shared, and the folder.
func (s *series) close() {
	s.a.shared.close()
	s.a.shared = nil
	if s.parent != nil {
		s.parent.Close()
	}
}

// distinct reports whether no two points may send the same rows.
func (s *series) distinct() bool { return s.m.Prompts != "same" }

// flags are those of a point: what it gives lies over everything else.
func (s *series) flags(sets []spec.PointSet) *specFlags {
	f := *s.f
	f.point = append(make([]spec.PointSet, 0, len(sets)), sets...)
	return &f
}

// prepare makes the job of a point, as its run will. share says which rows are its own;
// nil: all of the spec's.
func (s *series) prepare(sets []spec.PointSet, share *sweep.Share) (*job, error) {
	f := s.flags(sets)
	f.share = share
	return s.a.prepare(s.args, f, "")
}

// tried is what is known of a point before it runs.
type tried struct {
	sets []spec.PointSet
	rows int64         // of the dataset that it can be dealt
	need int64         // of them; −1: nobody knows
	time time.Duration // how long it takes; 0: nobody knows
	load spec.Load
	set  string // names the rows that it is dealt from
	most time.Duration
}

// try prepares a point and lets it go again: what is wrong with it shows before
// anything is sent.
func (s *series) try(sets []spec.PointSet) (*tried, error) {
	j, err := s.prepare(sets, nil)
	if err != nil {
		return nil, err
	}
	defer j.close()
	s.o.log.hide(j.secrets())
	if err := j.needServer(strings.Join(s.args, "")); err != nil {
		return nil, err
	}
	if err := s.ownOutputs(j, sets); err != nil {
		return nil, err
	}
	if !j.spec.Target.Spread { // over addresses that are not known yet
		if err := j.resources(s.machine()); err != nil {
			return nil, err
		}
	}
	t := &tried{sets: sets, load: j.spec.Load, set: dealtFrom(j.spec)}
	t.rows, t.need = j.dealt()
	t.time, t.most = j.duration()
	return t, nil
}

// machine is what this machine has, read once.
func (s *series) machine() resource.Machine {
	if s.has == nil {
		m := resource.Here()
		s.has = &m
	}
	return *s.has
}

// begin makes the folder, with the spec in it. It holds a lock on it, so that no other
// command goes on with the same.
func (s *series) begin() error {
	name := spec.Own(s.base.Secrets()).Mask(s.base.Name)
	dir, err := newRunDirAs(s.o.out, name, s.clk.Wall(), "-"+s.kind)
	if err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	if err := s.lock(dir.path); err != nil {
		return err
	}
	if err := s.o.log.open(dir); err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	text := s.base.YAML()
	s.m.Spec = fmt.Sprintf("%x", sha256.Sum256(text))
	if err := dir.write(sweepSpec, func(f *os.File) error {
		_, err := f.Write(text)
		return err
	}); err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	if err := os.Mkdir(dir.file(sweepPoints), 0o755); err != nil {
		return usageError(err.Error(), "another place: --out DIR")
	}
	if err := s.keepExpected(dir); err != nil {
		return err
	}
	return s.write()
}

// keepExpected copies the file of expected values into the folder, which is then whole
// wherever it goes.
func (s *series) keepExpected(dir *runDir) error {
	path := s.base.Sweep.Expected
	if path == "" || s.kind != "sweep" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err == nil {
		s.m.Expected = "expected" + strings.ToLower(filepath.Ext(path))
		err = dir.write(s.m.Expected, func(f *os.File) error { _, err := f.Write(text); return err })
	}
	if err != nil {
		return usageError(err.Error(), "sweep.expected names the file; --set sweep.expected= takes it away")
	}
	return nil
}

// What stands in the folder of a series beside its manifest.
const (
	sweepSpec   = "sweep.yaml"
	sweepPoints = "points"
)

// unchanged refuses a folder whose spec is not the one that its runs were made with.
func (s *series) unchanged(dir string) error {
	path := filepath.Join(dir, sweepSpec)
	text, err := os.ReadFile(path)
	if err != nil {
		return usageError(err.Error())
	}
	if s.m.Spec != "" && fmt.Sprintf("%x", sha256.Sum256(text)) != s.m.Spec {
		return usageError(fmt.Sprintf("%s was changed since the %s began: what is left would be unlike what was measured", path, s.m.Kind),
			fmt.Sprintf("put it back as it was, or begin another: tokentape %s %s", s.m.Kind, shellWords([]string{path})))
	}
	return nil
}

// lock takes the folder for this command.
func (s *series) lock(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return usageError(err.Error())
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return usageError(dir+": another tokentape is running its points", "wait until it has ended, or end it")
	} // some file systems know no locks
	s.dir, s.parent = dir, f
	s.o.series, s.o.quiet = dir, true
	return nil
}

func (s *series) write() error {
	if err := s.m.Write(s.dir); err != nil {
		return &exitError{code: exitInternal, msg: fmt.Sprintf("%s cannot be written: %v", filepath.Join(s.dir, sweep.File), err), hints: []string{"the points that were measured keep their tapes: " + filepath.Join(s.dir, sweepPoints)}}
	}
	return nil
}

// add appends a point to the manifest with the rows that it is to send, and gives its
// place in it. The error is a *sweep.Short where there are too few rows.
func (s *series) add(p sweep.Place, t *tried) (int, error) {
	if s.distinct() {
		shares, err := sweep.Deal(t.rows, s.used(t.set), []int64{t.need})
		if err != nil {
			return 0, err
		}
		p.FirstRow, p.Rows = &shares[0].First, &shares[0].Rows
	}
	i := s.m.Add(p.Point)
	s.sets = append(s.sets, p.Sets)
	return i, nil
}

// used is how many of the first rows of a dataset the points have been given.
func (s *series) used(set string) int64 {
	var used int64
	for i, p := range s.m.Points {
		if p.FirstRow == nil || p.Rows == nil {
			continue
		}
		if one, _, err := s.a.loadSpec(s.args, s.flags(s.sets[i])); err == nil && dealtFrom(one) != set {
			continue
		}
		used = max(used, *p.FirstRow+*p.Rows)
	}
	return used
}

// run makes the run of a point: pause, hook, run, and what came of it into the manifest.
// where tells the user how far it is ("point 3 of 7"). ctx ends the waiting between
// points; a run obeys interrupts itself. An error of its own is one of the manifest.
func (s *series) run(ctx context.Context, i int, where string) (ended, error) {
	p := &s.m.Points[i]
	var e ended
	var notes []string
	p.Reason, p.Hook = "", "" // what an earlier try came to
	if s.ran {
		if err := s.between(ctx, p); err != nil {
			s.codes, s.last = append(s.codes, exitInterrupted), err
			return ended{code: exitInterrupted, err: err}, s.write()
		}
		if s.cut != "" {
			notes = append(notes, s.cut)
			p.Reason = s.cut
			s.cut = ""
		}
	}
	rel := filepath.Join(sweepPoints, p.Name)
	if note := s.again(i, rel); note != "" {
		notes = append(notes, note)
	}
	p.State, p.Exit, p.Began, p.Ended = sweep.Running, nil, s.clk.Wall(), time.Time{}
	p.Run = rel
	if err := s.write(); err != nil {
		return e, err
	}
	fmt.Fprintf(s.a.stderr, "\n━━ %s\n", where)
	s.o.log.say(s.kind, "%s: %s", where, rel)
	begun := s.clk.Now()
	e.code, e.err = s.runOne(i, filepath.Join(s.dir, rel), notes, &e)
	e.took = time.Duration(s.clk.Now() - begun)
	s.ran = true
	s.codes, s.last, s.mine[i] = append(s.codes, e.code), cmp.Or(e.err, s.last), true
	p.Ended = s.clk.Wall()
	code := e.code // of its own: a pointer into e would keep what was measured
	p.Exit = &code
	p.State = sweep.Done
	if !e.measured() {
		p.State = sweep.Failed
	}
	if e.dir == "" {
		p.Run = ""
	}
	text := "fit for use"
	if e.err != nil {
		text = fmt.Sprintf("exit code %d: %s", e.code, e.err.Error())
		p.Reason = strings.TrimPrefix(p.Reason+"; "+s.shown(e.err.Error()), "; ")
	}
	out := s.a.stdout
	if s.o.json {
		out = s.a.stderr
	}
	fmt.Fprintf(out, "%s  %s\n", filepath.Join(s.dir, rel), s.shown(text))
	s.o.log.say(s.kind, "%s: %s", rel, text)
	return e, s.write()
}

// mask takes the spec's secrets out of a text.
func (s *series) mask(text string) string { return secret.New(s.base.Secrets()).Mask(text) }

// shown is a text without the spec's secrets, on one line.
func (s *series) shown(text string) string { return secret.New(s.base.Secrets()).Line(text, 500) }

// runOne is a run as any other, and its exit code.
func (s *series) runOne(i int, dir string, notes []string, e *ended) (int, error) {
	o := s.o
	log := newRunLog(s.a.args)
	log.into, o.log = o.log, log
	o.dir, o.said = dir, s.said
	if !s.distinct() {
		o.series = ""
	}
	if u := s.base.Sweep.Until; s.kind == "sweep" && u.RelativeWidth > 0 {
		o.until = &u
	}
	o.after = func(sum *run.Summary, res *analysis.Results) {
		e.res = res
		f := sum.Footer
		if n := f.Cancelled + f.Abandoned + f.Failed[string(tape.OutcomeTimeout)]; n > 0 {
			s.cut = fmt.Sprintf("%d requests of the point before were cut short, and the server may still have been working on them when this one began (sweep.pause waits)", n)
		}
	}
	p := s.m.Points[i]
	var share *sweep.Share
	if p.FirstRow != nil && p.Rows != nil {
		share = &sweep.Share{First: *p.FirstRow, Rows: *p.Rows}
	}
	j, err := s.prepare(s.sets[i], share)
	if err == nil {
		defer j.close()
		j.notes = append(j.notes, notes...)
		e.dir, err = s.a.run(context.Background(), j, o)
	}
	log.end("", err)
	var ex *exitError
	switch {
	case err == nil:
		return exitFit, nil
	case errors.As(err, &ex):
		return ex.code, err
	}
	return exitInternal, err
}

// again moves what an earlier try of a point left at rel out of the way, and gives the
// point rows that were not sent yet, where there are some. It returns what is to be said
// of that; "": nothing was sent before.
func (s *series) again(i int, rel string) string {
	p := &s.m.Points[i]
	old := filepath.Join(s.dir, rel)
	if _, err := os.Lstat(old); err != nil || os.Remove(old) == nil { // an empty one holds nothing
		return ""
	}
	kept := ""
	for n := 1; n < 1000; n++ {
		to := fmt.Sprintf("%s.cut%d", old, n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) && os.Rename(old, to) == nil {
			kept = filepath.Join(filepath.Dir(rel), filepath.Base(to))
			break
		}
	}
	if kept != "" {
		p.Reason = strings.TrimPrefix(p.Reason+"; run again; what was cut is in "+kept, "; ")
		fmt.Fprintf(s.a.stderr, "%s was cut, and is run again; what there is of it is kept in %s\n", p.Name, kept)
	}
	if !s.distinct() || p.FirstRow == nil || p.Rows == nil || kept == "" {
		return ""
	}
	if t, err := s.try(s.sets[i]); err == nil {
		if shares, err := sweep.Deal(t.rows, s.used(t.set), []int64{*p.Rows}); err == nil {
			p.FirstRow = &shares[0].First
			return ""
		}
	}
	return "some of " + analysis.NoteSentBefore + ": by this point, when it was cut, and there are no others left"
}

// between is what happens between two points: the hook, then the pause.
func (s *series) between(ctx context.Context, p *sweep.Point) error {
	if post := s.base.Sweep.Between.Post; post != "" {
		if p.Hook = s.hook(ctx, post); ctx.Err() == nil {
			fmt.Fprintf(s.a.stderr, "%s\n", p.Hook)
			s.o.log.say("between", "%s", p.Hook)
		}
	}
	if d := s.base.Sweep.Pause.D(); d > 0 && ctx.Err() == nil {
		show := s.a.during(fmt.Sprintf("waiting %s (sweep.pause)", d))
		_ = s.clk.SleepUntil(ctx, s.clk.Now()+int64(d)) // ctx tells
		show.done()
	}
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, msg: "interrupted between two points"}
	}
	return nil
}

// hook sends what is asked for between two points, and says what came of it.
func (s *series) hook(ctx context.Context, post string) string {
	j, err := s.a.reach(s.args, s.flags(nil))
	if err != nil {
		return "POST " + s.shown(post) + ": failed: " + s.shown(err.Error())
	}
	// A point's own spec has no sweep, and knows nothing of the secrets in it.
	hush := secret.New(append(j.secrets(), s.base.Secrets()...))
	c, side := j.client(s.clk), j.otherClient(s.clk)
	defer c.Close()
	defer side.Close()
	urls := []string{post}
	if strings.HasPrefix(post, "/") {
		urls = urls[:0]
		for _, b := range j.bases {
			urls = append(urls, b.Root+post)
		}
	}
	var said []string
	for _, url := range urls {
		with := side
		if j.isTarget(url) {
			with = c
		}
		asked := "POST " + hush.Mask(url)
		wait := s.clk.AfterFunc(int64(time.Second), func() {
			fmt.Fprintf(s.a.stderr, "waiting for an answer to %s (sweep.between, at most %s)\n", asked, flushTimeout)
		})
		status, err := j.flushCache(ctx, with, url)
		wait.Stop()
		text := fmt.Sprintf("%s: %d", asked, status)
		if err != nil {
			text = asked + " failed: " + hush.Line(err.Error(), maxFlushError)
		}
		said = append(said, text)
	}
	return strings.Join(said, "; ")
}

// interrupts is a context that Ctrl-C ends, for the time between runs.
func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// end says where the points are, and is the exit code of the series.
func (s *series) end() error {
	read := s.read()
	fmt.Fprintf(s.a.stderr, "points: %s\n", s.dir)
	if err := s.ending(); err != nil {
		return err
	}
	return read
}

// ending is the exit code of all points, as that of a repeat: those count too that were
// measured before this command.
func (s *series) ending() error {
	codes, last := slices.Clone(s.codes), s.last
	for i, p := range s.m.Points {
		if p.Exit == nil || p.State != sweep.Done || s.mine[i] {
			continue
		}
		codes = append(codes, *p.Exit)
		if *p.Exit != exitFit && last == nil {
			last = &exitError{code: *p.Exit, msg: fmt.Sprintf("%s: %s", p.Name, p.Reason)}
		}
	}
	return repeatEnding(codes, last)
}

// read prints what the points say together, where one was measured.
func (s *series) read() error {
	if !slices.ContainsFunc(s.m.Points, func(p sweep.Point) bool { return p.State == sweep.Done || p.State == sweep.Failed }) {
		return nil
	}
	err := s.a.curves(s.dir, curveOptions{json: s.o.json})
	if err != nil {
		fmt.Fprintf(s.a.stderr, "the points are not read together: %s\n", s.shown(err.Error()))
	}
	return err
}
