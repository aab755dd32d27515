package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// bound is a setting that ends a run.
type bound struct {
	field, value string
	met          bool
}

// bounds are all that bound the plan; met says which of them ended it, when it ended
// by itself, or by time.
func (p *Plan) bounds(timeUp bool) []bound {
	q := p.Params
	var out []bound
	add := func(field string, want, have int64, whole bool) {
		if want > 0 {
			out = append(out, bound{field, strconv.FormatInt(want, 10), !timeUp && have == want && whole})
		}
	}
	if q.Sessions {
		add("load.sessions", q.Requests, p.measuredSessions(), !p.cut)
		add("load.requests", q.Turns, p.Planned(), true)
	} else {
		add("load.requests", q.Requests, p.Planned(), true)
	}
	if q.Duration > 0 {
		field := "load.duration"
		if len(q.Stages) > 0 {
			field = "load.stages"
		}
		met := timeUp || q.Open()
		for _, b := range out {
			met = met && !b.met
		}
		out = append(out, bound{field, seconds(q.Duration), met})
	}
	return out
}

// measuredSessions is the number of sessions of which a turn is measured; 0 for a
// generator.
func (p *Plan) measuredSessions() int64 {
	n := p.Sessions()
	if n > 0 && p.warmup > 0 {
		n -= p.talks[p.warmup-1].session
	}
	return max(n, 0)
}

// Ended says which of several bounds ended the run, and which were never reached; ""
// where there is one alone. timeUp: time ended it while rows were left.
func (p *Plan) Ended(timeUp bool) string {
	all := p.bounds(timeUp)
	if len(all) < 2 {
		return ""
	}
	var met, never []string
	for _, b := range all {
		if b.met {
			met = append(met, b.field+" "+b.value)
		} else {
			never = append(never, b.field+" "+b.value)
		}
	}
	if len(met) == 0 { // replay ends with its trace
		return join(never) + " never reached"
	}
	text := join(met) + " ended the run"
	if len(never) > 0 {
		text += "; " + join(never) + " never reached"
	}
	return text
}

func join(parts []string) string { return strings.Join(parts, " and ") }

// NeverReached are caps that the plan's rows keep the run from reaching, a sentence
// each.
func (p *Plan) NeverReached() []string {
	if p.Kind == KindGenerator {
		return nil
	}
	q := p.Params
	var out []string
	for _, b := range p.bounds(false) {
		if b.met || b.field != "load.sessions" && b.field != "load.requests" {
			continue
		}
		why := ""
		switch s, n := p.measuredSessions(), p.Planned(); {
		case q.Sessions && b.field == "load.sessions" && n == q.Turns:
			why = fmt.Sprintf("load.requests %d ends the run in session %d", q.Turns, s)
		case q.Sessions && s == q.Requests:
			why = fmt.Sprintf("load.sessions %d ends the run after %s", s, count(n, "request"))
		case q.Arrivals == replay:
			why = fmt.Sprintf("the trace has %d within load.replay", n)
		case b.field == "load.sessions":
			why = fmt.Sprintf("%d fall within load.duration %s", s, seconds(q.Duration))
		default:
			why = fmt.Sprintf("%d fall within load.duration %s", n, seconds(q.Duration))
		}
		out = append(out, b.field+" "+b.value+" is never reached: "+why)
	}
	return out
}
