package observe

import (
	"fmt"
	"io"
	"sync"
)

// Style is how the progress of a run is shown.
type Style int

// The styles. Away from a terminal all but Off write a plain line every five seconds.
const (
	Auto Style = iota // Full on a terminal
	OneLine
	Full
	Off
)

const (
	drawEvery  = int64(2e8)
	plainEvery = int64(5e9)
)

// Live writes the progress of a run. A goroutine of its own does the writing and
// leaves out what is old news: a terminal that stands still holds up nobody. It is
// safe for concurrent use.
type Live struct {
	w      io.Writer
	style  Style
	screen func() (Screen, bool)

	mu     sync.Mutex
	cond   sync.Cond
	next   *Moment
	said   []string
	forget bool
	ending bool
	done   chan struct{}

	// Of the goroutine.
	painter Painter
	last    int64 // T of what was drawn last
	drawn   bool
}

// NewLive begins to show. screen says what the terminal has room for at the moment, and
// false while nothing may be drawn on it; nil: w is no terminal. End it with Close.
func NewLive(w io.Writer, style Style, screen func() (Screen, bool)) *Live {
	l := &Live{w: w, style: style, screen: screen, done: make(chan struct{})}
	l.cond.L = &l.mu
	go l.loop()
	return l
}

// Show hands over a moment to be drawn. After a final one it returns when that is
// drawn, before that at once.
func (l *Live) Show(m Moment) {
	l.mu.Lock()
	l.next = &m
	l.ending = l.ending || m.Final
	l.mu.Unlock()
	l.cond.Signal()
	if m.Final {
		<-l.done
	}
}

// Say writes a text, of whole lines, above what is drawn.
func (l *Live) Say(text string) {
	l.mu.Lock()
	over := l.ending
	if !over {
		l.said = append(l.said, text)
	}
	l.mu.Unlock()
	l.cond.Signal()
	if over {
		<-l.done
		io.WriteString(l.w, text)
	}
}

// Forget leaves what is drawn as it is, and draws anew below: somebody else has
// written to the terminal.
func (l *Live) Forget() {
	l.mu.Lock()
	l.forget = true
	l.mu.Unlock()
}

// Close ends the showing, when all that was handed over is written. It can be called
// more than once.
func (l *Live) Close() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	l.cond.Signal()
	<-l.done
}

func (l *Live) loop() {
	defer close(l.done)
	for {
		l.mu.Lock()
		for l.next == nil && l.said == nil && !l.ending {
			l.cond.Wait()
		}
		m, said, forget, ending := l.next, l.said, l.forget, l.ending
		l.next, l.said, l.forget = nil, nil, false
		l.mu.Unlock()
		if forget {
			l.painter.Forget()
		}
		for _, text := range said {
			l.say(text)
		}
		if m != nil && l.style != Off {
			l.draw(m)
		}
		if ending {
			return
		}
	}
}

func (l *Live) say(text string) {
	width := 0
	if l.screen != nil {
		if s, ok := l.screen(); ok {
			width = s.Width
		} else {
			l.painter.Forget()
		}
	}
	io.WriteString(l.w, l.painter.Say(text, width))
}

func (l *Live) draw(m *Moment) {
	every := plainEvery
	if l.screen != nil {
		every = drawEvery
	}
	if !m.Final && m.T-l.last < every && (l.drawn || l.screen == nil) {
		return
	}
	l.last, l.drawn = m.T, true
	if l.screen == nil {
		fmt.Fprintln(l.w, Line(*m))
		return
	}
	s, ok := l.screen()
	if !ok {
		l.painter.Forget()
		return
	}
	lines := []string{Clip(Line(*m), s.Width)}
	if l.style != OneLine {
		lines = Frame(*m, s)
	}
	if out := l.painter.Paint(lines, s); out != "" {
		io.WriteString(l.w, out)
	}
}
