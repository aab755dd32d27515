package spec

import (
	"fmt"
	"math"
)

// Open reports whether requests (or sessions) are sent when due: by a rate, by
// stages of rates, or by the times of a trace. Otherwise the loop is closed.
func (l Load) Open() bool {
	return l.Rate > 0 || l.Arrivals == "replay" || len(l.Stages) > 0 && l.Stages[0].Rate > 0
}

// resolveStages fills what stages decide in place of other fields.
func (s *Spec) resolveStages() {
	l := &s.Load
	if len(l.Stages) == 0 {
		return
	}
	total, most := l.stages()
	if !s.wasSet("load.duration") {
		l.Duration = total
	}
	switch {
	case s.Workload.Sessions && !s.wasSet("load.session_concurrency"):
		l.SessionConcurrency = most
	case !s.Workload.Sessions && !s.wasSet("load.concurrency"):
		l.Concurrency = most
	}
}

// stages are the length and the largest concurrency of all stages.
func (l Load) stages() (total Duration, most int64) {
	for _, st := range l.Stages {
		if st.Duration > 0 && total <= maxDuration {
			total += st.Duration
		}
		most = max(most, st.Concurrency)
	}
	return total, most
}

// scheduleEffect lists which of the schedule's and the sessions' fields change
// nothing.
func (s *Spec) scheduleEffect(idle func(when bool, path, why, mend string)) {
	l, w := s.Load, s.Workload
	replay := l.Arrivals == "replay"
	const byTimes = "load.arrivals is replay: the timestamps of the rows say when"
	for _, path := range []string{"load.rate", "load.ramp.shape", "load.ramp.from", "load.ramp.duration", "load.stages"} {
		idle(replay, path, byTimes, "remove it, or load.arrivals: replay")
	}
	idle(replay && w.Order != "file", "workload.order", byTimes, "remove it")
	idle(replay && w.Repeat != "none", "workload.repeat", "load.arrivals is replay, which sends each row once", "remove it")
	idle(replay, "load.tail", "load.arrivals is replay: nothing comes after the trace", "remove it")
	for _, path := range []string{"load.replay.scale", "load.replay.from", "load.replay.to"} {
		idle(!replay, path, "load.arrivals is "+l.Arrivals, "load.arrivals: replay, or remove it")
	}

	if len(l.Stages) > 0 && !replay {
		const stages = "load.stages says how much and how long"
		for _, path := range []string{"load.rate", "load.duration", "load.ramp.shape", "load.ramp.from", "load.ramp.duration", "load.conditioned", "load.stagger"} {
			idle(true, path, stages, "remove it, or load.stages")
		}
		if !l.Open() {
			path := "load.concurrency"
			if w.Sessions {
				path = "load.session_concurrency"
			}
			idle(true, path, stages, "remove it, or load.stages")
		}
	}
	most, field := l.Concurrency, "load.concurrency"
	if w.Sessions {
		most, field = l.SessionConcurrency, "load.session_concurrency"
	}
	idle(l.Open(), "load.stagger", "it opens the slots of a closed loop, and here requests are sent when due", "remove it, or use load.ramp")
	idle(!l.Open() && most == 1, "load.stagger", field+" is 1: there is one slot", "make "+field+" larger, or remove it")
	idle(l.Ramp.Shape != "", "load.stagger", "load.ramp opens the slots", "keep one of the two")

	const asks = "workload.sessions is false: every row is one request"
	for _, path := range []string{"workload.history", "load.sessions", "load.session_concurrency", "load.think.kind", "load.think.mean", "target.session_header", "seeds.think"} {
		idle(!w.Sessions, path, asks, "workload.sessions: true, or remove it")
	}
	if w.Sessions {
		idle(true, "load.tail", "workload.sessions is true, and sessions have no tail", "remove it")
		idle(w.Dataset.Turns != "all", "workload.dataset.turns", "workload.sessions is true, which asks all turns", "remove it")
		idle(l.Think.Mean == 0, "load.think.kind", "load.think.mean is 0: there is no pause", "give load.think.mean, or remove it")
		idle(l.Think.Mean == 0 || l.Think.Kind == "fixed", "seeds.think", "no pause is drawn at random", "load.think: {kind: exponential, mean: 2s}, or remove it")
	}
}

