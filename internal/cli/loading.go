package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"tokentape/internal/clock"
)

// loading says on stderr how far the work before the first request is, when that
// takes long. On a terminal one line is rewritten, elsewhere lines come at a pace
// that no log minds. It is safe for concurrent use.
type loading struct {
	w        io.Writer
	terminal bool
	now      func() int64 // ns

	mu    sync.Mutex
	next  int64 // when to say something
	drawn bool
	what  string
	begun int64 // of what
}

// When loading speaks, in ns.
const (
	loadingAfter    = int64(2e9)
	loadingTerminal = int64(2e8)
	loadingLines    = int64(5e9)
)

func (a *app) loading() *loading {
	l := &loading{w: a.stderr, now: clock.New().Now}
	if f, ok := a.stderr.(*os.File); ok {
		l.terminal = term.IsTerminal(int(f.Fd()))
	}
	l.next = l.now() + loadingAfter
	return l
}

// bytes is told of work on a file, such as "reading data.jsonl".
func (l *loading) bytes(what string, done, total int64) {
	l.show(what, done, total, func() string { return fmt.Sprintf("%d of %d MB", done/1e6, total/1e6) })
}

// file is told of the passes over a dataset's file.
func (l *loading) file() func(what string, done, total int64) {
	return func(what string, done, total int64) { l.bytes(what+" the dataset", done, total) }
}

// rows is told of work on rows, such as "counting tokens".
func (l *loading) rows(what string, done, total int64) {
	l.show(what, done, total, func() string { return fmt.Sprintf("%d of %d rows", done, total) })
}

// of is rows for one kind of work.
func (l *loading) of(what string) func(done, total int) {
	return func(done, total int) { l.rows(what, int64(done), int64(total)) }
}

func (l *loading) show(what string, done, total int64, amount func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if what != l.what {
		l.what, l.begun = what, now
	}
	if done >= total {
		l.clear()
		return
	}
	if now < l.next || done <= 0 {
		return
	}
	left := float64(now-l.begun) / float64(done) * float64(total-done) / 1e9
	text := fmt.Sprintf("%s: %s, about %.0f s left", what, amount(), left)
	if l.terminal {
		fmt.Fprint(l.w, "\r"+text+"\x1b[K")
		l.drawn, l.next = true, now+loadingTerminal
	} else {
		fmt.Fprintln(l.w, text)
		l.next = now + loadingLines
	}
}

// clear takes the line away; l.mu is held.
func (l *loading) clear() {
	if l.drawn {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.drawn = false
	}
}

// done takes the line away, before anything else is said.
func (l *loading) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}
