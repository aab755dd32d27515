package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"tokentape/internal/analysis"
	"tokentape/internal/clock"
	"tokentape/internal/probe"
	"tokentape/internal/run"
	"tokentape/internal/secret"
	"tokentape/tape"
)

// logName is the log of a run in its folder, or, of one that never began, in the
// folder where runs are made: the last such run's.
const logName = "run.log"

// Bounds of a log.
const (
	logEach  = 20   // lines of one kind; more are counted
	logClass = 3    // failures of one class; more are counted
	logKeys  = 64   // kinds and classes counted apart
	logText  = 1500 // bytes of a line's text
	logQueue = 512  // lines that wait for the disk; more are counted as lost
)

// nearText is what messages quote of a row that cannot be read: it may be a prompt.
var nearText = regexp.MustCompile(`near "(?:[^"\\]|\\.)*"?`)

// runLog keeps run.log: what a run came to, a line an event, for people and for
// tokentape why. It holds no prompt and no secret. Lines are written by a
// goroutine of its own, so that no request ever waits for the disk. A nil *runLog
// keeps nothing; it is safe for concurrent use.
type runLog struct {
	mu      sync.Mutex
	wall    func() time.Time
	lines   []string // before there is a file
	secrets []string
	clk     *clock.Clock // of the run, once t = 0 is known
	count   map[string]int
	order   []string // keys of count
	lost    int
	closed  bool
	file    chan string
	done    chan struct{}
	// into is the log of the repeats that the run is one of: it takes the lines of a
	// run that never has a folder.
	into *runLog
}

// newRunLog begins with the command line, masked.
func newRunLog(args []string) *runLog {
	shown, hidden := maskWords(args)
	l := &runLog{wall: clock.New().Wall, count: map[string]int{}, secrets: hidden}
	l.say("start", "tokentape %s: tokentape %s", version(), shellWords(shown))
	return l
}

// hide masks these texts too, in all lines, also in those before. It must come
// before there is a file.
func (l *runLog) hide(secrets []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secrets = append(l.secrets, secrets...)
}

// say writes a line of now.
func (l *runLog) say(kind, format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := tape.Opt[int64]{}
	if l.clk != nil {
		t = tape.Some(l.clk.Now())
	}
	l.put(t, kind, kind, fmt.Sprintf(format, args...))
}

// at writes a line of time t of the run. Lines of one key are bounded in number.
func (l *runLog) at(t int64, kind, key, text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(tape.Some(t), kind, key, text)
}

func (l *runLog) put(t tape.Opt[int64], kind, key, text string) {
	if l.closed {
		return
	}
	if l.count[key] == 0 {
		if len(l.order) >= logKeys {
			key = kind
		}
		l.order = append(l.order, key)
	}
	if l.count[key]++; l.count[key] > most(key) && kind != "exit" {
		return
	}
	wall, at := l.wall(), "-"
	if t.OK && l.clk != nil {
		wall, _ = l.clk.Epoch()
		wall, at = wall.Add(time.Duration(t.V)), fmt.Sprintf("%+.6f", float64(t.V)/1e9)
	}
	line := fmt.Sprintf("%s  %12s  %-9s  %s", wall.UTC().Format("2006-01-02T15:04:05.000Z"), at, kind, text)
	if l.file == nil {
		l.lines = append(l.lines, line)
		return
	}
	select {
	case l.file <- line:
	default:
		l.lost++
	}
}

// most is how many lines of a key are written.
func most(key string) int {
	if strings.HasPrefix(key, "failure ") {
		return logClass
	}
	return logEach
}

// masked is a line fit to be kept: its columns are ours, what follows is of others.
func masked(line string, set *secret.Set) string {
	const columns = 24 + 2 + 12 + 2 + 9 + 2
	if len(line) < columns {
		return line
	}
	text := nearText.ReplaceAllString(line[columns:], "near …")
	return line[:columns] + set.Line(text, logText)
}

// open writes the lines so far to the folder of the run, and those that follow.
func (l *runLog) open(dir *runDir) error { return l.openAs(dir, os.O_EXCL) }

// goOn is open for a folder that has a log already, which goes on.
func (l *runLog) goOn(dir *runDir) error { return l.openAs(dir, 0) }

