package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Nothing is said of quick work; of long work a line every five seconds, on a
// terminal one line that is taken away at the end.
func TestLoading(t *testing.T) {
	var out bytes.Buffer
	var now int64
	l := &loading{w: &out, now: func() int64 { return now }, next: loadingAfter}
	for now = 0; now < 19e8; now += 1e8 {
		l.bytes("reading a", now, 19e8)
	}
	l.bytes("reading a", 19e8, 19e8)
	if out.Len() > 0 {
		t.Errorf("quick work: %q", out.String())
	}
	for i := range int64(121) { // 12 s, 10 rows a second
		now = 19e8 + i*1e8
		l.rows("counting", i, 120)
	}
	want := "counting: 1 of 120 rows, about 12 s left\ncounting: 51 of 120 rows, about 7 s left\ncounting: 101 of 120 rows, about 2 s left\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	l.terminal, l.next = true, now
	for i := range int64(101) {
		now += 1e8
		l.bytes("reading b", i*1e7, 1e9)
	}
	got := out.String()
	if n := strings.Count(got, "\r"); n != 51 || !strings.HasPrefix(got, "\rreading b: 10 of 1000 MB, about 10 s left\x1b[K") || !strings.HasSuffix(got, "\r\x1b[K") || strings.Contains(got, "\n") {
		t.Errorf("%d: %q", n, got)
	}
	out.Reset()
	if l.done(); out.Len() > 0 {
		t.Errorf("there is nothing to take away: %q", out.String())
	}
}
