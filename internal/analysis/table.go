package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
)

// definition is one per-request metric of a window's table.
type definition struct {
	key string // its name, unit and meaning: analysis/catalog
	// source says where the value comes from, for the cohort's token sources.
	source func(in, out string) string
	value  func(*metric.Request) (float64, bool)
	// needs, when set, leaves the metric out of the table unless some request of
	// the cohort satisfies it.
	needs func(*metric.Request) bool
}

// ms turns a duration of the metric package into milliseconds.
func ms(f func(*metric.Request) (int64, bool)) func(*metric.Request) (float64, bool) {
	return func(q *metric.Request) (float64, bool) {
		ns, ok := f(q)
		return float64(ns) / 1e6, ok
	}
}

// count turns a count, or a stored duration, into a value.
func count(f func(*metric.Request) int64) func(*metric.Request) (float64, bool) {
	return func(q *metric.Request) (float64, bool) {
		n := f(q)
		return float64(n), n != metric.Absent
	}
}

func stored(f func(*metric.Request) int64) func(*metric.Request) (int64, bool) {
	return func(q *metric.Request) (int64, bool) {
		n := f(q)
		return n, n != metric.Absent
	}
}

// has reports whether a request has a value.
func has(f func(*metric.Request) (float64, bool)) func(*metric.Request) bool {
	return func(q *metric.Request) bool {
		_, ok := f(q)
		return ok
	}
}

const itlKey = "itl_ms"

// definitions are the per-request metrics in the order of the table. The gaps of
// ITL are pooled and stand apart.
func (r *run) definitions() []definition {
	stamps := func(string, string) string { return "stamps" }
	input := func(in, _ string) string { return in }
	output := func(_, out string) string { return out }
	with := func(f func(in, out string) string) func(in, out string) string {
		return func(in, out string) string { return "stamps, " + f(in, out) }
	}
	open := func(q *metric.Request) bool { return q.Due != metric.Absent }
	cached := func(*metric.Request) bool { return r.proved }
	return []definition{
		{key: "ttft_ms", source: stamps, value: ms((*metric.Request).TTFT)},
		{key: "ttft_from_due_ms", source: stamps, value: ms((*metric.Request).TTFTFromDue), needs: open},
		{key: "ttfo_ms", source: stamps, value: ms((*metric.Request).TTFO), needs: func(q *metric.Request) bool { return q.Reasoning }},
		{key: "tpot_ms", source: with(output), value: func(q *metric.Request) (float64, bool) {
			ns, ok := q.TPOT()
			return ns / 1e6, ok
		}},
		{key: itlKey, source: stamps},
		{key: "e2e_ms", source: stamps, value: ms((*metric.Request).E2E)},
		{key: "e2e_from_due_ms", source: stamps, value: ms((*metric.Request).E2EFromDue), needs: open},
		{key: "stream_end_ms", source: stamps, value: ms((*metric.Request).StreamEnd)},
		{key: "output_tokens", source: output, value: count(func(q *metric.Request) int64 { return q.Output })},
		{key: "input_tokens", source: input, value: count(func(q *metric.Request) int64 { return q.Input })},
		{key: "cached_tokens", source: input, needs: cached, value: func(q *metric.Request) (float64, bool) {
			n, _, ok := q.CachedTokens(r.proved)
			return float64(n), ok
		}},
		{key: "tokens_per_event", source: output, value: (*metric.Request).TokensPerEvent},
		{key: "request_accept_length", source: output, value: (*metric.Request).AcceptLength, needs: has((*metric.Request).AcceptLength)},
		{key: "request_accept_rate", source: func(string, string) string { return "server" }, value: (*metric.Request).AcceptRate, needs: has((*metric.Request).AcceptRate)},
		{key: "output_tokens_per_s", source: with(output), value: (*metric.Request).OutputSpeed},
		{key: "decode_tokens_per_s", source: with(output), value: (*metric.Request).DecodeSpeed},
		{key: "prefill_tokens_per_s", source: with(input), value: (*metric.Request).PrefillSpeed},
		{key: "prefill_uncached_tokens_per_s", source: with(input), needs: cached, value: func(q *metric.Request) (float64, bool) {
			return q.UncachedPrefillSpeed(r.proved)
		}},
		{key: "slot_wait_ms", source: stamps, needs: open, value: ms(stored(func(q *metric.Request) int64 { return q.SlotWait }))},
		{key: "pacer_lag_ms", source: stamps, value: ms(stored(func(q *metric.Request) int64 { return q.PacerLag }))},
	}
}

