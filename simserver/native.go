package simserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/sim"
)

// native is an API beside OpenAI's chat completions and completions: how its
// requests are read and its answers written. The engine behind is the same.
type native struct {
	parse func(o *Options, r *http.Request, body []byte) (*generation, *apiError)
	face  func(a *answer) face
	fail  func(*apiError) []byte // the body of an error answer
}

// face writes the answer to one request.
type face interface {
	contentType() string                   // of a stream
	begin(b []byte) []byte                 // what precedes the first token
	tokens(b []byte, from, n int64) []byte // output tokens from … from+n-1
	end(b []byte, counts bool) []byte      // what follows the last token
	failure(b []byte, e *apiError) []byte  // an error in mid-stream
	whole(b []byte, counts bool) []byte    // the answer in one piece
}

// natives are the other APIs by path; a * stands for one segment.
var natives = map[string]*native{
	"/v1/responses":                responsesAPI,
	"/v1/messages":                 messagesAPI,
	"/generate":                    generateAPI, // SGLang's, and TGI's, whose body has inputs
	"/generate_stream":             tgiStreamAPI,
	"/api/chat":                    ollamaAPI,
	"/completion":                  completionAPI,
	"/v2/models/*/generate":        tritonAPI,
	"/v2/models/*/generate_stream": tritonAPI,
}

func nativeAt(path string) *native {
	if rest, ok := strings.CutPrefix(path, "/v2/models/"); ok {
		if _, verb, ok := strings.Cut(rest, "/"); ok {
			path = "/v2/models/*/" + verb
		}
	}
	return natives[path]
}

// nativeFaults are the faults that these APIs know.
var nativeFaults = []Kind{FaultStatus, FaultDelay, FaultErrorEvent, FaultCut, FaultReset, FaultStall, FaultNoUsage, FaultRedirect, FaultHTML, FaultSilent}

// admits refuses a fault that would not be one in this API.
func (a *answer) admits() *apiError {
	if a.api == nil || a.f == nil || slices.Contains(nativeFaults, a.f.Kind) {
		return nil
	}
	return badRequest("fault %q is not made at %s", a.f.Kind, a.t.Path)
}

