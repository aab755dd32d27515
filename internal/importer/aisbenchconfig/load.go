package aisbenchconfig

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tokentape/internal/importer/aisbench/pyconf"
)

// leastRate is the rate below which AISBench does not pace.
const leastRate = 0.001

// mostRate is the greatest rate that a spec takes, requests a second.
const mostRate = 1e6

// load writes when and how much.
func (j *job) load(m *model, rows *rowsOf) {
	if len(j.c.refused) > 0 {
		return
	}
	c, s := j.c, &j.sheet
	t := j.traffic(m)
	replay := m.timestamps
	rate := m.rate
	if rate < leastRate {
		if rate > 0 {
			c.warn(m.rateField.At, "request_rate", "%v is below 0.001, which AISBench takes for no rate; so does the spec", rate)
		}
		rate = 0
	}
	if t.shape != "" && rate == 0 && !replay {
		rate = math.Max(t.from, t.to)
		c.warn(t.at, "traffic_cfg", "a ramp without request_rate: AISBench ignores it, though its plot shows it; here the rate rises to %v requests/s. Without load.rate and load.ramp the loop is closed, as it was there", rate)
	}
	warm := c.o.Warmups
	if replay && warm > 0 {
		warm = 0
		c.warn(m.timesField.At, "use_timestamp", "--num-warmups %d is left out: here warm-ups would be the first rows of the trace itself", c.o.Warmups)
	}
	if rows.made != nil {
		j.files = append(j.files, rows.made(warm))
		s.set("workload.dataset.path", "rows.jsonl", rows.note)
		rows.have = rows.n + warm
	}
	if c.o.Pressure > 0 {
		j.pressure(m, rows, m.rate, warm)
		return
	}
	n := rows.n
	if n > 0 && m.copies > 1 {
		n *= m.copies
	}
	switch {
	case replay && !rows.timed:
		s.set("workload.dataset.columns", &pyconf.Dict{Fields: []pyconf.Field{{Name: "timestamp", Value: "timestamp"}}}, c.from(m.timesField))
		s.set("workload.dataset.time_unit", "ms", "AISBench's rule of timestamps")
	case rows.timed && !replay:
		c.warn(rows.at, "use_timestamp", "is False: the trace's times are not used, there and here")
	}
	if n == 0 {
		c.warn(rows.at, "datasets", "how many rows there are is not known here (%s): set load.requests to it, since 1 is sent otherwise", rows.why)
	}
	what := "load.requests"
	if rows.sessions {
		what = "load.sessions"
	}
	if n > 0 && !replay {
		s.set(what, n, rows.nNote)
	}
	j.concurrency(m, rows, rate, replay)
	if rate > 0 && !replay {
		j.arrivals(m, t, rate, n)
	}
	if replay {
		j.replay(m, rows, t)
	} else if t.at.Line > 0 && rate == 0 {
		c.warn(t.at, "traffic_cfg", "has no meaning without request_rate, there and here: each request waits for a free slot")
	}
	if warm > 0 {
		s.set("load.warmup", warm, "AISBench's --num-warmups")
	}
	if rows.shuffle != "" && !replay {
		s.set("workload.order", "shuffle", rows.shuffle)
	}
	if !replay && n > 0 && n+warm > rows.have {
		note := "warm-ups take rows too"
		if n > rows.have {
			note = "more requests than rows, as AISBench repeats them"
		}
		s.set("workload.repeat", "cycle", note)
		if warm > 0 {
			c.warn(rows.at, "--num-warmups", "the first rows (%d) are sent once more as warm-up, as in AISBench, so that a prefix cache can have them when they are measured. --num-warmups 0 leaves that out", warm)
		}
	}
	j.retry(m)
}

