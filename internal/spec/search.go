package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis/catalog"
)

// IsZero reports whether nothing is sought.
func (s Search) IsZero() bool { return s.For == "" }

// Field is the one that is sought.
func (s Search) Field() string { return "load." + s.For }

// sloNames are the limits of report.slo, each called as the value of a request that it
// limits.
var sloNames = []string{"ttft_ms", "ttft_from_due_ms", "tpot_ms", "itl_ms", "e2e_ms", "e2e_from_due_ms"}

// Conditions are those of slo on the results of a look; what is on requests is in
// report.slo of the look's own spec.
func (s Search) Conditions() (out []catalog.Condition) {
	for _, text := range s.SLO {
		if c, err := catalog.Parse(text); err == nil && !c.PerRequest() {
			out = append(out, c)
		}
	}
	return out
}

// search checks the section.
func (c *checker) search() {
	w := c.s.Search
	for _, f := range []struct{ path, value string }{{"search.goal", w.Goal}, {"search.prompts", w.Prompts}} {
		if all := choices()[f.path]; !slices.Contains(all, f.value) {
			message, hint := unknownChoice(f.value, all)
			c.bad(f.path, hint, "%s", message)
		}
	}
	c.duration("search.at_most", w.AtMost)
	c.duration("search.ramp", w.Ramp)
	if !(w.Share > 0 && w.Share < 1) {
		c.bad("search.share", "such as 0.95; that of all requests no number of them can prove", "%v is no share", w.Share)
	}
	if !(w.Precision >= 0.005 && w.Precision <= 1) {
		c.bad("search.precision", "from 0.005 to 1; 0.05 tells loads apart that differ by 5 %", "%v is out of range", w.Precision)
	}
	if w.MostLooks < 4 || w.MostLooks > 200 {
		c.bad("search.most_looks", "from 4 to 200", "%d is no number of looks", w.MostLooks)
	}
	if all := choices()["search.for"]; w.For != "" && !slices.Contains(all, w.For) {
		message, hint := unknownChoice(w.For, all)
		c.bad("search.for", hint, "%s", message)
		return
	}
	least, most, hint := minRate, maxRate, "requests per second"
	if w.For == "concurrency" {
		least, most, hint = 1, maxCount, "requests in flight"
	}
	if w.For != "" {
		for _, f := range []struct {
			path string
			v    float64
		}{{"search.from", w.From}, {"search.to", w.To}} {
			switch {
			case f.v == 0 && !c.s.given(f.path):
				c.bad(f.path, hint+", such as from: 1, to: 64", "is not given: a search needs the least and the most load")
			case !(f.v >= least && f.v <= most):
				c.bad(f.path, fmt.Sprintf("%s from %v to %.0f", hint, least, most), "%v is out of range", f.v)
			case w.For == "concurrency" && f.v != math.Round(f.v):
				c.bad(f.path, "a whole number", "%v requests cannot be in flight", f.v)
			}
		}
		if w.From > 0 && w.To > 0 && w.From >= w.To {
			c.bad("search.to", "more than search.from", "%v is not above search.from, which is %v", w.To, w.From)
		}
	}
	c.searchSLO()
}

// searchSLO checks the limits: each can be read and decided, and stands once.
func (c *checker) searchSLO() {
	w := c.s.Search
	if len(w.SLO) > maxConditions {
		c.bad("search.slo", fmt.Sprintf("at most %d", maxConditions), "%d conditions are too many", len(w.SLO))
		return
	}
	limits := map[string]string{} // on requests, by what they limit
	for i, text := range w.SLO {
		path := fmt.Sprintf("search.slo[%d]", i)
		cond, err := catalog.Parse(text)
		syntax, bad := err.(*catalog.SyntaxError)
		switch {
		case bad:
			c.issues = append(c.issues, conditionIssue(c.s.where(path), path, text, syntax))
		case slices.Contains(w.SLO[:i], text):
			c.bad(path, "keep one", "%s is given twice", clip(text))
		case cond.Number == nil:
			c.bad(path, "expect: holds conditions of other kinds", "%s is no limit on a number", clip(text))
		case cond.PerRequest() && (!slices.Contains(sloNames, cond.Name) || cond.Op != "<" && cond.Op != "<=" || !(*cond.Number > 0)):
			c.bad(path, "an upper limit of "+strings.Join(sloNames, ", "), "%s is no limit that report.slo knows", clip(text))
		case cond.PerRequest() && c.s.given("report.slo."+cond.Name):
			c.bad(path, "keep one", "report.slo.%s is given, too", cond.Name)
		case cond.PerRequest() && limits[cond.Name] != "":
			c.bad(path, "keep one", "%s limits what %s limits", clip(text), clip(limits[cond.Name]))
		case cond.Window != "" && !slices.Contains(catalog.WindowKinds, cond.Window) && !OwnWindow(cond.Window):
			c.bad(path, windowHint, "there can be no window %s", clip(cond.Window))
		}
		if !bad && cond.PerRequest() {
			limits[cond.Name] = text
		}
	}
}

// searchEffect lists which of the section's fields change nothing.
func (s *Spec) searchEffect(idle func(when bool, path, why, mend string)) {
	w := s.Search
	for _, name := range []string{"from", "to", "slo", "share", "goal", "precision", "most_looks", "at_most", "ramp", "prompts"} {
		idle(w.IsZero(), "search."+name, "search.for says nothing to look for", "search.for: rate or concurrency, or remove it")
	}
}

