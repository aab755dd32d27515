package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/observe"
)

// Nothing is said of quick work, nor ever away from a terminal; of long work a line,
// which is taken away at the end.
func TestLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		width := 60
		screen := func() (observe.Screen, bool) { return observe.Screen{Width: width, Height: 24}, true }
		l := newLoading(&out, screen, clock.New())
		tick := func() { time.Sleep(100 * time.Millisecond) }
		for i := range int64(9) {
			l.bytes("reading a", i*1e6, 9e6)
			tick()
		}
		l.bytes("reading a", 9e6, 9e6)
		l.done()
		if out.Len() > 0 {
			t.Errorf("quick work: %q", out.String())
		}
		for i := range int64(121) { // 12 s, 10 rows a second
			l.rows("counting", i, 120)
			tick()
		}
		got := out.String()
		if n := strings.Count(got, "of 120 rows"); n != 55 || !strings.Contains(got, "counting: 10 of 120 rows, about 11 s left\x1b[K\r\n") {
			t.Errorf("%d: %q", n, got)
		}
		if !strings.HasSuffix(got, "\r\x1b[1A\x1b[J") {
			t.Errorf("the line stays: %q", got[len(got)-40:])
		}
		out.Reset()
		if l.done(); out.Len() > 0 {
			t.Errorf("there is nothing to take away: %q", out.String())
		}

		width = 20
		l.begun = l.clk.Now()
		time.Sleep(2 * time.Second)
		l.rows("a work with a very long name", 1, 3)
		if !strings.Contains(out.String(), "a work with a very…\x1b[K") {
			t.Errorf("not cut: %q", out.String())
		}
	})
}

// Work that does not tell how far it is has its time shown, and gives way to what the
// work does tell.
func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		screen := func() (observe.Screen, bool) { return observe.Screen{Width: 80, Height: 24}, true }
		l := newLoading(&out, screen, clock.New())
		l.during("analysing the tape")
		for i := range int64(30) {
			l.bytes("reading the tape", i*1e6, 30e6)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2100 * time.Millisecond)
		l.done()
		got := out.String()
		if !strings.Contains(got, "reading the tape: 10 of 30 MB, about 2 s left") || !strings.Contains(got, "analysing the tape: 5 s") {
			t.Errorf("%q", got)
		}
		if strings.Contains(got, "analysing the tape: 2 s") {
			t.Errorf("the time is shown beside what the work tells: %q", got)
		}
		if !strings.HasSuffix(got, "\r\x1b[1A\x1b[J") {
			t.Errorf("the line stays: %q", got)
		}
	})
}

// Away from a terminal nothing is said, however long it takes.
func TestLoadingUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newLoading(&out, nil, clock.New())
		l.during("importing")
		time.Sleep(time.Minute)
		l.rows("counting", 1, 3)
		l.done()
		if out.Len() > 0 {
			t.Errorf("%q", out.String())
		}
		var none *loading
		none.rows("counting", 1, 3)
		none.done()
	})
}
