package main

import (
	"bytes"
	"fmt"
)

// answer is the bytes of a streamed chat completion, made once for all requests, so that
// the server spends its time in system calls alone.
type answer struct {
	first []byte   // the response's head and its first event
	mid   [][]byte // events in turn, of different lengths
	tail  []byte   // after the last token: finish reason, usage, [DONE], end of the body
	whole []byte   // all of it in one piece
}

// words are the texts of the tokens, one after the other.
var words = []string{" the", " model", " of", " attention", ",", " computes", " a", " key", " and", "ization", " value", " for", " every", " token", " in", "."}

// chunk is one event as a chunk of HTTP/1.1.
func chunk(event string) []byte {
	event = "data: " + event + "\n\n"
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
}

// newAnswer renders an answer of that many token events, in the shape of vLLM's.
func newAnswer(events int) *answer {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	const object = `{"id":"chatcmpl-5f1c0d7a8e2b4c69","object":"chat.completion.chunk","created":1760000000,"model":"bench","choices":[`
	a := &answer{}
	for _, w := range words {
		a.mid = append(a.mid, chunk(object+fmt.Sprintf(`{"index":0,"delta":{"content":%q},"logprobs":null,"finish_reason":null}]}`, w)))
	}
	a.first = append([]byte(head), a.mid[0]...)
	a.tail = bytes.Join([][]byte{
		chunk(object + `{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}`),
		chunk(object + fmt.Sprintf(`],"usage":{"prompt_tokens":16,"total_tokens":%d,"completion_tokens":%d}}`, 16+events, events)),
		chunk("[DONE]"), []byte("0\r\n\r\n")}, nil)
	for i := range events {
		a.whole = append(a.whole, a.event(i, events)...)
	}
	return a
}

// event is what is written for token i of n.
func (a *answer) event(i, n int) []byte {
	b := a.mid[i%len(a.mid)]
	if i == 0 {
		b = a.first
	}
	if i == n-1 {
		b = append(bytes.Clone(b), a.tail...)
	}
	return b
}

// models answers GET requests, for clients that ask which models there are.
var models = func() []byte {
	const body = `{"object":"list","data":[{"id":"bench","object":"model","created":1760000000,"owned_by":"bench"}]}`
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()