// serveNative is serveStream and serveWhole for the other APIs.
func (a *answer) serveNative() error {
	f := a.api.face(a)
	if a.g.stream {
		a.w.Header().Set("Content-Type", f.contentType())
	}
	for sent := int64(0); sent < a.st.Len; {
		var err error
		if a.events, err = a.st.Next(a.ctx, a.events[:0]); err != nil {
			return err
		}
		for i, ev := range a.events {
			if err := a.disturb(f, sent); err != nil {
				return err
			}
			a.steps, a.last = a.steps+1, int64(ev.N)
			if a.g.stream {
				if sent == 0 {
					a.buf = f.begin(a.buf)
				}
				a.buf = f.tokens(a.buf, sent, int64(ev.N))
			}
			a.note(ev)
			if sent += int64(ev.N); sent == a.st.Len {
				return a.endNative(f)
			}
			if a.g.stream && (i == len(a.events)-1 || len(a.t.Due)-a.stamped >= eventsPerWrite) {
				if err := a.send(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (a *answer) endNative(f face) error {
	if err := a.disturb(f, a.st.Len); err != nil {
		return err
	}
	counts := true
	if a.happens(FaultNoUsage) {
		a.play()
		counts = false
	}
	if a.g.stream {
		a.buf = f.end(a.buf, counts)
	} else {
		a.buf = f.whole(a.buf, counts)
		h := a.w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(a.buf)))
	}
	return a.send()
}

// disturb plays a fault that is due once sent tokens have been handed over.
func (a *answer) disturb(f face, sent int64) error {
	if a.f == nil || a.played || sent < a.f.After {
		return nil
	}
	switch a.f.Kind {
	case FaultErrorEvent:
		a.play()
		e := &apiError{a.f.code(http.StatusInternalServerError), "InternalServerError", "simulated fault: the engine failed"}
		if !a.g.stream {
			a.refuse(e)
			return errPlayed
		}
		a.buf = f.failure(a.buf, e)
		if err := a.send(); err != nil {
			return err
		}
		return errPlayed
	case FaultStall:
		if err := a.send(); err != nil {
			return err
		}
		if !a.pause() {
			return context.Cause(a.ctx)
		}
	case FaultCut, FaultReset:
		if err := a.send(); err != nil {
			return err
		}
		a.hangUp()
		return errPlayed
	}
	return nil
}

// send hands the buffer to the connection in one write.
func (a *answer) send() error {
	start := a.s.now()
	err := a.write(a.buf)
	a.buf = a.buf[:0]
	if err != nil {
		return err
	}
	end := a.s.now()
	for ; a.stamped < len(a.t.Due); a.stamped++ {
		a.t.WriteStart = append(a.t.WriteStart, start)
		a.t.WriteEnd = append(a.t.WriteEnd, end)
	}
	return nil
}

// text is output tokens as the inside of a JSON string.
func (a *answer) text(b []byte, from, n int64) []byte { return a.st.AppendTokens(b, from, n) }

// decodeBody reads a body; what it does not know is ignored.
func decodeBody(body []byte, into any) *apiError {
	if err := json.Unmarshal(body, into); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) && te.Field != "" {
			return badRequest("body.%s: input should be a valid %s, not %s", te.Field, te.Type, te.Value)
		}
		return badRequest("body: JSON decode error: %v", err)
	}
	return nil
}

// sampling are the options that decide how long an answer is.
type sampling struct {
	most      *int64 // nil or below 0: to the end of the context
	def       int64  // when most is nil; 0: to the end of the context
	least     int64  // tokens before the answer may end by itself
	ignoreEOS bool
	seed      *int64
}

// generate makes a generation of a prompt that c has counted.
func (o *Options) generation(c *sim.Counter, model string, stream bool, s sampling) (*generation, *apiError) {
	g := &generation{chat: true, model: model, stream: stream, usage: true}
	if g.model == "" {
		g.model = o.Model
	}
	if o.CheckModel && g.model != o.Model {
		return nil, &apiError{http.StatusNotFound, "not_found_error", fmt.Sprintf("model %q not found", g.model)}
	}
	if g.req.Prompt = c.Prompt(); g.req.Prompt.Tokens == 0 {
		return nil, badRequest("The prompt is empty: at least one token is required.")
	}
	w := &wireRequest{MinTokens: s.least, IgnoreEOS: s.ignoreEOS, Seed: s.seed, MaxTokens: s.most}
	if w.MaxTokens == nil && s.def > 0 {
		def := min(s.def, max(o.Context-g.req.Prompt.Tokens, 1))
		w.MaxTokens = &def
	} else if w.MaxTokens != nil && *w.MaxTokens < 0 {
		w.MaxTokens = nil
	}
	return g, o.limits(g, w)
}

// quoted is v as JSON.
func quoted(v any) []byte {
	b, _ := json.Marshal(v) // of our own making: cannot fail
	return b
}

// failDetail is the body of an error answer in the form {"error": …}.
func failDetail(e *apiError) []byte { return quoted(map[string]string{"error": e.msg}) }

// countMessages counts chat messages as the chat endpoint does.
func countMessages(o *Options, messages []wireMessage) (*sim.Counter, *apiError) {
	c := sim.NewCounter(o.PageSize)
	return c, countChat(c, messages)
}

func countText(o *Options, text string) *sim.Counter {
	c := sim.NewCounter(o.PageSize)
	c.Text(text)
	return c
}

// cached is the number of prompt tokens that came from the cache, -1 when it is
// not reported.
func (a *answer) cached() int64 {
	if a.s.o.CacheReport == CacheReportOff {
		return -1
	}
	return a.st.Facts().Cached
}

func event(b []byte, name string, payload ...[]byte) []byte {
	if name != "" {
		b = append(append(append(b, "event: "...), name...), '\n')
	}
	b = append(b, "data: "...)
	return append(append(b, bytes.Join(payload, nil)...), "\n\n"...)
}