func (l *runLog) openAs(dir *runDir, how int) error {
	if l == nil {
		return nil
	}
	f, err := os.OpenFile(dir.file(logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND|how, 0o644)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file, l.done = make(chan string, logQueue), make(chan struct{})
	first, set := l.lines, secret.New(l.secrets)
	l.lines = nil
	go func() {
		defer close(l.done)
		defer f.Close()
		for _, line := range first {
			fmt.Fprintln(f, masked(line, set))
		}
		for line := range l.file {
			fmt.Fprintln(f, masked(line, set)) // a log that cannot be written stops no run
		}
	}()
	return nil
}

// end writes how the command ended, and what was counted only. A run that never
// had a folder leaves its log in dir, over that of the last such run.
func (l *runLog) end(dir string, err error) {
	if l == nil {
		return
	}
	l.mu.Lock()
	for _, key := range l.order {
		if n := l.count[key] - most(key); n > 0 {
			l.putMore(fmt.Sprintf("%d more lines of %q are not written", n, key))
		}
	}
	if l.lost > 0 {
		l.putMore(fmt.Sprintf("%d lines were lost: the disk did not keep up", l.lost))
	}
	l.mu.Unlock()
	code, text := exitFit, "fit for use"
	var hints []string
	if err != nil {
		code, text = exitInternal, err.Error()
		var e *exitError
		if errors.As(err, &e) {
			code, text, hints = e.code, e.msg, e.hints
		}
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), ";")
	if len(hints) > 0 {
		text += " → " + strings.Join(hints, " → ")
	}
	l.say("exit", "%d: %s", code, text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.closed = true; l.file != nil {
		close(l.file)
		<-l.done
		return
	}
	set := secret.New(l.secrets)
	if l.into != nil {
		for _, line := range l.lines {
			l.into.pass(masked(line, set))
		}
		return
	}
	if os.MkdirAll(dir, 0o755) != nil {
		return
	}
	_ = writeOver(filepath.Join(dir, logName), func(f *os.File) error {
		for _, line := range l.lines {
			if _, err := fmt.Fprintln(f, masked(line, set)); err != nil {
				return err
			}
		}
		return nil
	})
}

// pass writes a line of another log.
func (l *runLog) pass(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		l.lines = append(l.lines, line)
		return
	}
	select {
	case l.file <- line:
	default:
		l.lost++
	}
}

func (l *runLog) putMore(text string) {
	t := tape.Opt[int64]{}
	if l.clk != nil {
		t = tape.Some(l.clk.Now())
	}
	l.put(t, "more", "more", text)
}

// asked writes what is to be done, as far as it is known before the server is asked.
func (l *runLog) asked(j *job) {
	l.hide(j.secrets())
	l.say("spec", "read, name %s", j.spec.Name)
	info := j.source.Info()
	l.say("data", "%s: %d rows, sha256 %.12s…", info.Path, info.Rows, info.SHA256)
	l.say("plan", "%s", j.plan)
	for _, n := range j.notes {
		l.say("note", "%s", n)
	}
}

// preflight writes what the server said before the load.
func (l *runLog) preflight(j *job, pre *probe.Result, err error) {
	if err != nil {
		l.say("preflight", "failed: %s", strings.ReplaceAll(err.Error(), "\n", ";"))
		return
	}
	s := pre.Server
	l.say("preflight", "%s: model %q, engine %s at %s", strings.Join(j.urls(), ", "), s.Model, strings.TrimSpace(s.Engine+" "+s.Version), s.Remote)
	for _, n := range pre.Notes {
		l.say("note", "%s", n)
	}
	for _, p := range j.prep.lines(j.spec) {
		l.say("prepare", "%s", p)
	}
}

// follow lets the run tell of itself and of the requests that end.
func (l *runLog) follow(cfg *run.Config) {
	if l == nil {
		return
	}
	cfg.Said = func(s run.Said) {
		if s.Kind == run.SaidBegin {
			l.mu.Lock()
			l.clk = cfg.Clock
			l.mu.Unlock()
		}
		l.at(s.T, s.Kind, s.Kind, s.Text)
	}
	before := cfg.Ended
	cfg.Ended = func(e run.Ended) {
		if before != nil {
			before(e)
		}
		l.ended(e)
	}
}

// slowQueue is how many records may wait for the tape before the log says so: an
// eighth of what stops the run.
const slowQueue = 1024

// sampled writes when the recorder falls behind.
func (l *runLog) sampled(c *tape.ClientSample) {
	if c.Queue >= slowQueue {
		l.at(c.T, "recorder", "recorder", fmt.Sprintf("slow: %d records wait for the tape", c.Queue))
	}
}

// analysed writes how the tape was read back.
func (l *runLog) analysed(took time.Duration, err error) {
	if err == nil {
		l.say("analysis", "made the numbers from the tape in %s", took.Round(time.Millisecond))
		return
	}
	l.say("analysis", "failed: %v", err)
	var fault *faultError
	if errors.As(err, &fault) {
		for line := range strings.Lines(string(fault.stack)) {
			l.say("fault", "%s", line)
		}
	}
}

// wrote lists the files of the run, and those that could not be written.
func (l *runLog) wrote(dir *runDir, err error) {
	if err != nil {
		l.say("files", "not written: %v", err)
	}
	entries, _ := os.ReadDir(dir.path)
	var names []string
	for _, e := range entries {
		if i, err := e.Info(); err == nil && e.Type().IsRegular() && e.Name() != logName {
			names = append(names, fmt.Sprintf("%s (%d bytes)", e.Name(), i.Size()))
		}
	}
	l.say("files", "%s", strings.Join(names, ", "))
}

// ended writes the first failures of each class, and requests that were tried
// again.
func (l *runLog) ended(e run.Ended) {
	if l == nil {
		return
	}
	if e.Attempts > 1 {
		l.at(e.T, "retry", "retry", fmt.Sprintf("request %d ended %s after %d attempts", e.Seq, e.Outcome, e.Attempts))
	}
	if !e.Outcome.Failed() {
		return
	}
	class := analysis.ClassName(tape.ClassOf(e.Outcome, e.Cause, e.Status))
	l.at(e.T, "failure", "failure "+class, fmt.Sprintf("%s: request %d of %s: %s", class, e.Seq, e.Phase, e.Message))
}
