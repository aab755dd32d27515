package analysis

import (
	"fmt"
	"slices"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/scrape"
	"tokentape/internal/analysis/stat"
)

// serverHistogram puts the client's values beside those of a histogram.
func (r *run) serverHistogram(v scrape.Value, c *scrape.Cover, w *Window, role string) *ServerHistogram {
	d := v.Histogram
	h := &ServerHistogram{N: d.N, Quantiles: map[string]ServerBounded{}, Counts: v.Counts}
	for _, q := range serverQuantiles {
		if b, ok := d.Quantile(float64(q) / 1000); ok {
			h.Quantiles[quantileName(q)] = ServerBounded{b.Value, ref(b.Low), b.High}
		}
	}
	switch {
	case role == "prefill" && v.Row.Name == "ttft_ms":
		h.Counts = join2("; ", h.Counts, "and the hand-over to the decode worker")
	case role == "prefill" && slices.Contains(ofDecode, v.Row.Name):
		h.Counts = "of a prefill worker, whose part ends with the first token: nothing of the client's stands beside it"
		return h
	}
	if h.Client = r.tokensBeside(v, c); h.Client == nil {
		h.Client = r.clientBeside(v.Row.Name, c, w)
	}
	if h.Client == nil || h.Client.N == 0 || d.N <= 0 {
		return h
	}
	if h.Client.Mean != nil && d.Mean != nil {
		h.DifferenceMean = ref(*h.Client.Mean - *d.Mean)
	}
	h.Difference = map[string]ServerBounded{}
	for name, b := range h.Quantiles {
		mine := h.Client.Quantiles[name]
		if mine == nil {
			continue
		}
		minus := func(p *float64) *float64 {
			if p == nil {
				return nil
			}
			return ref(*mine - *p)
		}
		h.Difference[name] = ServerBounded{minus(b.Value), minus(b.High), minus(b.Low)}
	}
	return h
}

// ofDecode are the rows in which a request's decoding counts: a prefill worker sees
// none of it.
var ofDecode = []string{"itl_ms", "tpot_ms", "e2e_ms"}

// severalTokens is how many tokens an event carries on average before gaps between
// events are no longer the neighbours of what a server counts once a token.
const severalTokens = 1.05

// tokensBeside is what the client knows of a histogram that has an observation a
// token, where its events carry several: TPOT, since a gap between events is of
// several tokens; nil where one event is one token, or nothing is counted by token.
func (r *run) tokensBeside(v scrape.Value, c *scrape.Cover) *ServerClient {
	if !v.Token {
		return nil
	}
	var ns, tokens, events float64
	for i := range r.reqs {
		q := &r.reqs[i]
		at, ended := q.Last()
		each, ok := q.TPOT()
		if !ended || !ok || !q.OK || !c.Holds(at) {
			continue
		}
		first, _ := q.InFirst()
		n := float64(q.Output - max(first, int64(q.Choices)))
		ns, tokens, events = ns+each*n, tokens+n, events+float64(q.TokenEvents)-float64(max(1, q.Choices))
	}
	if tokens <= 0 || events <= 0 || tokens/events <= severalTokens {
		return nil
	}
	return &ServerClient{N: int64(tokens), Metric: "tpot", Mean: ref(ns / tokens / 1e6), Quantiles: map[string]*float64{},
		Of: fmt.Sprintf("TPOT, each request weighed by its tokens after the first event, of ok requests of all phases whose last token came in the time covered: an event carries %.2f tokens, so that the gap between two of them (the client's ITL) is no time of one token", tokens/events)}
}

// clientBeside is what the client measured of the same in the time covered; nil
// where it cannot see it. TTFT: of every request whose first token came in that
// time, of any phase and outcome, since the server counts them all; E2E and TPOT:
// of ok requests whose last token did. Gaps between events are those of the
// window's table.
func (r *run) clientBeside(row string, c *scrape.Cover, w *Window) *ServerClient {
	collect := func(of string, value func(q *metric.Request) (float64, bool), at func(q *metric.Request) int64) *ServerClient {
		var xs []float64
		for i := range r.reqs {
			q := &r.reqs[i]
			if t := at(q); t == metric.Absent || !c.Holds(t) {
				continue
			}
			if v, ok := value(q); ok {
				xs = append(xs, v)
			}
		}
		out := &ServerClient{N: int64(len(xs)), Of: of, Mean: mean(xs), Quantiles: map[string]*float64{}}
		slices.Sort(xs)
		for _, q := range serverQuantiles {
			if v, ok := stat.Quantile(xs, float64(q)/1000); ok {
				out.Quantiles[quantileName(q)] = &v
			}
		}
		return out
	}
	last := func(q *metric.Request) int64 {
		if t, ok := q.Last(); ok && q.OK {
			return t
		}
		return metric.Absent
	}
	switch row {
	case "ttft_ms":
		return collect("requests of all phases whose first token came in the time covered", ms((*metric.Request).TTFT), func(q *metric.Request) int64 { return q.FirstToken })
	case "e2e_ms":
		return collect("ok requests of all phases whose last token came in the time covered", ms((*metric.Request).E2E), last)
	case "tpot_ms":
		return collect("ok requests of all phases whose last token came in the time covered", func(q *metric.Request) (float64, bool) {
			ns, ok := q.TPOT()
			return ns / 1e6, ok
		}, last)
	case "itl_ms":
		s := w.Metrics[itlKey]
		if s == nil || s.N == 0 {
			return nil
		}
		return &ServerClient{N: s.N, Of: "gaps between token events, as in the window's table", Mean: s.Mean,
			Quantiles: map[string]*float64{"p50": s.P50, "p90": s.P90, "p95": s.P95, "p99": s.P99}}
	}
	return nil
}
