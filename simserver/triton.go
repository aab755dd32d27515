package simserver

import (
	"net/http"
	"net/url"
	"strings"
)

// Triton's generate extension: text and nothing else, not even an end mark.
var tritonAPI = &native{
	parse: func(o *Options, r *http.Request, body []byte) (*generation, *apiError) {
		type options struct {
			Max       *int64 `json:"max_tokens"`
			IgnoreEOS bool   `json:"ignore_eos"`
			Seed      *int64 `json:"seed"`
			Exclude   bool   `json:"exclude_input_in_output"`
		}
		var w struct {
			Text *string `json:"text_input"`
			options
			Params options `json:"parameters"`
		}
		if e := decodeBody(body, &w); e != nil {
			return nil, e
		}
		if w.Text == nil {
			return nil, badRequest("expected text_input in the request")
		}
		if w.Params.Max == nil {
			w.Params.Max = w.Max
		}
		rest := strings.TrimPrefix(r.URL.Path, "/v2/models/")
		model, verb, _ := strings.Cut(rest, "/")
		if name, err := url.PathUnescape(model); err == nil {
			model = name
		}
		g, e := o.generation(countText(o, *w.Text), model, verb == "generate_stream", sampling{most: w.Params.Max, def: 16, ignoreEOS: w.Params.IgnoreEOS, seed: w.Params.Seed})
		if g != nil && !w.Params.Exclude && !w.Exclude {
			g.echo = *w.Text
		}
		return g, e
	},
	face: func(a *answer) face { return tritonFace{a} },
	fail: failDetail,
}

type tritonFace struct{ a *answer }

func (f tritonFace) contentType() string { return "text/event-stream" }

func (f tritonFace) begin(b []byte) []byte { return b }

func (f tritonFace) object(from, n int64) []byte {
	b := append([]byte(nil), `{"model_name":`...)
	b = appendString(b, f.a.g.model)
	b = append(b, `,"model_version":"1","sequence_end":false,"sequence_id":0,"sequence_start":false,"text_output":"`...)
	if from == 0 && f.a.g.echo != "" {
		q := quoted(f.a.g.echo)
		b = append(b, q[1:len(q)-1]...)
	}
	return append(f.a.text(b, from, n), `"}`...)
}

func (f tritonFace) tokens(b []byte, from, n int64) []byte { return event(b, "", f.object(from, n)) }

func (f tritonFace) end(b []byte, _ bool) []byte { return event(b, "", f.object(f.a.st.Len, 0)) }

func (f tritonFace) failure(b []byte, e *apiError) []byte { return event(b, "", failDetail(e)) }

func (f tritonFace) whole(b []byte, _ bool) []byte { return append(b, f.object(0, f.a.st.Len)...) }