// concurrency is batch_size.
func (j *job) concurrency(m *model, rows *rowsOf, rate float64, replay bool) {
	c := j.c
	if replay {
		c.warn(m.batchField.At, "batch_size", "has no meaning beside use_timestamp: rows are sent when they are due, however many are in flight. In AISBench %d connections were a hidden queue within its TTFT", m.batch+1)
		return
	}
	note := c.from(m.batchField)
	if m.batchField.Name == "" {
		note = "AISBench's default of batch_size"
	}
	field := "load.concurrency"
	if rows.sessions {
		field = "load.session_concurrency"
	}
	j.sheet.set(field, m.batch, note)
	if rate > 0 {
		c.warn(m.batchField.At, "batch_size", "caps what is in flight beside request_rate: what waits for a slot is measured here (slot wait, latency from due) and was not there. Remove %s for no cap", field)
	}
}

// traffic is traffic_cfg.
type traffic struct {
	at         pyconf.Pos
	burstiness float64
	bf         pyconf.Field
	given      bool
	shape      string
	from, to   float64
	sf, ff, tf pyconf.Field
}

func (j *job) traffic(m *model) traffic {
	c := j.c
	t := traffic{burstiness: 1}
	if m.traffic == nil {
		return t
	}
	t.at = m.traffic.At
	r := c.record(m.traffic, "traffic_cfg")
	if f, ok := r.field("burstiness"); ok && f.Value != "" {
		t.burstiness, t.bf, t.given = r.number("burstiness")
		if t.burstiness < 0 {
			c.refuse(t.bf.At, "0: even gaps; 1: Poisson", "burstiness is %v", t.burstiness)
		}
	} else if f, present := m.traffic.Get("burstiness"); present {
		c.warn(f.At, "burstiness", "is empty, on which AISBench ends with an error; taken as left out")
	}
	t.shape, t.sf = r.text("ramp_up_strategy")
	var okFrom, okTo bool
	t.from, t.ff, okFrom = r.number("ramp_up_start_rps")
	t.to, t.tf, okTo = r.number("ramp_up_end_rps")
	switch {
	case t.shape == "":
		if okFrom || okTo {
			c.warn(t.at, "traffic_cfg", "ramp_up_start_rps and ramp_up_end_rps have no meaning without ramp_up_strategy, there and here")
		}
	case t.shape != "linear" && t.shape != "exponential":
		c.refuse(t.sf.At, "linear or exponential", "ramp_up_strategy %q is not known", t.shape)
	case !okFrom || !okTo:
		c.warn(t.sf.At, "ramp_up_strategy", "has no ramp_up_start_rps and ramp_up_end_rps, on which AISBench ends with an error; the ramp is left out")
		t.shape = ""
	case t.from < 0 || t.to < leastRate || max(t.from, t.to) > mostRate:
		c.refuse(at(t.tf, m.traffic), "0 or more requests/s at the start, 0.001 or more at the end", "the ramp goes from %v to %v requests/s", t.from, t.to)
	}
	r.rest("has no meaning in traffic_cfg, there and here")
	return t
}

// arrivals writes the rate and how requests are spaced.
func (j *job) arrivals(m *model, t traffic, rate float64, n int64) {
	c, s := j.c, &j.sheet
	note := c.from(m.rateField)
	if t.shape != "" && t.to != t.from {
		if m.rate != t.to && m.rate >= leastRate {
			c.warn(m.rateField.At, "request_rate", "%v is not where the ramp ends: AISBench's rates are those of the ramp, to ramp_up_end_rps %v", m.rate, t.to)
		}
		if t.to < t.from {
			j.spacing(m, t, false)
			j.falling(t, n)
			return
		}
		rate = t.to
		if m.rate == t.to {
			note += ", " + c.from(t.tf)
		} else {
			note = c.from(t.tf)
		}
	}
	s.set("load.rate", rate, note)
	j.spacing(m, t, t.shape == "" && n > 0)
	c.warn(rateAt(m, t), "request_rate", "AISBench sends the first request after two gaps and all others late by one; here the first is due at 0")
	if t.shape == "" || t.to == t.from {
		return
	}
	s.set("load.ramp.shape", t.shape, c.from(t.sf))
	from := t.from
	if from < 1e-6 {
		from = math.Max(0.001, t.to/1000)
		c.warn(t.ff.At, "ramp_up_start_rps", "is 0: a ramp begins above it, here at %v requests/s", from)
	}
	s.set("load.ramp.from", from, c.from(t.ff))
	d, why := 60*time.Second, "the rows are not known: AISBench's ramp lasts for all of them, so set it"
	if n > 0 {
		// Gap i of AISBench's plan is 1/r_i with r_i between the ends by the share of
		// requests sent, so that its ramp lasts for the sum of all gaps.
		sum := 0.0
		for i := range n {
			sum += 1 / rampRate(t.shape, from, t.to, float64(i)/math.Max(1, float64(n-1)))
		}
		d = time.Duration(sum * float64(time.Second)).Round(time.Millisecond)
		why = fmt.Sprintf("what %d requests take by AISBench's rule", n)
	}
	s.set("load.ramp.duration", max(d, time.Millisecond), why)
	c.warn(t.sf.At, "ramp_up_strategy", "AISBench's rate rises with the share of requests sent and never holds; here it rises with time over %s (%s)", max(d, time.Millisecond), why)
}

