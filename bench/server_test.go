package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// server starts one in a process of its own, whose end is read by the returned function.
func testServer(t *testing.T, s serving) (addr string, end func() served) {
	t.Helper()
	p, err := startServer(s)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			p.end()
		}
	})
	return strings.TrimPrefix(p.url, "http://"), func() served {
		t.Helper()
		ended = true
		out, err := p.end()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

const post = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s"

// All ways to write an answer give the same bytes, which net/http reads as so many events.
func TestAnswer(t *testing.T) {
	for _, n := range []int{1, 2, 40} {
		a := newAnswer(n)
		var parts []byte
		for i := range n {
			parts = append(parts, a.event(i, n)...)
		}
		if !bytes.Equal(parts, a.whole) {
			t.Fatalf("%d events: %q and %q", n, parts, a.whole)
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(a.whole)), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || bytes.Count(body, []byte("\n\n")) != n+3 || bytes.Count(body, []byte(`"content":`)) != n || !bytes.HasSuffix(body, []byte("data: [DONE]\n\n")) {
			t.Errorf("%d events, %v:\n%s", n, err, body)
		}
	}
}

func TestServer(t *testing.T) {
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprintf("whole=%t", whole), func(t *testing.T) {
			truths := filepath.Join(t.TempDir(), "truths")
			s := serving{Events: 3, Whole: whole, Truths: truths}
			addr, end := testServer(t, s)
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			r := bufio.NewReader(c)
			// One after the other on a connection, the second in two pieces, and a question
			// for the models between them.
			body := strings.Repeat("x", 300_000)
			for i, text := range []string{fmt.Sprintf(post, "a", 2, "{}"), "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", fmt.Sprintf(post, "b", len(body), body)} {
				cut := len(text) / 2
				for _, part := range []string{text[:cut], text[cut:]} {
					if _, err := io.WriteString(c, part); err != nil {
						t.Fatal(err)
					}
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if want := map[bool]string{true: `"id":"bench"`, false: "[DONE]"}[i == 1]; err != nil || !strings.Contains(string(got), want) {
					t.Fatalf("%d: %v, %s", i, err, got)
				}
			}
			out := end()
			if out.Requests != 2 || out.Complete != 2 || out.Broken != 0 || out.Last < out.First || out.First == 0 {
				t.Errorf("%+v", out)
			}
			by, err := readTruths(truths)
			if err != nil || len(by) != 2 || by["a"] == nil || by["b"] == nil {
				t.Fatalf("%v, %v", by, err)
			}
			if x := by["b"]; !whole && (len(x.WriteStart) != 3 || !slices.IsSorted(x.WriteStart) || x.WriteStart[0] < x.Received || x.End < x.WriteStart[2]) {
				t.Errorf("%+v", x)
			}
		})
	}
}

// A client that reads slowly gets the whole answer; one that goes away is counted and
// holds nobody up.
func TestServerOddClients(t *testing.T) {
	const events = 80_000 // some 15 MB: no socket buffer holds that
	addr, end := testServer(t, serving{Events: events, Whole: true})
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(c, post, "a", 2, "{}"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	slow := dial()
	first := make([]byte, 10)
	if _, err := io.ReadFull(slow, first); err != nil {
		t.Fatal(err)
	}
	gone := dial()
	if _, err := io.ReadFull(gone, first); err != nil {
		t.Fatal(err)
	}
	gone.Close()
	half, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(half, post, "a", 100, "{")
	half.(*net.TCPConn).CloseWrite()
	if n, err := half.Read(first); n != 0 || err != io.EOF {
		t.Errorf("%d bytes, %v", n, err)
	}
	half.Close()
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader([]byte("HTTP/1.1 2")), slow)), nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || n < events*100 {
		t.Errorf("%d bytes, %v", n, err)
	}
	slow.Close()
	if out := end(); out.Requests != 2 || out.Broken < 1 {
		t.Errorf("%+v", out)
	}
}

func TestHogs(t *testing.T) {
	stop, err := hogs(2)
	if err != nil {
		t.Fatal(err)
	}
	stop() // returns: they end
}

// A part that fails says why.
func TestRoleErrors(t *testing.T) {
	var out sent
	for want, r := range map[string]role{
		"names no role": {}, "target.url": {Ours: &load{URL: "http://[", Requests: 1, Events: 1}},
		"no such file": {Tape: &tapeWork{Path: "/nowhere/x"}},
	} {
		if err := ask(r, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// Nobody listens there: all requests fail, and the trial is an error with the reason.
	if err := ask(role{Ours: &load{URL: "http://127.0.0.1:1/v1/chat/completions", Requests: 2, Concurrency: 1, Events: 1}}, &out); err != nil || out.Failed != 2 || !strings.Contains(out.Why, "connect") {
		t.Errorf("%+v, %v", out, err)
	}
	if err := play("{", io.Discard); err == nil {
		t.Error("no error")
	}
}
