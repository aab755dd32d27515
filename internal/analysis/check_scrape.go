package analysis

import (
	"fmt"
	"strings"

	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/scrape"
	"tokentape/tape"
)

const (
	missingShare = 0.05 // of a page's time that may lie in gaps
	othersShare  = 0.01 // of what a server did that may be others'
)

// serverChanged: the same server process from start to end, as far as its
// metrics tell.
func (r *run) serverChanged() Check {
	c := Check{Name: "server_changed", Severity: SeverityFail, Result: ResultNone, Unit: "restarts", Limit: ref(0),
		Why: "no scraped series tells when the server started",
		Do:  "find out why the server restarted, then run again; a balancer before several servers looks the same: scrape each by its own address"}
	var restarts int64
	var whys, resets []string
	starts, counters := false, false
	for _, p := range r.scrapes.Sources() {
		restarts += p.Restarts
		starts, counters = starts || p.HasStart(), counters || p.HasCounters() && len(p.Times) > 1
		for _, x := range p.Resets {
			if !x.Anew {
				if x.Same && (len(resets) == 0 || !strings.HasPrefix(resets[len(resets)-1], p.Name+" ")) {
					resets = append(resets, fmt.Sprintf("%s before %.1f s: %s", p.Name, float64(x.T)/1e9, resetWhy(x)))
				}
				continue
			}
			first := "in mid-run, before"
			if p.Restarts > 1 {
				first = often(p.Restarts) + " in mid-run, first before"
			}
			whys = append(whys, fmt.Sprintf("%s restarted %s %.1f s: %s", p.Name, first, float64(x.T)/1e9, resetWhy(x)))
			break
		}
	}
	switch {
	case restarts > 0:
		c.Result, c.Value, c.Why = ResultMiss, ref(float64(restarts)), join(whys, "; ")
	case starts:
		c.Result, c.Value, c.Why = ResultPass, ref(0), "process start times did not move"
		if len(resets) > 0 {
			c.Why += "; " + join(resets, "; ")
		}
	case counters:
		c.Result, c.Value, c.Why = ResultPass, ref(0), "no page tells when the server started; its counters never began anew"
	}
	return c
}

// scrapesMissing: the metrics pages were read throughout.
func (r *run) scrapesMissing() Check {
	c := Check{Name: "scrapes_missing", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(missingShare),
		Why: "no metrics pages were asked for (telemetry.metrics)",
		Do:  "look at the page with curl; its key (telemetry.metrics.api_key), its address and its interval are settings of each page; what the gaps hold is not known"}
	if r.pages == nil {
		return c
	}
	var worst float64
	var whys []string
	for i := range r.pages.Sources {
		s := &r.pages.Sources[i]
		v, why := 1.0, "never read"
		if s.Readings > 0 {
			v, why = r.gapShare(s)
		}
		if s.Readings == 0 && s.Failed > 0 {
			why = "never read in " + plural(s.Failed, "attempt")
		}
		if s.Example != "" && v > 0 {
			why += " (" + short(s.Example, 100) + ")"
		}
		worst = max(worst, v)
		if v > 0 || s.Failed > 0 || s.Missed > 0 {
			whys = append(whys, s.Name+": "+why)
		}
	}
	c.Value, c.Result, c.Why = &worst, ResultPass, plural(int64(len(r.pages.Sources)), "metrics page")+" read throughout"
	if len(whys) > 0 {
		c.Why = join(whys, "; ")
	}
	if worst >= missingShare {
		c.Result = ResultMiss
	}
	return c
}

// gapShare is the share of a page's time that lies in gaps, and what to say of it.
func (r *run) gapShare(s *ServerSource) (float64, string) {
	part := int64(0)
	if s.Part != nil {
		part = *s.Part
	}
	var length float64
	for _, p := range r.scrapes.Sources() {
		if p.Name == s.Name && p.Part == part {
			length = float64(r.pagesEnd(part)-p.Begin) / 1e9
		}
	}
	why := fmt.Sprintf("%s, %d failed", plural(s.Readings, "reading"), s.Failed)
	if s.Missed > 0 {
		why += fmt.Sprintf(", %s left out since the page took longer than the interval", plural(s.Missed, "tick"))
	}
	if s.GapsN == 0 || length <= 0 {
		return 0, why + ", no gap longer than two intervals"
	}
	why += fmt.Sprintf(", %s of %.1f s in all", plural(s.GapsN, "gap"), s.GapsS)
	if last := s.Gaps[len(s.Gaps)-1]; s.GapsN <= serverMost && s.ToS != nil && last.FromS >= *s.ToS {
		why += fmt.Sprintf(", none since %.1f s", *s.ToS)
	}
	return s.GapsS / length, why
}

