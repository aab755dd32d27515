package simserver

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Anthropic's /v1/messages.
var messagesAPI = &native{
	parse: func(o *Options, r *http.Request, body []byte) (*generation, *apiError) {
		var w struct {
			Model     string          `json:"model"`
			System    json.RawMessage `json:"system"`
			Messages  []wireMessage   `json:"messages"`
			Stream    bool            `json:"stream"`
			Max       *int64          `json:"max_tokens"`
			IgnoreEOS bool            `json:"ignore_eos"`
			Seed      *int64          `json:"seed"`
		}
		if e := decodeBody(body, &w); e != nil {
			return nil, e
		}
		if r.Header.Get("anthropic-version") == "" {
			return nil, badRequest("anthropic-version: header is required")
		}
		if w.Max == nil {
			return nil, badRequest("max_tokens: Field required")
		}
		messages := w.Messages
		if len(w.System) > 0 {
			messages = append([]wireMessage{{"system", w.System}}, messages...)
		}
		c, e := countMessages(o, messages)
		if e != nil {
			return nil, e
		}
		return o.generation(c, w.Model, w.Stream, sampling{most: w.Max, ignoreEOS: w.IgnoreEOS, seed: w.Seed})
	},
	face: func(a *answer) face { return messagesFace{a} },
	fail: messagesError,
}

func messagesError(e *apiError) []byte {
	kind := "api_error"
	switch e.status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	}
	return quoted(map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": e.msg}})
}

type messagesFace struct{ a *answer }

func (f messagesFace) contentType() string { return "text/event-stream; charset=utf-8" }

func (f messagesFace) begin(b []byte) []byte {
	m := append([]byte(nil), `{"type":"message_start","message":`...)
	m = append(f.message(m, false), '}')
	b = event(b, "message_start", m)
	b = event(b, "content_block_start", []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
	return event(b, "ping", []byte(`{"type":"ping"}`))
}

func (f messagesFace) tokens(b []byte, from, n int64) []byte {
	p := append([]byte(nil), `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`...)
	return event(b, "content_block_delta", append(f.a.text(p, from, n), `"}}`...))
}

func (f messagesFace) reason() string {
	if f.a.st.Length {
		return "max_tokens"
	}
	return "end_turn"
}

func (f messagesFace) end(b []byte, counts bool) []byte {
	b = event(b, "content_block_stop", []byte(`{"type":"content_block_stop","index":0}`))
	p := append([]byte(nil), `{"type":"message_delta","delta":{"stop_reason":"`...)
	p = append(append(p, f.reason()...), `","stop_sequence":null}`...)
	if counts {
		p = append(p, `,"usage":{"output_tokens":`...)
		p = append(strconv.AppendInt(p, f.a.st.Len, 10), '}')
	}
	b = event(b, "message_delta", append(p, '}'))
	return event(b, "message_stop", []byte(`{"type":"message_stop"}`))
}

func (f messagesFace) failure(b []byte, e *apiError) []byte {
	return event(b, "error", messagesError(e))
}

func (f messagesFace) whole(b []byte, counts bool) []byte { return f.message(b, true) }

// message is the message object: with text and all counts, or as it begins.
func (f messagesFace) message(b []byte, done bool) []byte {
	a := f.a
	b = append(b, `{"id":`...)
	b = appendString(b, "msg_"+a.t.ID)
	b = append(b, `,"type":"message","role":"assistant","model":`...)
	b = appendString(b, a.g.model)
	b = append(b, `,"content":[`...)
	out := int64(1)
	if done {
		b = append(b, `{"type":"text","text":"`...)
		b = append(a.text(b, 0, a.st.Len), `"}`...)
		out = a.st.Len
	}
	b = append(b, `],"stop_reason":`...)
	if done {
		b = appendString(b, f.reason())
	} else {
		b = append(b, "null"...)
	}
	// Cached tokens are beside input_tokens, not within.
	in, cached := a.g.req.Prompt.Tokens, a.cached()
	b = append(b, `,"stop_sequence":null,"usage":{"input_tokens":`...)
	b = strconv.AppendInt(b, in-max(cached, 0), 10)
	if cached >= 0 {
		b = append(b, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":`...)
		b = strconv.AppendInt(b, cached, 10)
	}
	b = append(b, `,"output_tokens":`...)
	return append(strconv.AppendInt(b, out, 10), "}}"...)
}
