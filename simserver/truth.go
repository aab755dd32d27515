package simserver

import (
	"encoding/json"
	"io"
	"sync"
)

// Truth is what the server did for one generation request. All times are ns of
// the machine's CLOCK_MONOTONIC, -1 where it did not happen.
//
// Event i (a chunk of Tokens[i] output tokens) was handed to the connection
// between WriteStart[i] and WriteEnd[i]: it cannot have been readable before the
// first and was in the kernel's hands at the second. Compare a client's stamp
// with WriteStart; WriteEnd bounds the doubt, and is later than the client's
// stamp when the client was quicker than the return of the write.
type Truth struct {
	ID     string `json:"id"` // X-Request-Id: the client's, or made here
	N      int    `json:"n"`  // number of the generation request, from 0
	Path   string `json:"path"`
	Status int    `json:"status"`
	Stream bool   `json:"stream"`

	Received    int64 `json:"received_ns"`     // the body was read to its end
	Arrived     int64 `json:"arrived_ns"`      // handed to the engine; later than Received by parsing and a delay fault
	Admitted    int64 `json:"admitted_ns"`     // got a slot: the scheduled begin of its first prefill step
	PrefillDone int64 `json:"prefill_done_ns"` // scheduled end of prefill, when the first token is due
	End         int64 `json:"end_ns"`          // the last write of the handler returned

	Due        []int64 `json:"due_ns,omitempty"`         // the engine's scheduled time of each event
	WriteStart []int64 `json:"write_start_ns,omitempty"` // read just before the Write that carried it
	WriteEnd   []int64 `json:"write_end_ns,omitempty"`   // read when that Write's Flush had returned
	Tokens     []int32 `json:"tokens,omitempty"`         // output tokens of each event

	PromptTokens int64  `json:"prompt_tokens"`
	CachedTokens int64  `json:"cached_tokens"`
	OutputTokens int64  `json:"output_tokens"` // made by the engine and handed to the connection
	Finish       string `json:"finish,omitempty"`
	Fault        string `json:"fault,omitempty"`   // kind of the fault that was played
	Aborted      bool   `json:"aborted,omitempty"` // the client went away, or a write failed
}

// truths keeps the newest ones and passes each on.
type truths struct {
	mu   sync.Mutex
	keep int
	ring []Truth
	next int
	out  io.Writer
	err  error
	on   func(Truth)
}

func (t *truths) wanted() bool { return t.keep > 0 || t.out != nil || t.on != nil }

func (t *truths) add(x Truth) {
	if t.on != nil {
		t.on(x)
	}
	var line []byte
	if t.out != nil {
		line, _ = json.Marshal(&x) // plain numbers and strings: cannot fail
		line = append(line, '\n')
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out != nil && t.err == nil {
		_, t.err = t.out.Write(line)
	}
	switch {
	case t.keep <= 0:
	case len(t.ring) < t.keep:
		t.ring = append(t.ring, x)
	default:
		t.ring[t.next] = x
		t.next = (t.next + 1) % t.keep
	}
}

func (t *truths) all() []Truth {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]Truth(nil), t.ring[t.next:]...), t.ring[:t.next]...)
}
