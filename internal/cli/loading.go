package cli

import (
	"context"
	"fmt"
	"io"
	"sync"

	"tokentape/internal/clock"
	"tokentape/internal/observe"
)

// loading says on stderr how far work is that takes longer than a second, on a line
// that is taken away at the end; when stderr is no terminal it says nothing. It is the
// one way to do so, for all work but the load itself. It is safe for concurrent use,
// and a nil *loading says nothing.
type loading struct {
	w      io.Writer
	screen func() (observe.Screen, bool) // nil: no terminal
	clk    *clock.Clock
	end    context.CancelFunc // of during
	ticker sync.WaitGroup

	mu      sync.Mutex
	painter observe.Painter
	next    int64 // when to draw something, by clk
	told    int64 // when the work told of itself last
	what    string
	begun   int64 // of what
}

// When loading speaks, in ns.
const (
	loadingAfter = int64(1e9)
	loadingEvery = int64(2e8)
	loadingQuiet = int64(5e8) // without a word of the work only the time is shown
)

// loading begins work; done ends it.
func (a *app) loading() *loading {
	return newLoading(a.stderr, a.screen(), clock.New())
}

func newLoading(w io.Writer, screen func() (observe.Screen, bool), clk *clock.Clock) *loading {
	return &loading{w: w, screen: screen, clk: clk, next: clk.Now() + loadingAfter, told: -loadingQuiet}
}

// during is loading for work that need not tell how far it is: then the line says how
// long it has been going on.
func (a *app) during(what string) *loading {
	l := a.loading()
	l.during(what)
	return l
}

func (l *loading) during(what string) {
	if l.screen == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	begun := l.clk.Now()
	l.ticker.Go(func() {
		l.clk.Tick(ctx, loadingEvery, func(now int64) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if now-l.told >= loadingQuiet {
				l.draw(now, fmt.Sprintf("%s: %d s", what, (now-begun)/1e9))
			}
		})
	})
}

// bytes is told of work on a file, such as "reading data.jsonl".
func (l *loading) bytes(what string, done, total int64) {
	l.show(what, done, total, func() string { return fmt.Sprintf("%d of %d MB", done/1e6, total/1e6) })
}

// file is told of the passes over a dataset's file.
func (l *loading) file() func(what string, done, total int64) {
	return func(what string, done, total int64) { l.bytes(what+" the dataset", done, total) }
}

// tape is told of the reading of a tape.
func (l *loading) tape() func(done, total int64) {
	return func(done, total int64) { l.bytes("reading the tape", done, total) }
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
	if l == nil || l.screen == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clk.Now()
	if what != l.what {
		l.what, l.begun = what, now
	}
	if done >= total {
		l.clear()
		return
	}
	l.told = now
	if now < l.next || done <= 0 {
		return
	}
	left := float64(now-l.begun) / float64(done) * float64(total-done) / 1e9
	l.draw(now, fmt.Sprintf("%s: %s, about %.0f s left", what, amount(), left))
}

// draw puts a text on the line, when it is time; l.mu is held.
func (l *loading) draw(now int64, text string) {
	if now < l.next {
		return
	}
	l.next = now + loadingEvery
	if s, ok := l.screen(); ok {
		io.WriteString(l.w, l.painter.Paint([]string{observe.Clip(text, s.Width)}, s))
	} else {
		l.painter.Forget()
	}
}

// clear takes the line away; l.mu is held.
func (l *loading) clear() {
	width := 0
	if s, ok := l.screen(); ok {
		width = s.Width
	} else {
		l.painter.Forget()
	}
	io.WriteString(l.w, l.painter.Say("", width))
}

// done takes the line away, before anything else is said.
func (l *loading) done() {
	if l == nil || l.screen == nil {
		return
	}
	if l.end != nil {
		l.end()
		l.ticker.Wait()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.next = l.clk.Now() + loadingAfter
}
