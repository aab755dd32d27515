package exchange

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/memnet"
	"tokentape/internal/workload"
	"tokentape/tape"
)

const ms = int64(time.Millisecond)

// step is one write of a scripted server, at t ms after the request was read.
type step struct {
	t    int64
	data string
	end  func(*memnet.Conn) // instead of data: how the connection ends
}

func at(t int64, data ...string) step { return step{t: t, data: strings.Join(data, "")} }

// The ends of a body.
func end(t int64) step { return step{t: t, data: "\x00end"} }
func cut(t int64) step { return step{t: t, end: func(c *memnet.Conn) { _ = c.Close() }} }

const (
	head    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	done    = "data: [DONE]\n\n"
	chunked = "Transfer-Encoding: chunked"
)

// e is one event of a stream.
func e(payload string) string { return "data: " + payload + "\n\n" }

func chunk(choice string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choice + `]}`
}

// The payloads of the notation: delta D, content C, role, finish.
func d(delta string) string {
	return chunk(`{"index":0,"delta":` + delta + `,"finish_reason":null}`)
}
func c(s string) string { return d(`{"content":` + strconv.Quote(s) + `}`) }
func fin(reason string) string {
	return chunk(`{"index":0,"delta":{},"finish_reason":"` + reason + `"}`)
}

var role = d(`{"role":"assistant","content":""}`)

// script is what the server does with one request.
type script struct {
	head  string // "" is head
	steps []step
}

// setup changes the Exchanger before the request.
type setup func(*Config)

// bench is a scripted server and an Exchanger that talks to it, inside a bubble.
type bench struct {
	*Exchanger
	clk  *clock.Clock
	cl   *client.Client
	l    *memnet.Listener
	seen []string // bodies of the requests
	over chan struct{}
}

func newBench(t *testing.T, scripts []script, set ...setup) *bench {
	t.Helper()
	b := &bench{clk: clock.New(), l: memnet.Listen()}
	b.cl = client.New(client.Config{Clock: b.clk, Dial: b.l.Dial, MaxIdle: 4})
	chat, err := dialect.Get("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Client: b.cl, Dialect: chat, Clock: b.clk, URL: "http://server.test/v1/chat/completions",
		Header: http.Header{}, Options: dialect.Options{Model: "m", Stream: true, OutputLen: 16}, Output: OutputFull,
	}
	for _, s := range set {
		s(&cfg)
	}
	b.Exchanger = New(cfg)
	b.over = make(chan struct{})
	go func() {
		defer close(b.over)
		b.serve(scripts)
	}()
	return b
}

func (b *bench) close() {
	b.cl.Close()
	_ = b.l.Close()
	<-b.over // it may still be at a later step of a script
}

// serve plays one script a request, in order of arrival.
func (b *bench) serve(scripts []script) {
	var conns sync.WaitGroup
	defer conns.Wait()
	var mu sync.Mutex
	take := func(body string) script {
		mu.Lock()
		defer mu.Unlock()
		b.seen = append(b.seen, body)
		return scripts[min(len(b.seen), len(scripts))-1]
	}
	for {
		conn, err := b.l.Accept()
		if err != nil {
			return
		}
		conns.Go(func() {
			defer conn.Close()
			r := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(req.Body)
				if !b.play(conn.(*memnet.Conn), take(string(body))) {
					return
				}
			}
		})
	}
}

// play reports whether the connection may carry another request.
func (b *bench) play(conn *memnet.Conn, s script) bool {
	start := b.clk.Now()
	if s.head == "" {
		s.head = head
	}
	framed := strings.Contains(s.head, chunked)
	if s.head == "\x00" { // no answer at all
		s.head = ""
	}
	if _, err := io.WriteString(conn, s.head); err != nil {
		return false
	}
	for _, st := range s.steps {
		_ = b.clk.SleepUntil(context.Background(), start+st.t*ms)
		switch {
		case st.end != nil:
			st.end(conn)
			return false
		case st.data == "\x00end" && framed:
			_, _ = io.WriteString(conn, "0\r\n\r\n")
			return true
		case st.data == "\x00end":
			_ = conn.Close()
			return false
		case framed:
			st.data = fmt.Sprintf("%x\r\n%s\r\n", len(st.data), st.data)
		}
		if _, err := io.WriteString(conn, st.data); err != nil {
			return false
		}
	}
	return s.head != ""
}

// do sends one request.
func (b *bench) do(t *testing.T, ctx context.Context) (*tape.Request, string) {
	t.Helper()
	p, err := b.Prepare(workload.Item{Messages: []workload.Message{{Role: "user", Content: "hi"}}})
	if err != nil {
		t.Fatal(err)
	}
	req := &tape.Request{TReleased: tape.Some(b.clk.Now())}
	text := b.Do(ctx, p, req).Text
	return req, text
}

// play runs one script against one request in a bubble of its own.
func play(t *testing.T, s script, set ...setup) *tape.Request {
	t.Helper()
	var req *tape.Request
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, []script{s}, set...)
		defer b.close()
		req, _ = b.do(t, context.Background())
	})
	return req
}

// since is a stamp in ms after the release, −1 when absent.
func since(req *tape.Request, t tape.Opt[int64]) float64 {
	if !t.OK {
		return -1
	}
	return float64(t.V-req.TReleased.V) / float64(ms)
}

// gaps are the times between token events of one choice, in ms.
func gaps(req *tape.Request, choice int32) []float64 {
	var out []float64
	last := int64(-1)
	for _, ev := range req.Events.All(req.TWroteFirst.V) {
		if tape.IsToken(ev.Kind) && ev.Choice == choice {
			if last >= 0 {
				out = append(out, float64(ev.T-last)/float64(ms))
			}
			last = ev.T
		}
	}
	return out
}

func tokenEvents(req *tape.Request) int {
	n := 0
	for _, kind := range req.Events.Kinds() {
		if tape.IsToken(kind) {
			n++
		}
	}
	return n
}