// checkSearch is what checkTogether is to a run. What the looks are like is checked
// look by look, since a part of it is given by them.
func (s *Spec) checkSearch() []Issue {
	c := &checker{s: s}
	w, l := s.Search, s.Load
	switch {
	case !s.Sweep.IsZero():
		c.bad("search.for", "keep one of sweep and search", "sweep.over is given, too")
	case l.Arrivals == "replay":
		c.bad("load.arrivals", "constant, poisson or gamma", "a search gives load.%s, and replay takes the times of a trace", w.For)
	case len(l.Stages) > 0:
		c.bad("load.stages", "remove them", "a search gives load.%s", w.For)
	case s.Workload.Sessions:
		c.bad("workload.sessions", "tokentape sweep, over load.rate or load.session_concurrency", "sessions cannot be searched: how many requests a look has depends on their turns")
	case l.Ramp.Shape != "":
		c.bad("load.ramp.shape", "load.warmup takes the start out of a look", "a look is at one load from its beginning")
	case w.For == "concurrency" && l.Rate > 0:
		c.bad("search.for", "search.for: rate, or leave load.rate out", "load.rate is given: there is no closed loop")
	case w.For == "rate" && s.given("load.rate"):
		c.bad("load.rate", "remove it", "the search gives it")
	case w.For == "concurrency" && s.given("load.concurrency"):
		c.bad("load.concurrency", "remove it", "the search gives it")
	case !s.given("load.requests") && !s.given("load.duration"):
		c.bad("load.requests", "load.requests: 1000 or load.duration: 60s", "neither requests nor duration: how long is one look?")
	}
	for _, f := range []string{"sweep.requests", "sweep.until", "sweep.order", "sweep.repeats", "sweep.prompts", "sweep.most_points", "sweep.expected"} {
		if s.given(f) {
			c.bad(f, "remove it; sweep.pause and sweep.between alone hold between two looks, too", "has no effect: a search has looks, and no points of a sweep")
		}
	}
	slo := s.Report.SLO != SLO{}
	for _, text := range w.SLO {
		if cond, err := catalog.Parse(text); err == nil && cond.PerRequest() {
			slo = true
		}
	}
	switch {
	case w.Goal == "goodput" && !slo:
		c.bad("search.goal", "search.slo: [ttft_ms < 500, tpot_ms < 30], or report.slo", "goodput are requests that keep limits, and there are none on requests")
	case w.Goal == "goodput" && len(w.Conditions()) > 0:
		c.bad("search.slo", "limits on requests alone, such as ttft_ms < 500", "a condition on results is no part of goodput")
	case w.Goal == "highest" && !slo && len(w.SLO) == 0:
		c.bad("search.slo", "search.slo: [ttft_ms < 500], or [steady.ttft_ms.p95 < 2000], or report.slo", "no limit is given: every load would hold")
	case w.Goal == "goodput" && s.given("search.share"):
		c.bad("search.share", "remove it", "has no effect: goodput counts requests, it requires no share")
	case !slo && s.given("search.share"):
		c.bad("search.share", "remove it, or give report.slo", "has no effect: no limit is on requests")
	}
	return c.issues
}

// LookAt is what a look of a search gives.
type LookAt struct {
	At    float64 // load
	Times float64 // length, in looks of the declared length
	Seed  int64
	// Ramp are rising loads in place of At, in equal parts of search.ramp.
	Ramp []float64
}

// lookOrigin is that of what a search gives its looks.
const lookOrigin = "search"

// LookSets are the assignments of one look, for ReadPoint: an ordinary run of its own
// load, length, seed and limits.
func (s *Spec) LookSets(l LookAt) []PointSet {
	w := s.Search
	var sets []PointSet
	give := func(path, value string) {
		sets = append(sets, PointSet{Set: Set{Path: path, Value: value, Origin: lookOrigin}})
	}
	expect := slices.Clone(s.Expect)
	for _, text := range w.SLO {
		c, err := catalog.Parse(text)
		switch {
		case err != nil || c.Number == nil:
		case c.PerRequest():
			give("report.slo."+c.Name, plainText(*c.Number))
		case !slices.Contains(expect, text):
			expect = append(expect, text)
		}
	}
	if len(expect) > len(s.Expect) {
		give("expect", flow(expect))
	}
	give("seeds.run", strconv.FormatInt(l.Seed, 10))
	if len(l.Ramp) > 0 {
		var stages []string
		for _, at := range l.Ramp {
			stages = append(stages, fmt.Sprintf("{%s: %s, duration: %s}", w.For, plainText(at), w.Ramp/Duration(len(l.Ramp))))
		}
		give("load.requests", "none")
		give("load.duration", "none")
		give("load.stages", "["+strings.Join(stages, ", ")+"]")
		return sets
	}
	give(w.Field(), plainText(l.At))
	if s.Load.Requests > 0 && s.given("load.requests") {
		give("load.requests", strconv.FormatInt(max(1, int64(math.Round(float64(s.Load.Requests)*l.Times))), 10))
	}
	if s.Load.Duration > 0 {
		give("load.duration", Duration(math.Round(float64(s.Load.Duration)*l.Times)).String())
	}
	return sets
}
