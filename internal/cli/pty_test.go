package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a terminal of a test's own: what is written to its slave is read off it.
type pty struct {
	master, slave *os.File

	mu   sync.Mutex
	cond sync.Cond
	text strings.Builder
	done bool
}

// openPTY makes a terminal of that size. What stands on it is gathered until the last
// who holds the slave has closed it.
func openPTY(t *testing.T, columns, rows int) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{master: master}
	p.cond.L = &p.mu
	if p.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.slave.Close() })
	p.resize(t, columns, rows)
	go func() {
		b := make([]byte, 32<<10)
		for {
			n, err := master.Read(b)
			p.mu.Lock()
			p.text.Write(b[:n])
			p.done = err != nil
			p.mu.Unlock()
			p.cond.Broadcast()
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *pty) resize(t *testing.T, columns, rows int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
}

// wait waits until the text holds all of want.
func (p *pty) wait(t *testing.T, want ...string) string {
	t.Helper()
	return p.until(t, func(text string) bool {
		for _, w := range want {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// end waits until nobody can write any more, and gives all of the text.
func (p *pty) end(t *testing.T) string {
	t.Helper()
	p.slave.Close()
	return p.until(t, func(string) bool { return p.done })
}

func (p *pty) until(t *testing.T, ok func(text string) bool) string {
	t.Helper()
	late := false
	timer := time.AfterFunc(2*time.Minute, func() {
		p.mu.Lock()
		late = true
		p.mu.Unlock()
		p.cond.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok(p.text.String()) {
		if late || p.done {
			t.Fatalf("the terminal never showed it: %q", p.text.String())
		}
		p.cond.Wait()
	}
	return p.text.String()
}