// schedule checks replay, stages, stagger and think times, each by itself.
func (c *checker) schedule() {
	l := c.s.Load
	if v := l.Replay.Scale; !(v >= 1e-6 && v <= 1e6) {
		c.bad("load.replay.scale", "1 is the trace's own time, 0.5 twice as fast", "%v is out of range", v)
	}
	c.duration("load.replay.from", l.Replay.From)
	c.duration("load.replay.to", l.Replay.To)
	if l.Replay.To > 0 && l.Replay.To <= l.Replay.From {
		c.bad("load.replay.to", "later than load.replay.from", "%s is not after %s, so that no row is left", l.Replay.To, l.Replay.From)
	}
	c.duration("load.stagger", l.Stagger)
	c.duration("load.think.mean", l.Think.Mean)
	if len(l.Stages) > maxStages {
		c.bad("load.stages", "", "%d stages are more than %d", len(l.Stages), maxStages)
		return
	}
	total := 0.0
	for i, s := range l.Stages {
		path := fmt.Sprintf("load.stages[%d]", i)
		switch {
		case s.Rate == 0 && s.Concurrency == 0:
			c.bad(path, "{rate: 5, duration: 30s} or {concurrency: 20, duration: 30s}", "neither rate nor concurrency")
		case s.Rate != 0 && s.Concurrency != 0:
			c.bad(path, "keep one; load.concurrency caps what stages of rates have in flight", "both rate and concurrency")
		case (s.Rate > 0) != (l.Stages[0].Rate > 0):
			c.bad(path, "all stages are rates, or all are concurrencies", "load.stages[0] is of the other kind")
		case s.Concurrency < 0 || s.Concurrency > maxCount:
			c.bad(path+".concurrency", "", "%d is out of range", s.Concurrency)
		case s.Rate != 0 && !(s.Rate >= minRate && s.Rate <= maxRate):
			c.bad(path+".rate", fmt.Sprintf("from %v to %.0f requests per second", minRate, maxRate), "%v is out of range", s.Rate)
		}
		if s.Duration == 0 {
			c.bad(path+".duration", "such as 30s", "no length")
		} else {
			c.duration(path+".duration", s.Duration)
		}
		total += math.Max(0, float64(s.Duration))
	}
	if total > float64(maxDuration) {
		c.bad("load.stages", "", "all stages together are too long")
	}
}

// maxStages bounds load.stages; a finer curve is a trace.
const maxStages = 10_000

// sessionBounds refuses sessions that cannot be sent, or never end.
func (c *checker) sessionBounds() {
	s, l := c.s, c.s.Load
	api, known := FindAPI(s.Target.API)
	switch {
	case known && !api.Chat && s.Target.API != custom:
		c.bad("workload.sessions", "an API that takes messages, such as target.api: openai-chat", "target.api %s takes one prompt, not a conversation", s.Target.API)
	case s.Workload.Dataset.Format == "bodies" || len(s.Workload.Body) > 0:
		c.bad("workload.sessions", "rows with messages, or ShareGPT conversations", "whole request bodies cannot be continued")
	case l.Sessions == 0 && l.Requests == 0 && l.Duration == 0 && l.Arrivals != "replay":
		c.bad("load.sessions", "give load.sessions, load.requests or load.duration", "neither sessions, requests nor duration: the run would never end")
	case !l.Open() && l.SessionConcurrency == 0 && len(l.Stages) == 0:
		c.bad("load.session_concurrency", "1 or more", "no cap needs a rate")
	}
	if l.Sessions > 0 && l.Duration > 0 && len(l.Stages) == 0 {
		c.note("load.duration", "", "load.sessions %d and load.duration %s both bound the run: it ends with whichever comes first", l.Sessions, l.Duration)
	}
	if most := l.SessionConcurrency; most > 0 && l.Concurrency > most && s.given("load.concurrency") {
		c.note("load.concurrency", "", "%d is never reached: load.session_concurrency is %d, and a session has one request in flight", l.Concurrency, most)
	}
	if most := l.Sessions + l.Warmup; l.Sessions > 0 && l.SessionConcurrency > most && s.given("load.session_concurrency") {
		c.note("load.session_concurrency", "", "%d is never reached: there are %d sessions", l.SessionConcurrency, most)
	}
}