// othersOnServer: the server did what this run asked of it, and nothing else. What
// the run can have caused is an upper bound, so that a miss is sure: every request
// of any phase that was in flight between the first reading and the last, with all
// its attempts and output tokens.
func (r *run) othersOnServer() Check {
	c := Check{Name: "others_on_server", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(othersShare),
		Why: "no metrics page counts requests or generated tokens",
		Do:  "others load this server too (users, health checks that generate, another client): have it for yourself, or read the numbers as those of a shared server"}
	if r.untimed() {
		return c
	}
	var worst float64
	var whys []string
	for _, p := range r.scrapes.Sources() {
		if len(p.Times) < 2 {
			continue
		}
		all := p.Cover([]scrape.Span{{From: p.Times[0], To: p.Times[len(p.Times)-1]}}, r.pace(p))
		requests, byRequests := all.Grown("requests")
		tokens, byTokens := all.Grown("generation_tokens")
		if !byRequests && !byTokens {
			continue
		}
		b := r.caused(p.Times[0], p.Times[len(p.Times)-1]+p.LastTook)
		var v float64
		var said []string
		judge := func(name string, counted, most float64) {
			said = append(said, fmt.Sprintf("counted %s %s, of this run at most %s", digits(counted), name, digits(most)))
			if counted > most {
				v = max(v, (counted-most)/counted)
			}
		}
		if byRequests {
			judge("requests", requests, b.requests)
		}
		if byTokens && b.tokensKnown {
			judge("generated tokens", tokens, b.tokens)
		}
		if len(said) == 0 {
			continue
		}
		why := fmt.Sprintf("%s %s, from %.1f to %.1f s", p.Name, join(said, "; "), float64(p.Times[0])/1e9, float64(p.Times[len(p.Times)-1])/1e9)
		if byRequests && b.within > 0 && requests < 0.9*b.within {
			why += fmt.Sprintf("; of this run's at least %s ended meanwhile: the page is of one of several servers, or of another", digits(b.within))
		}
		worst, whys = max(worst, v), append(whys, why)
	}
	if len(whys) == 0 {
		return c
	}
	c.Value, c.Result, c.Why = &worst, ResultPass, join(whys, ". ")
	if worst > othersShare {
		c.Result = ResultMiss
	}
	return c
}

// caused are bounds of what this run asked of a server.
type caused struct {
	requests    float64 // at most, attempts counted one by one
	within      float64 // at least: ok requests that began and ended inside
	tokens      float64 // output tokens at most
	tokensKnown bool    // false: some request has no bound
}

func (r *run) caused(from, to int64) caused {
	out := caused{tokensKnown: true}
	for i := range r.reqs {
		q, f := &r.reqs[i], &r.facts[i]
		if q.Released == metric.Absent || q.Released > to || q.End != metric.Absent && q.End < from {
			continue
		}
		choices := float64(max(1, int64(q.Choices), r.choicesAsked()))
		out.requests += float64(max(1, f.attempts)) * choices
		if q.OK && q.Released > from && q.End != metric.Absent && q.End <= to {
			out.within++
		}
		served := q.OK && q.Output != metric.Absent && (q.OutputSource == tape.SourceUsage || q.OutputSource == tape.SourceEngine)
		switch {
		case served && f.attempts <= 1:
			out.tokens += float64(q.Output)
		case q.Asked != metric.Absent:
			out.tokens += float64(max(q.Asked, q.Output)) * float64(max(1, f.attempts)) * choices
		case f.outcome == tape.OutcomeConnect, f.outcome == tape.OutcomeClient:
		default:
			out.tokensKnown = false
		}
	}
	return out
}
