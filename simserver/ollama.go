package simserver

import (
	"net/http"
	"strconv"
	"time"
)

// Ollama's own /api/chat: lines of JSON, durations in nanoseconds.
var ollamaAPI = &native{
	parse: func(o *Options, _ *http.Request, body []byte) (*generation, *apiError) {
		var w struct {
			Model    string        `json:"model"`
			Messages []wireMessage `json:"messages"`
			Stream   *bool         `json:"stream"`
			Options  struct {
				Predict *int64 `json:"num_predict"`
				Seed    *int64 `json:"seed"`
				// No option of Ollama, but the simulated engine's way to a length.
				IgnoreEOS bool `json:"ignore_eos"`
			} `json:"options"`
		}
		if e := decodeBody(body, &w); e != nil {
			return nil, e
		}
		c, e := countMessages(o, w.Messages)
		if e != nil {
			return nil, e
		}
		stream := w.Stream == nil || *w.Stream
		return o.generation(c, w.Model, stream, sampling{most: w.Options.Predict, ignoreEOS: w.Options.IgnoreEOS, seed: w.Options.Seed})
	},
	face: func(a *answer) face { return ollamaFace{a} },
	fail: failDetail,
}

type ollamaFace struct{ a *answer }

func (f ollamaFace) contentType() string { return "application/x-ndjson" }

func (f ollamaFace) begin(b []byte) []byte { return b }

func (f ollamaFace) object(b []byte, from, n int64) []byte {
	b = append(b, `{"model":`...)
	b = appendString(b, f.a.g.model)
	b = append(b, `,"created_at":"`...)
	b = f.a.s.clk.Wall().UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","message":{"role":"assistant","content":"`...)
	return append(f.a.text(b, from, n), `"}`...)
}

func (f ollamaFace) tokens(b []byte, from, n int64) []byte {
	return append(f.object(b, from, n), `,"done":false}`+"\n"...)
}

func (f ollamaFace) end(b []byte, counts bool) []byte { return append(f.last(b, 0, counts), '\n') }

func (f ollamaFace) whole(b []byte, counts bool) []byte { return f.last(b, f.a.st.Len, counts) }

// last is the object that ends an answer, with n tokens of text.
func (f ollamaFace) last(b []byte, n int64, counts bool) []byte {
	a := f.a
	b = f.object(b, 0, n)
	b = append(b, `,"done":true,"done_reason":"`...)
	if a.st.Length {
		b = append(b, "length"...)
	} else {
		b = append(b, "stop"...)
	}
	b = append(b, '"')
	if counts {
		facts, now := a.st.Facts(), a.s.clk.Now()
		for _, d := range []struct {
			name string
			n    int64
		}{
			{"total_duration", now - a.st.Arrival}, {"load_duration", 0},
			{"prompt_eval_count", a.g.req.Prompt.Tokens}, {"prompt_eval_duration", facts.PrefillDone - facts.Admitted},
			{"eval_count", a.st.Len}, {"eval_duration", now - facts.PrefillDone},
		} {
			b = append(append(append(b, `,"`...), d.name...), `":`...)
			b = strconv.AppendInt(b, d.n, 10)
		}
	}
	return append(b, '}')
}

func (f ollamaFace) failure(b []byte, e *apiError) []byte {
	return append(append(b, failDetail(e)...), '\n')
}
