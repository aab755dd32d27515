package simserver

import (
	"net/http"
	"strconv"
)

// text-generation-inference's /generate_stream; its /generate is generateAPI.
var tgiStreamAPI = &native{
	parse: func(o *Options, _ *http.Request, body []byte) (*generation, *apiError) {
		return parseTGI(o, body, true)
	},
	face: func(a *answer) face { return tgiFace{a} },
	fail: tgiError,
}

func parseTGI(o *Options, body []byte, stream bool) (*generation, *apiError) {
	var w struct {
		Inputs *string `json:"inputs"`
		Params struct {
			Max     *int64 `json:"max_new_tokens"`
			Seed    *int64 `json:"seed"`
			Details bool   `json:"details"`
			// No option of TGI, but the simulated engine's way to a length.
			IgnoreEOS bool `json:"ignore_eos"`
		} `json:"parameters"`
	}
	if e := decodeBody(body, &w); e != nil {
		return nil, e
	}
	if w.Inputs == nil {
		return nil, badRequest("missing field `inputs`")
	}
	g, e := o.generation(countText(o, *w.Inputs), "", stream, sampling{most: w.Params.Max, def: 100, ignoreEOS: w.Params.IgnoreEOS, seed: w.Params.Seed})
	if g != nil {
		g.usage = w.Params.Details
	}
	return g, e
}

func tgiError(e *apiError) []byte {
	return quoted(map[string]string{"error": e.msg, "error_type": "validation"})
}

type tgiFace struct{ a *answer }

func (f tgiFace) contentType() string { return "text/event-stream" }

func (f tgiFace) begin(b []byte) []byte { return b }

// tokens writes an event a token: TGI does so even where one step made several.
func (f tgiFace) tokens(b []byte, from, n int64) []byte {
	for i := from; i < from+n; i++ {
		if i+1 == f.a.st.Len {
			break // the last token is in the last event
		}
		b = append(f.token(b, i), `,"generated_text":null,"details":null}`+"\n\n"...)
	}
	return b
}

func (f tgiFace) token(b []byte, i int64) []byte {
	b = append(b, `data:{"index":`...)
	b = strconv.AppendInt(b, i+1, 10)
	b = append(b, `,"token":{"id":`...)
	b = strconv.AppendInt(b, 100+i, 10)
	b = append(b, `,"text":"`...)
	return append(f.a.text(b, i, 1), `","logprob":-0.5,"special":false}`...)
}

func (f tgiFace) end(b []byte, counts bool) []byte {
	b = append(f.token(b, f.a.st.Len-1), `,"generated_text":"`...)
	b = append(f.a.text(b, 0, f.a.st.Len), `","details":`...)
	return append(f.details(b, counts), "}\n\n"...)
}

func (f tgiFace) details(b []byte, counts bool) []byte {
	if !counts || !f.a.g.usage {
		return append(b, "null"...)
	}
	b = append(b, `{"finish_reason":"`...)
	if f.a.st.Length {
		b = append(b, "length"...)
	} else {
		b = append(b, "eos_token"...)
	}
	b = append(b, `","generated_tokens":`...)
	b = strconv.AppendInt(b, f.a.st.Len, 10)
	b = append(b, `,"seed":null,"input_length":`...)
	return append(strconv.AppendInt(b, f.a.g.req.Prompt.Tokens, 10), '}')
}

func (f tgiFace) failure(b []byte, e *apiError) []byte {
	return append(append(append(b, "data:"...), quoted(map[string]string{"error": e.msg, "error_type": "generation"})...), "\n\n"...)
}

func (f tgiFace) whole(b []byte, counts bool) []byte {
	b = append(b, `{"generated_text":"`...)
	b = append(f.a.text(b, 0, f.a.st.Len), `","details":`...)
	return append(f.details(b, counts), '}')
}
