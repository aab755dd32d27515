package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tokentape/internal/resource"
	"tokentape/tape"
)

// Planned is the load of a spec, as far as it tells before a server was asked.
type Planned struct {
	Streams int64   // most requests at once; 0: not known
	Events  float64 // tokens/s of all of them; 0: not known
	How     string  // the two came about
	Need    resource.Need
}

// Carry holds a planned load against the machine and its envelope, nil for none.
func Carry(p Planned, k *Kept, m resource.Machine) []Item {
	return []Item{carryResources(p, m), carryEnvelope(p, k)}
}

func carryResources(p Planned, m resource.Machine) Item {
	i := Item{Name: "plan_resources", Verdict: OK, Value: "descriptors, local ports and memory suffice", How: "what the plan needs against what there is, as every run does before it begins"}
	notes, err := resource.Check(p.Need, m)
	var r *resource.Refusal
	switch {
	case errors.As(err, &r):
		i.Verdict, i.Value, i.Do = Short, strings.Join(r.Why, "; "), strings.Join(r.Hint, "; ")
	case err != nil:
		return absent(i.Name, err.Error(), i.How)
	case len(notes) > 0:
		i.Verdict, i.Value = Note, strings.Join(notes, "; ")
	}
	return i
}

func carryEnvelope(p Planned, k *Kept) Item {
	how := "the plan's streams and tokens/s against the envelope; " + p.How
	if p.Streams == 0 && p.Events == 0 {
		return absent("plan_envelope", "neither how many streams nor how many tokens/s are known: "+p.How, how)
	}
	if k == nil {
		i := absent("plan_envelope", "the envelope of this host is not known", how)
		i.Do = "tokentape doctor, without --no-envelope, measures it"
		return i
	}
	i := Item{Name: "plan_envelope", Verdict: OK, How: how}
	i.Value = fmt.Sprintf("%s, %s; by the envelope of %s", streams(p.Streams), events(p.Events), k.Of())
	over, limit := Beyond(&k.Envelope, p.Streams, p.Events)
	i.Limit = limit
	return i.judge(!over, Short, "fewer streams (load.concurrency) or a lower load.rate, a faster or quieter host, or several hosts whose tapes tokentape merge puts together")
}

// Beyond reports whether a load lies beyond the envelope, and up to what that goes.
// Where one of the two is 0, not known, the other one decides.
func Beyond(e *tape.Envelope, n int64, perSecond float64) (over bool, limit string) {
	most, fastest := e.Most()
	if most == 0 {
		return true, "no load was held"
	}
	room, ok := e.Room(n)
	if !ok {
		return true, streams(most)
	}
	if limit = events(room); n > 0 {
		limit += " with " + streams(n)
	}
	if fastest > room {
		limit += fmt.Sprintf(", %s with fewer", events(fastest))
	}
	return perSecond > room, limit
}

func streams(n int64) string {
	if n == 0 {
		return "streams not known"
	}
	return plural(n, "stream")
}

func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func events(perSecond float64) string {
	if perSecond == 0 {
		return "tokens/s not known"
	}
	return fmt.Sprintf("%.0f tokens/s", perSecond)
}

// Envelope is the item of what was measured; nil: nothing was, and why. fresh: just now.
func Envelope(k *Kept, fresh bool, why string) Item {
	const how = "streams of the built-in server in another process of this host, one token an event, each on deadlines of its own: the client's stamps less the moments just before the server's writes, 99th percentile over 90 % or more of the events asked for; twice where it was too much"
	if k == nil || len(k.Envelope.Points) == 0 {
		i := absent("envelope", why, how)
		i.Do = "tokentape doctor measures it"
		return i
	}
	e, of := &k.Envelope, k.how()
	i := Item{Name: "envelope", How: how, Limit: "p99 stamp error " + round(time.Duration(e.Limit))}
	if !fresh {
		of = "measured " + k.Of()
	}
	const mend = "end what else runs here, and measure again: tokentape doctor"
	most, fastest := e.Most()
	if most == 0 {
		p := e.Points[0]
		i.Value = fmt.Sprintf("not even %s at %g tokens/s each: p99 error %s, %.0f events/s came; %s", streams(p.Streams), p.Rate, round(time.Duration(p.Error)), p.Events, of)
		return i.judge(false, Note, mend)
	}
	var each []string
	all := true // rates at which some load held
	for at := 0; at < len(e.Points); {
		rate := e.Points[at].Rate
		var held, failed *tape.EnvelopePoint
		for ; at < len(e.Points) && e.Points[at].Rate == rate; at++ {
			switch p := &e.Points[at]; {
			case p.Held:
				held = p
			case failed == nil || failed.Streams < streamsOf(held):
				failed = p
			}
		}
		if held == nil {
			all = false
			each = append(each, fmt.Sprintf("at %g tokens/s not even %s (%s)", rate, streams(failed.Streams), failure(failed, e.Limit)))
			continue
		}
		text := fmt.Sprintf("%s at %g tokens/s (%.0f/s in all, p99 error %s)", streams(held.Streams), rate, held.Events, round(time.Duration(held.Error)))
		if failed != nil && failed.Streams > held.Streams {
			text += fmt.Sprintf(", not %d (%s)", failed.Streams, failure(failed, e.Limit))
		} else {
			text += ", more was not tried"
		}
		each = append(each, text)
	}
	i.Value = strings.Join(append(each, of), "; ")
	return i.number(fastest, "events/s").judge(all, Note, "tokens may come no quicker than at the rate that held, or "+mend)
}

// failure is why a load did not hold: its stamps were too far off, or too little came.
func failure(p *tape.EnvelopePoint, limit int64) string {
	if p.Error > limit {
		return "p99 error " + round(time.Duration(p.Error))
	}
	return fmt.Sprintf("%.0f of %.0f/s came", p.Events, float64(p.Streams)*p.Rate)
}

func streamsOf(p *tape.EnvelopePoint) int64 {
	if p == nil {
		return 0
	}
	return p.Streams
}