// sources names the token sources of a set of requests.
type sources struct{ in, out map[string]int }

func sourcesOf(reqs []metric.Request, set []int) sources {
	s := sources{in: map[string]int{}, out: map[string]int{}}
	for _, i := range set {
		q := &reqs[i]
		if q.Input != metric.Absent {
			s.in[q.InputSource]++
		}
		if q.Output != metric.Absent {
			s.out[q.OutputSource]++
		}
	}
	return s
}

// table makes the table of one window.
func (r *run) table(w window.Interval, o Options) Window {
	out := Window{Kind: w.Kind, Why: w.Why, LeftOut: w.LeftOut, Warnings: []string{}, Metrics: map[string]*Summary{}}
	if !w.OK {
		return out
	}
	from, to := float64(w.From)/1e9, float64(w.To)/1e9
	out.From, out.To, out.Requests = &from, &to, new(int64(len(w.Cohort)))
	out.FromWall, out.ToWall = r.wall(w.From), r.wall(w.To)
	for _, s := range w.Spans {
		out.Spans = append(out.Spans, Stretch{float64(s.From) / 1e9, float64(s.To) / 1e9, r.wall(s.From), r.wall(s.To)})
	}
	src := sourcesOf(r.reqs, w.Cohort)
	in, outSrc := names(src.in), names(src.out)
	by, why := r.sections(w, o)
	if why != "" {
		out.Why += "; " + why
	}
	for _, d := range r.definitions() {
		if d.needs != nil && !r.any(w.Cohort, d.needs) {
			continue
		}
		s := r.summarise(d, w, by)
		def, _ := catalog.Find(d.key, catalog.KindMetric)
		s.Unit, s.Source = def.Unit, d.source(in, outSrc)
		r.remark(d.key, s, w.Cohort, src)
		out.Metrics[d.key] = s
		out.MetricOrder = append(out.MetricOrder, d.key)
	}
	if r.untimed() {
		out.Warnings = append(out.Warnings, "no rates and no requests in flight: "+notTimed)
		return out
	}
	r.system(w, &out, o)
	out.System.OutputTokensSource = outSrc
	r.sufficiency(w, &out, o)
	r.trended[w.Kind] = r.trends(w)
	out.Warnings = append(out.Warnings, r.trended[w.Kind]...)
	return out
}

// summarise describes one metric of a window.
func (r *run) summarise(d definition, w window.Interval, by *sections) *Summary {
	if d.key == itlKey {
		return r.itl(w.Cohort, by.of(d.key))
	}
	xs := make([]float64, 0, len(w.Cohort))
	for _, i := range w.Cohort {
		if v, ok := d.value(&r.reqs[i]); ok {
			xs = append(xs, v)
		}
	}
	return summary(stat.Describe(xs, by.of(d.key)), 1)
}

// remark adds what a reader must know about how a metric's values came to be.
func (r *run) remark(key string, s *Summary, cohort []int, src sources) {
	if s.N == 0 && len(cohort) > 0 {
		def, _ := catalog.Find(key, catalog.KindMetric)
		why := "absent: " + def.Absent
		if streams := key == itlKey || strings.Contains(def.Enters, "streamed"); streams && !r.any(cohort, func(q *metric.Request) bool { return q.Streamed }) {
			why = r.unstreamed(cohort)
		}
		s.Warnings = append(s.Warnings, "no request of the window has one ("+why+")")
	}
	usesOut := key == "tpot_ms" || key == "output_tokens" || key == "tokens_per_event" || key == "request_accept_length" || key == "output_tokens_per_s" || key == "decode_tokens_per_s"
	usesIn := key == "input_tokens" || key == "prefill_tokens_per_s" || key == "cached_tokens" || key == "prefill_uncached_tokens_per_s"
	if usesOut && len(src.out) > 1 {
		s.Warnings = append(s.Warnings, "token sources are mixed: "+breakdown(src.out))
	}
	if usesIn && len(src.in) > 1 {
		s.Warnings = append(s.Warnings, "token sources are mixed: "+breakdown(src.in))
	}
	switch key {
	case "tpot_ms", "tokens_per_event":
		var assumed int
		for _, i := range cohort {
			q := &r.reqs[i]
			if _, guess := q.InFirst(); guess && q.TokenEvents >= 2 && q.Choices == 1 {
				assumed++
			}
		}
		if assumed > 0 {
			s.Source += "; the first token event is taken as 1 token (the server sends no running counts)"
		}
	case "cached_tokens":
		var inferred int64
		for _, i := range cohort {
			if _, guess, ok := r.reqs[i].CachedTokens(r.proved); ok && guess {
				inferred++
			}
		}
		if inferred > 0 {
			s.Source += fmt.Sprintf("; %d of %d are inferred zeros", inferred, s.N)
		}
	}
}

