package simserver

import (
	"encoding/json"
	"net/http"
	"strconv"

	"tokentape/internal/sim"
)

// llama.cpp's own /completion.
var completionAPI = &native{
	parse: func(o *Options, _ *http.Request, body []byte) (*generation, *apiError) {
		var w struct {
			Prompt    json.RawMessage `json:"prompt"`
			Predict   *int64          `json:"n_predict"`
			Max       *int64          `json:"max_tokens"`
			Stream    bool            `json:"stream"`
			IgnoreEOS bool            `json:"ignore_eos"`
			Seed      *int64          `json:"seed"`
		}
		if e := decodeBody(body, &w); e != nil {
			return nil, e
		}
		c := sim.NewCounter(o.PageSize)
		if e := countPrompt(c, w.Prompt); e != nil {
			return nil, e
		}
		if w.Predict == nil {
			w.Predict = w.Max
		}
		return o.generation(c, "", w.Stream, sampling{most: w.Predict, ignoreEOS: w.IgnoreEOS, seed: w.Seed})
	},
	face: func(a *answer) face { return completionFace{a} },
	fail: completionError,
}

func completionError(e *apiError) []byte {
	return quoted(map[string]any{"error": map[string]any{"code": e.status, "message": e.msg, "type": "server_error"}})
}

type completionFace struct{ a *answer }

func (f completionFace) contentType() string { return "text/event-stream" }

func (f completionFace) begin(b []byte) []byte { return b }

func (f completionFace) tokens(b []byte, from, n int64) []byte {
	return event(b, "", append(f.object(nil, from, n, false, from+n), '}'))
}

func (f completionFace) object(b []byte, from, n int64, stop bool, predicted int64) []byte {
	b = append(b, `{"index":0,"content":"`...)
	b = append(f.a.text(b, from, n), `","tokens":[],"id_slot":0,"stop":`...)
	b = strconv.AppendBool(b, stop)
	if predicted >= 0 {
		b = append(b, `,"tokens_predicted":`...)
		b = strconv.AppendInt(b, predicted, 10)
		b = append(b, `,"tokens_evaluated":`...)
		b = strconv.AppendInt(b, f.a.g.req.Prompt.Tokens, 10)
	}
	return b
}

func (f completionFace) last(b []byte, n int64, counts bool) []byte {
	a := f.a
	predicted := a.st.Len
	if !counts {
		predicted = -1
	}
	b = f.object(b, 0, n, true, predicted)
	b = append(b, `,"stop_type":"`...)
	if a.st.Length {
		b = append(b, "limit"...)
	} else {
		b = append(b, "eos"...)
	}
	b = append(b, `","stopping_word":"","truncated":false`...)
	if counts {
		facts := a.st.Facts()
		in := a.g.req.Prompt.Tokens
		b = append(b, `,"tokens_cached":`...)
		b = strconv.AppendInt(b, in+a.st.Len-1, 10)
		b = append(b, `,"timings":{"cache_n":`...)
		b = strconv.AppendInt(b, facts.Cached, 10)
		b = append(b, `,"prompt_n":`...)
		b = strconv.AppendInt(b, in-facts.Cached, 10)
		b = append(b, `,"prompt_ms":`...)
		b = strconv.AppendFloat(b, float64(facts.PrefillDone-facts.Admitted)/1e6, 'f', 3, 64)
		b = append(b, `,"predicted_n":`...)
		b = strconv.AppendInt(b, a.st.Len, 10)
		b = append(b, `,"predicted_ms":`...)
		b = strconv.AppendFloat(b, float64(a.s.clk.Now()-facts.PrefillDone)/1e6, 'f', 3, 64)
		if facts.Drafted > 0 {
			b = append(b, `,"draft_n":`...)
			b = strconv.AppendInt(b, facts.Drafted, 10)
			b = append(b, `,"draft_n_accepted":`...)
			b = strconv.AppendInt(b, facts.Accepted, 10)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

func (f completionFace) end(b []byte, counts bool) []byte {
	return event(b, "", f.last(nil, 0, counts))
}

func (f completionFace) whole(b []byte, counts bool) []byte { return f.last(b, f.a.st.Len, counts) }

func (f completionFace) failure(b []byte, e *apiError) []byte {
	return event(b, "", completionError(e))
}
