package exchange

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"tokentape/tape"
)

// Several URLs take requests in turn, by the request's number or that of what it belongs to; a further attempt
// goes to the next one.
func TestURLsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := []string{"http://a.test/v1/chat/completions", "http://b.test/v1/chat/completions", "http://c.test/v1/chat/completions"}
		refused := script{head: "HTTP/1.1 503 Service Unavailable\r\n" + chunked + "\r\n\r\n", steps: []step{end(1)}}
		b := newBench(t, []script{refused}, func(c *Config) { c.URL, c.URLs = urls[0], urls })
		defer b.close()
		x := b.Exchanger
		for seq := range int64(7) {
			for tries := range 2 {
				req := &tape.Request{Seq: seq, AttemptLog: make([]tape.Attempt, tries)}
				x.Do(context.Background(), &Prepared{Body: []byte("{}")}, req)
				want := (seq + int64(tries)) % 3
				if req.URL != tape.Some(want) || !strings.Contains(req.Message, urls[want]) || req.Conn == nil || req.Conn.Reused == req.Conn.Dial.OK {
					t.Errorf("request %d, attempt %d: URL %v, %s, %+v", seq, tries+1, req.URL, req.Message, req.Conn)
				}
				req = &tape.Request{Seq: seq, AttemptLog: make([]tape.Attempt, tries)}
				x.Do(context.Background(), &Prepared{Body: []byte("{}"), Turn: tape.Some(int64(5))}, req)
				if want := (5 + int64(tries)) % 3; req.URL != tape.Some(want) {
					t.Errorf("request %d, attempt %d with turn 5: URL %v, want %d", seq, tries+1, req.URL, want)
				}
			}
		}
	})
}
