package simserver

import (
	"encoding/json"
	"strconv"

	"tokentape/internal/sim"
)

// encoder writes the payloads of one answer. What does not change from chunk to
// chunk is rendered once.
type encoder struct {
	g      *generation
	prefix []byte // of every chunk, up to the choices array
	stream *sim.Stream
	spec   bool // report accepted and rejected tokens
	o      *Options
	report CacheReport
}

func newEncoder(o *Options, g *generation, s *sim.Stream, id string, created int64) *encoder {
	object := map[[2]bool]string{
		{true, true}: "chat.completion.chunk", {true, false}: "chat.completion",
		{false, true}: "text_completion", {false, false}: "text_completion",
	}[[2]bool{g.chat, g.stream}]
	var p []byte
	if g.stream {
		p = append(p, "data: "...)
	}
	p = append(p, `{"id":`...)
	p = appendString(p, id)
	p = append(p, `,"object":"`...)
	p = append(p, object...)
	p = append(p, `","created":`...)
	p = strconv.AppendInt(p, created, 10)
	p = append(p, `,"model":`...)
	p = appendString(p, g.model)
	p = append(p, `,"choices":[`...)
	return &encoder{g: g, prefix: p, stream: s, spec: o.SpecUsage && o.TokensPerEvent > 1, o: o, report: o.CacheReport}
}

func appendString(b []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string: cannot fail
	return append(b, q...)
}

// role is the chunk that only says who speaks.
func (e *encoder) role(b []byte) []byte {
	b = append(b, e.prefix...)
	b = append(b, `{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`+"\n\n"...)
	return b
}

// tokens is the chunk of output tokens from … from+n-1; the last one of a
// completion carries the finish reason.
func (e *encoder) tokens(b []byte, from, n int64) []byte {
	b = append(b, e.prefix...)
	if e.g.chat {
		b = append(b, `{"index":0,"delta":{"role":null,"content":"`...)
		b = e.stream.AppendTokens(b, from, n)
		b = append(b, `","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":`...)
	} else {
		b = append(b, `{"index":0,"text":"`...)
		b = e.stream.AppendTokens(b, from, n)
		b = append(b, `","logprobs":null,"finish_reason":`...)
		if from+n == e.stream.Len {
			b = e.finish(b)
		} else {
			b = append(b, `null,"matched_stop":null`...)
		}
		b = append(b, `}],"usage":`...)
	}
	if e.g.everyUse {
		b = e.usage(b, from+n, sim.Facts{})
	} else {
		b = append(b, "null"...)
	}
	return append(b, "}\n\n"...)
}

func (e *encoder) reason() string {
	if e.stream.Length {
		return "length"
	}
	return "stop"
}

// eosID is the id that SGLang names in matched_stop.
const eosID = "2"

func (e *encoder) finish(b []byte) []byte {
	b = append(b, '"')
	b = append(b, e.reason()...)
	if e.stream.Length {
		return append(b, `","matched_stop":null`...)
	}
	return append(b, `","matched_stop":`+eosID...)
}

// end is everything after the last token.
func (e *encoder) end(b []byte, usage, done bool) []byte {
	if e.g.chat {
		b = append(b, e.prefix...)
		b = append(b, `{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":`...)
		b = e.finish(b)
		b = append(b, `}],"usage":null}`+"\n\n"...)
	}
	if usage {
		b = append(b, e.prefix...)
		b = append(b, `],"usage":`...)
		b = e.usage(b, e.stream.Len, e.stream.Facts())
		b = e.ext(b)
		b = append(b, "}\n\n"...)
	}
	if done {
		b = append(b, "data: [DONE]\n\n"...)
	}
	return b
}

// usage counts out output tokens; SGLang's running counts carry no details.
func (e *encoder) usage(b []byte, out int64, f sim.Facts) []byte {
	in := e.g.req.Prompt.Tokens
	b = append(b, `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, in, 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, in+out, 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, out, 10)
	b = append(b, `,"prompt_tokens_details":`...)
	if e.report == CacheReportOn || e.report == CacheReportAboveZero && f.Cached > 0 {
		b = append(b, `{"cached_tokens":`...)
		b = strconv.AppendInt(b, f.Cached, 10)
		b = append(b, '}')
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"reasoning_tokens":0`...)
	if e.spec && f.Drafted > 0 {
		b = append(b, `,"completion_tokens_details":{"accepted_prediction_tokens":`...)
		b = strconv.AppendInt(b, f.Accepted, 10)
		b = append(b, `,"rejected_prediction_tokens":`...)
		b = strconv.AppendInt(b, f.Drafted-f.Accepted, 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// ext is what the body asked for beside the API.
func (e *encoder) ext(b []byte) []byte {
	var more []byte
	if e.g.details {
		more = e.o.specDetails(more, e.stream.Len, e.stream.Facts())
	}
	if e.g.tiers && e.o.tiered() {
		more = append(more, `,"cached_tokens_details":`...)
		more = e.o.appendTiers(more, e.stream.Facts())
	}
	if len(more) == 0 {
		return b
	}
	b = append(b, `,"sglext":{`...)
	return append(append(b, more[1:]...), '}')
}

// whole is the body of an answer that is not streamed.
func (e *encoder) whole(b []byte, usage bool) []byte {
	b = append(b, e.prefix...)
	if e.g.chat {
		b = append(b, `{"index":0,"message":{"role":"assistant","content":"`...)
		b = e.stream.AppendTokens(b, 0, e.stream.Len)
		b = append(b, `","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":`...)
	} else {
		b = append(b, `{"index":0,"text":"`...)
		b = e.stream.AppendTokens(b, 0, e.stream.Len)
		b = append(b, `","logprobs":null,"finish_reason":`...)
	}
	b = e.finish(b)
	b = append(b, `}]`...)
	if usage {
		b = append(b, `,"usage":`...)
		b = e.usage(b, e.stream.Len, e.stream.Facts())
	}
	b = e.ext(b)
	return append(b, `,"metadata":{"weight_version":"default"}}`...)
}