// unstreamed says why no answer of a cohort is a stream.
func (r *run) unstreamed(cohort []int) string {
	if im := r.header.Import; im != nil && slices.ContainsFunc(cohort, func(i int) bool { return !slices.Contains(r.facts[i].flags, "not_streamed") }) {
		return im.Tool + " did not record what an event carried, so that no token has a time"
	}
	return "no answer was streamed"
}

func (r *run) any(set []int, f func(*metric.Request) bool) bool {
	for _, i := range set {
		if f(&r.reqs[i]) {
			return true
		}
	}
	return false
}

// hopeless is how many times the run a need for more requests may be before it is
// called none of size.
const hopeless = 100

// overRun is what is said of it.
const overRun = ": no interval with this load: a queue reaches over the run"

// summary turns a description into the form of results.json. A request gives
// per samples.
func summary(d stat.Description, per float64) *Summary {
	s := &Summary{N: d.N, NEff: d.NEff, Mean: d.Mean, SD: d.SD, Min: d.Min, Max: d.Max,
		P50: d.Q[0], P75: d.Q[1], P90: d.Q[2], P95: d.Q[3], P99: d.Q[4], P999: d.Q[5], Warnings: []string{}}
	if d.N == 0 {
		return s
	}
	put := func(name string, ci *[2]float64) {
		if ci == nil {
			return
		}
		if s.CI == nil {
			s.CI = map[string][2]*float64{}
		}
		// No metric here can be negative; a symmetric interval can.
		lo, hi := max(0, ci[0]), ci[1]
		s.CI[name] = [2]*float64{&lo, &hi}
	}
	put("mean", d.MeanCI)
	var tied []string
	lacking := ""
	// A need that is hopeless beside the run and beside what independent samples would
	// take is no matter of size.
	lack := func(name string, more int64, independent float64) {
		n := int64(math.Ceil(float64(more) / per))
		switch {
		case more == 0 || d.SD != nil && *d.SD == 0: // a constant needs no more samples
		case lacking == "" && float64(n) > hopeless*max(float64(d.N)/per, independent):
			lacking = name + overRun
		case lacking == "":
			lacking = fmt.Sprintf("%s needs about %s", name, plural(round2(n), "more request"))
		case name == "p999" && !strings.HasSuffix(lacking, overRun):
			lacking += ", higher ones more still"
		}
	}
	lack("mean", d.MeanMore, stat.LeastUnits)
	for i, q := range stat.Quantiles {
		put(quantileName(q), d.QCI[i])
		if q >= 900 || d.MeanMore > 0 || d.NEff != nil {
			lack(quantileName(q), d.More[i], max(stat.LeastUnits, stat.TailUnits*1000/float64(1000-q)))
		}
		if d.Tied[i] && (d.SD == nil || *d.SD > 0) {
			tied = append(tied, quantileName(q))
		}
	}
	if lacking != "" {
		s.Warnings = append(s.Warnings, lacking)
	}
	if len(tied) > 0 {
		s.Warnings = append(s.Warnings, "no interval of "+join(tied, ", ")+": many values are alike")
	}
	return s
}

// quantileName is "p50", "p999" … for thousandths.
func quantileName(q int) string {
	return "p" + strings.TrimSuffix(fmt.Sprintf("%03d", q), "0")
}

// round2 is n rounded up to two significant digits.
func round2(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}

// thousands is n with a comma every three digits.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
