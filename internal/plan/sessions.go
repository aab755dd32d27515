package plan

import (
	"fmt"

	"tokentape/internal/spec"
)

// Kinds of think time.
const (
	thinkFixed       = "fixed"
	thinkUniform     = "uniform"
	thinkExponential = "exponential"
)

// talk is what a row of a session has beside a row of its own.
type talk struct {
	session int64 // from 1
	turn    int
	think   int64
}

// sessions takes from the load what sessions need.
func (q *Params) sessions(load spec.Load, seeds spec.Seeds) {
	q.Sessions, q.Requests, q.Turns, q.SessionConcurrency = true, load.Sessions, load.Requests, load.SessionConcurrency
	if load.Think.Mean == 0 {
		return
	}
	if q.Think, q.ThinkMean = load.Think.Kind, int64(load.Think.Mean); q.Think == "" {
		q.Think = thinkFixed
	}
	if q.Think != thinkFixed {
		q.ThinkSeed = seeds.Run
		if seeds.Think != nil {
			q.ThinkSeed = *seeds.Think
		}
	}
}

func (q Params) checkSessions() error {
	switch {
	case q.Turns < 0 || q.Turns > MaxRows:
		return issue("load.requests", "", "%d is not between 1 and %d", q.Turns, MaxRows)
	case !q.Sessions && (q.Turns != 0 || q.SessionConcurrency != 0 || q.Think != "" || q.ThinkMean != 0):
		return issue("workload.sessions", "", "session settings without sessions have no effect")
	case q.ThinkMean < 0 || q.ThinkMean > maxDue:
		return issue("load.think.mean", "", "%s is no pause", seconds(q.ThinkMean))
	case (q.ThinkMean > 0) != (q.Think != ""):
		return issue("load.think", "", "kind and mean go together")
	}
	switch q.Think {
	case "", thinkFixed, thinkUniform, thinkExponential:
		return nil
	}
	return issue("load.think.kind", "", "%q is not fixed, uniform or exponential", q.Think)
}

// pauses draws think times in nanoseconds.
func (q Params) pauses() func() int64 {
	mean := float64(q.ThinkMean)
	r := newRNG(q.ThinkSeed, "think")
	switch q.Think {
	case thinkUniform: // from 0 to 2·mean
		return func() int64 { return min(int64(float64(2*mean)*r.uniform()+0.5), maxDue) }
	case thinkExponential:
		return func() int64 { return min(int64(float64(-mean*ln(r.uniform()))+0.5), maxDue) }
	}
	return func() int64 { return q.ThinkMean }
}

// Sessions is the number of sessions, warm-up included; 0 for a plan without, and
// for a generator.
func (p *Plan) Sessions() int64 {
	if len(p.talks) == 0 {
		return 0
	}
	return p.talks[len(p.talks)-1].session
}

// addTalk checks the session fields of a row that was read against the row above.
func (p *Plan) addTalk(r Row) error {
	var above talk
	n := len(p.talks)
	if n > 0 {
		above = p.talks[n-1]
	}
	switch {
	case r.Turn == 0 && (r.Session != above.session+1 || r.Think != 0):
		return fmt.Errorf("turn 0 of session %d (think %d) does not begin session %d", r.Session, r.Think, above.session+1)
	case r.Turn > 0 && (n == 0 || r.Session != above.session || r.Turn != above.turn+1 || r.Item != p.rows[n-1].item):
		return fmt.Errorf("turn %d of session %d (item %d) does not follow turn %d of session %d", r.Turn, r.Session, r.Item, above.turn, above.session)
	case r.Turn < 0 || r.Think < 0 || r.Think > maxDue:
		return fmt.Errorf("turn %d, think %d: neither can be", r.Turn, r.Think)
	}
	p.talks = append(p.talks, talk{r.Session, r.Turn, r.Think})
	return nil
}
