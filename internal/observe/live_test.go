package observe

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a writer that stands still until it is let go.
type stuck struct {
	mu   sync.Mutex
	b    bytes.Buffer
	free chan struct{} // nil: it does not stand still
}

func (w *stuck) Write(p []byte) (int, error) {
	if w.free != nil {
		<-w.free
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func at(t int64) Moment { return Moment{State: State{T: t, Planned: 10_000, Measured: t / 1e8}} }

func screen80() (Screen, bool) { return Screen{80, 24, false}, true }

// Away from a terminal there is a plain line every five seconds, and the last one.
func TestLivePlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{}
		l := NewLive(w, Full, nil)
		for i := range int64(123) {
			l.Show(at(i * 1e8))
			synctest.Wait()
		}
		l.Say("said\n")
		end := at(124e8)
		end.Final = true
		l.Show(end)
		l.Close()
		var got []string
		for line := range strings.Lines(w.b.String()) {
			got = append(got, strings.TrimSpace(line[:min(len(line), 12)]))
		}
		want := []string{"5.0s prep", "10.0s prep", "said", "12.4s done"}
		if !slices.Equal(got, want) || strings.Contains(w.b.String(), "\x1b") {
			t.Errorf("%q, not %q", got, want)
		}
	})
}

// On a terminal it is drawn five times a second, each time but what changed; off draws
// nothing, and what is said is said.
func TestLiveTerminal(t *testing.T) {
	for style, draws := range map[Style]int{Auto: 26, OneLine: 26, Off: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := &stuck{}
			l := NewLive(w, style, screen80)
			for i := range int64(51) {
				l.Show(at(i * 1e8))
				synctest.Wait()
			}
			if got := strings.Count(w.b.String(), wrapOn); got != draws {
				t.Errorf("style %d: drawn %d times, not %d", style, got, draws)
			}
			l.Say("said\n")
			l.Close()
			l.Close()
			l.Say("after all\n")
			if !strings.HasSuffix(w.b.String(), "said\nafter all\n") {
				t.Errorf("style %d: %q", style, w.b.String())
			}
		})
	}
}

// What is drawn can be read off the screen at the end, above what follows.
func TestLiveScreen(t *testing.T) {
	term := newTerminal(t, 80, 24)
	l := NewLive(term, Auto, screen80)
	for i := range int64(20) {
		l.Show(at(i * 1e9))
		if i == 7 {
			l.Say("no more requests are sent\n")
		}
	}
	end := middle()
	end.Final = true
	l.Show(end)
	term.Write([]byte("report\n"))
	want := append([]string{"no more requests are sent"}, Frame(end, Screen{80, 24, false})...)
	if got := strings.Join(term.all(), "\n"); !strings.HasSuffix(got, strings.Join(append(want, "report"), "\n")) {
		t.Errorf("%s", got)
	}
}

// A terminal that stands still holds up nobody, but at the end those who want to write
// to it too; and of what it missed only the last is drawn.
func TestLiveStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{free: make(chan struct{})}
		l := NewLive(w, Auto, screen80)
		for i := range int64(1000) {
			l.Show(at(i * 1e8))
		}
		ended := false
		go func() {
			end := at(1000e8)
			end.Final = true
			l.Show(end)
			ended = true
		}()
		time.Sleep(time.Hour)
		if ended {
			t.Error("the last frame was never drawn")
		}
		close(w.free)
		synctest.Wait()
		if !ended || strings.Count(w.b.String(), wrapOn) > 3 || !strings.Contains(w.b.String(), "done") {
			t.Errorf("ended %t: %q", ended, w.b.String())
		}
	})
}

// While another job has the terminal nothing is drawn, and later it is drawn anew.
func TestLiveBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{}
		front := true
		l := NewLive(w, Auto, func() (Screen, bool) { return Screen{80, 24, false}, front })
		l.Show(at(0))
		synctest.Wait()
		n := w.b.Len()
		front = false
		l.Show(at(1e9))
		synctest.Wait()
		if w.b.Len() != n {
			t.Errorf("drawn into another's terminal: %q", w.b.String()[n:])
		}
		front = true
		l.Show(at(2e9))
		l.Close()
		if got := w.b.String()[n:]; strings.Contains(got, "A") && strings.Contains(got, "\x1b[8A") || !strings.Contains(got, "TTFT") {
			t.Errorf("not drawn anew: %q", got)
		}
	})
}

// Somebody else has written to the terminal: the next frame is a whole one, below.
func TestLiveForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{}
		l := NewLive(w, Auto, screen80)
		l.Show(at(0))
		synctest.Wait()
		n := w.b.Len()
		l.Forget()
		l.Show(at(1e9))
		l.Close()
		if got := w.b.String()[n:]; !strings.HasPrefix(got, "\r"+wrapOff+"starting") && !strings.HasPrefix(got, "\r"+wrapOff+"preparing") {
			t.Errorf("%q", got)
		}
	})
}