func rampRate(shape string, from, to, share float64) float64 {
	if shape == "exponential" {
		return from * math.Pow(to/from, share)
	}
	return from + (to-from)*share
}

// falling writes a ramp that goes down as stages.
func (j *job) falling(t traffic, n int64) {
	c := j.c
	const steps = 10
	if n == 0 {
		n = 60
	}
	var parts []string
	each := float64(n) / steps
	for i := range steps {
		r := rampRate(t.shape, t.from, t.to, (float64(i)+0.5)/steps)
		d := time.Duration(each / r * float64(time.Second)).Round(time.Millisecond)
		parts = append(parts, fmt.Sprintf("{rate: %.6g, duration: %s}", r, max(d, time.Millisecond)))
	}
	j.sheet.set("load.stages", raw("["+strings.Join(parts, ", ")+"]"), c.from(t.sf))
	c.warn(t.sf.At, "ramp_up_strategy", "goes down from %v to %v requests/s, which a ramp does not do here: it is %d stages, each with a tenth of the requests", t.from, t.to, steps)
}

// replay sends the rows when their timestamps say.
func (j *job) replay(m *model, rows *rowsOf, t traffic) {
	c, s := j.c, &j.sheet
	s.set("load.arrivals", "replay", c.from(m.timesField))
	if rows.from != nil {
		s.set("load.replay.from", time.Duration(*rows.from)*time.Millisecond, c.from(rows.fromField))
	}
	if rows.to != nil {
		s.set("load.replay.to", time.Duration(*rows.to)*time.Millisecond, c.from(rows.toField)+": AISBench's window holds its end too")
	}
	c.warn(m.timesField.At, "use_timestamp", "AISBench sends the first row at twice its own time and late by it all others; here the first is due at 0, and rows out of order are sorted")
	if m.rate >= leastRate {
		c.warn(m.rateField.At, "request_rate", "has no meaning beside use_timestamp, there and here")
	}
	if t.at.Line > 0 {
		c.warn(t.at, "traffic_cfg", "has no meaning beside use_timestamp, there and here")
	}
}

// retry is the number of attempts.
func (j *job) retry(m *model) {
	c, s := j.c, &j.sheet
	n := m.attempts
	note := c.from(m.tryField)
	if m.tryField.Name == "" {
		note = "AISBench's default of retry"
	}
	switch {
	case n < 0 || n > 1000:
		c.refuse(m.tryField.At, "1: each request is sent once", "retry is %d; AISBench takes 0 to 1000", n)
	case n == 0:
		c.warn(m.tryField.At, "retry", "is 0, for which AISBench sends nothing and counts all as failed; here each request is sent once")
		s.set("load.attempts", 1, note)
	case n == 1:
		s.set("load.attempts", 1, note)
	default:
		s.set("load.attempts", n, note+": attempts, not repetitions")
		s.set("load.retry.on", []string{"connect", "reset", "truncated_stream", "malformed_stream"}, "what AISBench tries again: broken connections and streams, no status")
		s.set("load.retry.backoff.initial", raw("0s"), "AISBench tries again at once")
		c.warn(m.tryField.At, "retry", "AISBench reports the latency of the last attempt alone; here it counts from the release of the first")
	}
}

