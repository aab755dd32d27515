package client

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"tokentape/internal/clock"
)

// stampsOn keeps a socket open that asks for stamps: the kernel begins to make them a
// little after the first one did, and ends after the last.
func stampsOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	near = New(Config{Clock: clock.New(), Waited: func(int64) { told++ }}).kernelStamped(near)
	t.Cleanup(func() { _ = near.Close(); _ = far.Close(); _ = l.Close() })
	var b [1]byte
	for range 5000 {
		if _, err := far.Write(b[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := near.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		if told > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Skip("this kernel stamps no packets of the loopback")
}

// A server's bytes lie in the kernel while nobody reads: the wait is at least as long.
// Nothing here is later than something, only earlier: a slow machine changes no result.
func TestClientWait(t *testing.T) {
	stampsOn(t)
	for _, secure := range []bool{false, true} {
		written := make(chan struct{})
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-written // the head has been read
			_, _ = io.WriteString(w, "words")
			_ = http.NewResponseController(w).Flush()
			written <- struct{}{}
			<-r.Context().Done()
		}))
		if secure {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		var mu sync.Mutex
		var waits []int64
		c := New(Config{Clock: clock.New(), Insecure: true, Waited: func(ns int64) { mu.Lock(); waits = append(waits, ns); mu.Unlock() }})
		var tr Trace
		resp, err := c.Do(context.Background(), "POST", srv.URL, nil, []byte("x"), &tr)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		before := len(waits)
		mu.Unlock()
		if before == 0 {
			t.Fatal("the read of the head told no wait")
		}
		written <- struct{}{}
		<-written
		const stall = 20 * time.Millisecond
		time.Sleep(stall) // the client is stalled, on purpose
		buf := make([]byte, 64)
		n, err := io.ReadAtLeast(resp.Body, buf, 5)
		if err != nil || string(buf[:n]) != "words" {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		mu.Lock()
		var longest int64
		for _, w := range waits[before:] {
			longest = max(longest, w)
		}
		mu.Unlock()
		if longest < int64(stall) {
			t.Errorf("secure %t: bytes that lay there for %s: %v", secure, stall, waits[before:])
		}
		_ = resp.Body.Close()
		c.Close()
		srv.CloseClientConnections()
		srv.Close()
	}
}

func TestWaitedOf(t *testing.T) {
	stampsOn(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer srv.Close()
	var calls sync.Map
	c := New(Config{Clock: clock.New(), RenewAfter: 1, WaitedOf: 3, Waited: func(ns int64) { calls.Store(ns, true) }})
	defer c.Close()
	told := 0
	for range 6 {
		calls.Clear()
		var tr Trace
		resp, err := c.Do(context.Background(), "POST", srv.URL, nil, nil, &tr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		calls.Range(func(any, any) bool { told++; return false })
	}
	if told != 2 {
		t.Errorf("of 6 connections, one in 3: %d told of waits", told)
	}
}

// Errors are those of a plain connection.
func TestKernelErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := New(Config{Clock: clock.New(), Waited: func(int64) {}})
	open := func() (net.Conn, *net.TCPConn) {
		near, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		k := c.kernelStamped(near)
		if _, ok := k.(*kernelConn); !ok {
			t.Fatalf("%T", k)
		}
		return k, far.(*net.TCPConn)
	}
	var b [8]byte
	near, far := open()
	if n, err := near.Read(nil); n != 0 || err != nil {
		t.Error(n, err)
	}
	_ = far.Close()
	if n, err := near.Read(b[:]); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	near, far = open()
	_ = far.SetLinger(0)
	_ = far.Close()
	if n, err := near.Read(b[:]); n != 0 || !errors.Is(err, syscall.ECONNRESET) || Classify(err) != ClassReset {
		t.Error(n, err)
	}
	near, _ = open()
	_ = near.SetReadDeadline(time.Unix(1, 0))
	var op *net.OpError
	if _, err := near.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" {
		t.Error(err)
	}
	_ = near.Close()
	if _, err := near.Read(b[:]); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestStampOf(t *testing.T) {
	message := func(level, kind uint32, data ...byte) []byte {
		b := make([]byte, syscall.CmsgSpace(len(data)))
		binary.NativeEndian.PutUint64(b, uint64(syscall.CmsgLen(len(data))))
		binary.NativeEndian.PutUint32(b[8:], level)
		binary.NativeEndian.PutUint32(b[12:], kind)
		copy(b[16:], data)
		return b
	}
	stamp := make([]byte, 48)
	binary.NativeEndian.PutUint64(stamp, 1_700_000_000)
	binary.NativeEndian.PutUint64(stamp[8:], 5)
	good := message(syscall.SOL_SOCKET, syscall.SCM_TIMESTAMPING, stamp...)
	for name, tc := range map[string]struct {
		oob  []byte
		want int64
	}{
		"one":            {good, 1_700_000_000_000_000_005},
		"behind another": {append(message(syscall.SOL_SOCKET, 1, 9, 9, 9), good...), 1_700_000_000_000_000_005},
		"none":           {nil, 0},
		"another alone":  {message(syscall.SOL_SOCKET, 1, 9), 0},
		"cut":            {good[:30], 0},
		"zeros":          {message(syscall.SOL_SOCKET, syscall.SCM_TIMESTAMPING, make([]byte, 48)...), 0},
		"too short":      {message(syscall.SOL_SOCKET, syscall.SCM_TIMESTAMPING, 1, 2), 0},
		"length 0":       {make([]byte, 32), 0},
	} {
		if got, ok := stampOf(tc.oob); got != tc.want || ok != (tc.want > 0) {
			t.Errorf("%s: %d, %t", name, got, ok)
		}
	}
}

// BenchmarkKernelStamps is the cost of a read of one event, with the write that
// brings it.
func BenchmarkKernelStamps(b *testing.B) {
	for _, stamped := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "stamped"}[stamped]
		b.Run(name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			near, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			far, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			var sum int64
			if stamped {
				near = New(Config{Clock: clock.New(), Waited: func(ns int64) { sum += ns }}).kernelStamped(near)
			}
			event, buf := make([]byte, 200), make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = far.Write(event)
				_, _ = near.Read(buf)
			}
		})
	}
}
