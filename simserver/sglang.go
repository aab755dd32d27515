package simserver

import (
	"net/http"
	"strconv"

	"tokentape/internal/sim"
)

// SGLang's own /generate. TGI has the same path; its body has inputs.
var generateAPI = &native{
	parse: func(o *Options, r *http.Request, body []byte) (*generation, *apiError) {
		var w struct {
			Text   *string   `json:"text"`
			IDs    []float64 `json:"input_ids"`
			Inputs *string   `json:"inputs"`
			Stream bool      `json:"stream"`
			Params struct {
				Max       *int64 `json:"max_new_tokens"`
				Min       int64  `json:"min_new_tokens"`
				IgnoreEOS bool   `json:"ignore_eos"`
				Seed      *int64 `json:"sampling_seed"`
			} `json:"sampling_params"`
		}
		if e := decodeBody(body, &w); e != nil {
			return nil, e
		}
		if w.Inputs != nil {
			return parseTGI(o, body, false)
		}
		var c *sim.Counter
		switch {
		case w.Text != nil:
			c = countText(o, *w.Text)
		case len(w.IDs) > 0:
			c = sim.NewCounter(o.PageSize)
			if e := countPrompt(c, quoted(w.IDs)); e != nil {
				return nil, e
			}
		default:
			return nil, badRequest("Either text, input_ids or input_embeds should be provided.")
		}
		g, e := o.generation(c, "", w.Stream, sampling{most: w.Params.Max, def: 128, least: w.Params.Min, ignoreEOS: w.Params.IgnoreEOS, seed: w.Params.Seed})
		if g != nil {
			g.sglang = true
		}
		return g, e
	},
	face: func(a *answer) face {
		if a.g.sglang {
			return &sglangFace{a: a}
		}
		return tgiFace{a}
	},
	fail: func(e *apiError) []byte {
		return quoted(map[string]any{"error": map[string]string{"message": e.msg}})
	},
}

// sglangFace sends the whole text again with each event, or with
// Options.Incremental only what is new.
type sglangFace struct{ a *answer }

func (f *sglangFace) contentType() string { return "text/event-stream; charset=utf-8" }

func (f *sglangFace) begin(b []byte) []byte { return b }

func (f *sglangFace) tokens(b []byte, from, n int64) []byte {
	if from+n == f.a.st.Len {
		return b // the last event says the finish reason too
	}
	return event(b, "", f.object(from, n, true))
}

func (f *sglangFace) end(b []byte, counts bool) []byte {
	b = event(b, "", f.object(f.a.st.Len-f.a.last, f.a.last, counts))
	return append(b, "data: [DONE]\n\n"...)
}

func (f *sglangFace) failure(b []byte, e *apiError) []byte {
	b = event(b, "", quoted(map[string]any{"error": map[string]any{"message": e.msg, "type": e.kind, "code": e.status}}))
	return append(b, "data: [DONE]\n\n"...)
}

func (f *sglangFace) whole(b []byte, counts bool) []byte {
	return append(b, f.object(0, f.a.st.Len, counts)...)
}

func (f *sglangFace) object(from, n int64, counts bool) []byte {
	a := f.a
	done := from + n
	facts := a.st.Facts()
	b := append([]byte(nil), `{"text":"`...)
	if a.s.o.Incremental {
		b = a.text(b, from, n)
	} else {
		b = a.text(b, 0, done)
	}
	b = append(b, `","meta_info":{"id":`...)
	b = appendString(b, a.t.ID)
	b = append(b, `,"finish_reason":`...)
	switch {
	case done < a.st.Len:
		b = append(b, "null"...)
	case a.st.Length:
		b = append(b, `{"type":"length","length":`...)
		b = append(strconv.AppendInt(b, done, 10), '}')
	default:
		b = append(b, `{"type":"stop","matched":`+eosID+`}`...)
	}
	b = append(b, `,"weight_version":"default"`...)
	if counts {
		b = append(b, `,"prompt_tokens":`...)
		b = strconv.AppendInt(b, a.g.req.Prompt.Tokens, 10)
		b = append(b, `,"completion_tokens":`...)
		b = strconv.AppendInt(b, done, 10)
		b = append(b, `,"cached_tokens":`...)
		b = strconv.AppendInt(b, facts.Cached, 10)
		if a.s.o.tiered() {
			b = append(b, `,"cached_tokens_details":`...)
			b = a.s.o.appendTiers(b, facts)
		}
		b = a.s.o.appendSpec(b, a.steps-1, done, facts, done == a.st.Len) // prefill makes the first token
	}
	return append(b, "}}"...)
}