// summary is what the summarizer asks for.
type summary struct {
	at     pyconf.Pos
	stable bool
	field  pyconf.Field
}

// statistics of AISBench that the tables of report --as aisbench have.
var statistics = map[string]bool{"Average": true, "Min": true, "Max": true, "Median": true, "P75": true, "P90": true, "P99": true}

// summarizer reads the top-level name.
func (c *converter) summarizer() summary {
	f, ok := c.config.Names.Get("summarizer")
	if !ok {
		return summary{}
	}
	d, ok := f.Value.(*pyconf.Dict)
	if !ok {
		c.refuse(f.At, "summarizer = dict(attr=\"performance\", …)", "summarizer is %s", kindOf(f.Value))
		return summary{}
	}
	s := summary{at: d.At}
	r := c.record(d, "summarizer")
	if attr, af := r.text("attr"); attr != "performance" {
		c.warn(at(af, d), "summarizer", "has no attr=\"performance\", so that AISBench silently takes its default one; so does the spec")
		for _, g := range d.Fields {
			r.seen[g.Name] = true
		}
		return summary{}
	}
	last, _, tf := r.class("type")
	if last != "DefaultPerfSummarizer" && last != "" {
		c.warn(tf.At, "summarizer", "the class %s is read as DefaultPerfSummarizer", last)
	}
	calc, _ := r.dict("calculator")
	if calc != nil {
		cr := c.record(calc, "calculator")
		name, _, nf := cr.class("type")
		switch name {
		case "StablePerfMetricCalculator":
			s.stable = true
		case "DefaultPerfMetricCalculator", "":
		default:
			c.warn(nf.At, "calculator", "the class %s is not known; the windows are the usual ones", name)
		}
		s.field = nf
		list, lf := cr.texts("stats_list")
		var other []string
		for _, v := range list {
			if !statistics[v] {
				other = append(other, v)
			}
		}
		switch {
		case len(list) > 8:
			c.warn(lf.At, "stats_list", "holds %d, of which AISBench takes the first 8; report --as aisbench always prints Average, Min, Max, Median, P75, P90 and P99", len(list))
		case len(other) > 0:
			c.warn(lf.At, "stats_list", "%s: report --as aisbench always prints Average, Min, Max, Median, P75, P90 and P99; our own tables have their own percentiles", strings.Join(other, ", "))
		case lf.Name != "":
			c.off = append(c.off, c.short(lf.At)+" stats_list: report --as aisbench prints them")
		}
		cr.rest("has no meaning here")
	}
	r.rest("has no meaning here")
	return s
}

// report writes which windows get a table.
func (j *job) report(s summary) {
	switch {
	case s.stable:
		j.sheet.set("report.windows", []string{"stable", "whole", "steady"}, j.c.from(s.field))
	case s.field.Name != "":
		j.sheet.set("report.windows", []string{"whole", "steady"}, j.c.from(s.field))
	}
}

// rateAt is where the rate was given: by request_rate, or by a ramp alone.
func rateAt(m *model, t traffic) pyconf.Pos {
	if m.rateField.At.Line > 0 {
		return m.rateField.At
	}
	return t.at
}

// spacing writes how requests at a rate are spaced.
func (j *job) spacing(m *model, t traffic, stretched bool) {
	c, s := j.c, &j.sheet
	b, note := t.burstiness, c.from(t.bf)
	if !t.given {
		note = "AISBench's default of burstiness"
		c.warn(rateAt(m, t), "burstiness", "is left out: AISBench's documents say even gaps, its code draws Poisson arrivals, and so does the spec. For even gaps: load.arrivals: constant")
	}
	switch {
	case b == 0:
		s.set("load.arrivals", "constant", note)
	case b == 1:
		s.set("load.arrivals", "poisson", note)
		if stretched {
			s.set("load.conditioned", true, "AISBench stretches its gaps so that N of them take N/r s")
		}
	default:
		if b < 0.001 {
			c.warn(t.bf.At, "burstiness", "%v is below what is drawn here; it is 0.001", b)
		}
		s.set("load.arrivals", "gamma", note)
		s.set("load.burstiness", math.Max(b, 0.001), note)
	}
}
