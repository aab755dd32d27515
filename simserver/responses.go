package simserver

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// OpenAI's /v1/responses.
var responsesAPI = &native{
	parse: func(o *Options, _ *http.Request, body []byte) (*generation, *apiError) {
		var w struct {
			Model        string          `json:"model"`
			Input        json.RawMessage `json:"input"`
			Instructions string          `json:"instructions"`
			Stream       bool            `json:"stream"`
			Max          *int64          `json:"max_output_tokens"`
			IgnoreEOS    bool            `json:"ignore_eos"`
			Seed         *int64          `json:"seed"`
		}
		if e := decodeBody(body, &w); e != nil {
			return nil, e
		}
		var messages []wireMessage
		if w.Instructions != "" {
			messages = append(messages, wireMessage{"system", quoted(w.Instructions)})
		}
		var text string
		var list []wireMessage
		switch {
		case json.Unmarshal(w.Input, &text) == nil:
			messages = append(messages, wireMessage{"user", w.Input})
		case json.Unmarshal(w.Input, &list) == nil:
			messages = append(messages, list...)
		default:
			return nil, badRequest("body.input: input should be a string or a list of messages")
		}
		c, e := countMessages(o, messages)
		if e != nil {
			return nil, e
		}
		return o.generation(c, w.Model, w.Stream, sampling{most: w.Max, ignoreEOS: w.IgnoreEOS, seed: w.Seed})
	},
	face: func(a *answer) face { return &responsesFace{a: a} },
	fail: func(e *apiError) []byte {
		return quoted(map[string]any{"error": map[string]any{"message": e.msg, "type": e.kind, "param": nil, "code": e.status}})
	},
}

type responsesFace struct {
	a   *answer
	seq int64
}

func (f *responsesFace) contentType() string { return "text/event-stream; charset=utf-8" }

// event writes one event; rest is what follows its type and number.
func (f *responsesFace) event(b []byte, kind string, rest []byte) []byte {
	head := append([]byte(`{"type":"`), kind...)
	head = append(head, `","sequence_number":`...)
	head = strconv.AppendInt(head, f.seq, 10)
	f.seq++
	return event(b, kind, head, []byte(","), rest, []byte("}"))
}

func (f *responsesFace) begin(b []byte) []byte {
	response := append([]byte(`"response":`), f.response("in_progress", false, false)...)
	b = f.event(b, "response.created", response)
	b = f.event(b, "response.in_progress", response)
	b = f.event(b, "response.output_item.added", []byte(`"output_index":0,"item":{"id":"msg_0","type":"message","status":"in_progress","role":"assistant","content":[]}`))
	return f.event(b, "response.content_part.added", []byte(`"item_id":"msg_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`))
}

func (f *responsesFace) tokens(b []byte, from, n int64) []byte {
	rest := append([]byte(nil), `"item_id":"msg_0","output_index":0,"content_index":0,"delta":"`...)
	return f.event(b, "response.output_text.delta", append(f.a.text(rest, from, n), `","logprobs":[]`...))
}

func (f *responsesFace) end(b []byte, counts bool) []byte {
	text := f.a.text(nil, 0, f.a.st.Len)
	b = f.event(b, "response.output_text.done", append(append([]byte(`"item_id":"msg_0","output_index":0,"content_index":0,"text":"`), text...), '"'))
	b = f.event(b, "response.output_item.done", append([]byte(`"output_index":0,"item":`), f.item()...))
	kind := "completed"
	if f.a.st.Length {
		kind = "incomplete"
	}
	return f.event(b, "response."+kind, append([]byte(`"response":`), f.response(kind, true, counts)...))
}

func (f *responsesFace) failure(b []byte, e *apiError) []byte {
	return f.event(b, "error", append(append([]byte(`"code":"server_error","message":`), quoted(e.msg)...), `,"param":null`...))
}

func (f *responsesFace) whole(b []byte, counts bool) []byte {
	kind := "completed"
	if f.a.st.Length {
		kind = "incomplete"
	}
	return append(b, f.response(kind, true, counts)...)
}

func (f *responsesFace) item() []byte {
	b := append([]byte(nil), `{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"`...)
	return append(f.a.text(b, 0, f.a.st.Len), `","annotations":[]}]}`...)
}

func (f *responsesFace) response(status string, output, counts bool) []byte {
	a := f.a
	b := append([]byte(nil), `{"id":`...)
	b = appendString(b, "resp_"+a.t.ID)
	b = append(b, `,"object":"response","status":"`...)
	b = append(b, status...)
	b = append(b, `","error":null,"incomplete_details":`...)
	if status == "incomplete" {
		b = append(b, `{"reason":"max_output_tokens"}`...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"model":`...)
	b = appendString(b, a.g.model)
	b = append(b, `,"output":[`...)
	if output {
		b = append(b, f.item()...)
	}
	b = append(b, `],"usage":`...)
	if !counts {
		return append(b, "null}"...)
	}
	in, cached := a.g.req.Prompt.Tokens, a.cached()
	b = append(b, `{"input_tokens":`...)
	b = strconv.AppendInt(b, in, 10)
	if cached >= 0 {
		b = append(b, `,"input_tokens_details":{"cached_tokens":`...)
		b = append(strconv.AppendInt(b, cached, 10), '}')
	}
	b = append(b, `,"output_tokens":`...)
	b = strconv.AppendInt(b, a.st.Len, 10)
	b = append(b, `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":`...)
	b = strconv.AppendInt(b, in+a.st.Len, 10)
	return append(b, "}}"...)
}
