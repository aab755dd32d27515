package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tokentape/tape"
)

// clientEnvelope: the load was no larger than what tokentape doctor had measured that
// this host's stamps are true for. It is no evidence that they are wrong here: the
// client's own is client_bound's.
func (r *run) clientEnvelope(res *Results) Check {
	c := Check{Name: "client_envelope", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(1.0),
		Why: "the envelope of the client's host was not known: tokentape doctor measures it, and later runs are held against it",
		Do:  "look at client wait and pacer lag (client_bound): the load was larger than this host was seen to carry; fewer streams, or several hosts and tokentape merge"}
	e := r.header.Envelope
	if e == nil {
		return c
	}
	peak, fastest := res.Load.ConcurrencyPeak, r.fastest()
	if peak == nil || fastest == 0 {
		c.Why = "nothing was streamed"
		return c
	}
	did := fmt.Sprintf("at most %s in flight and %s token events/s", plural(*peak, "request"), digits(fastest))
	most, _ := e.Most()
	room, ok := e.Room(*peak)
	switch {
	case most == 0:
		c.Result, c.Why = ResultMiss, fmt.Sprintf("%s; doctor saw this host hold no load at all, on %s", did, day(e))
		return c
	case !ok:
		c.Value = ref(float64(*peak) / float64(most))
		c.Result, c.Why = ResultMiss, fmt.Sprintf("%s; doctor saw this host carry %s, on %s", did, plural(most, "stream"), day(e))
		return c
	}
	c.Value = ref(fastest / room)
	c.Result, c.Why = ResultPass, fmt.Sprintf("%s; doctor saw this host carry %s/s with as many, on %s", did, digits(room), day(e))
	if fastest > room {
		c.Result = ResultMiss
	}
	return c
}

// day is the date on which an envelope was measured.
func day(e *tape.Envelope) string { return e.Measured[:min(len(e.Measured), len("2006-01-02"))] }

// fastest is the most token events of a second, of streams of any phase; each stream's
// events count as evenly spread between its first and its last. 0: none.
func (r *run) fastest() float64 {
	const second, longest = int64(1e9), int64(30 * 86400) // beyond a month it is no stamp
	// in holds what falls into a second, turn what every second from there on has more.
	in, turn := map[int64]float64{}, map[int64]float64{}
	for i := range r.reqs {
		q := &r.reqs[i]
		if !q.Streamed || q.TokenEvents < 1 || q.FirstToken < 0 || q.LastToken < q.FirstToken || q.LastToken/second > longest {
			continue
		}
		n, from, to := float64(q.TokenEvents), q.FirstToken/second, q.LastToken/second
		if from == to {
			in[from] += n
			continue
		}
		rate := n / float64(q.LastToken-q.FirstToken) // of a nanosecond
		in[from] += rate * float64((from+1)*second-q.FirstToken)
		in[to] += rate * float64(q.LastToken-to*second)
		turn[from+1] += rate * float64(second)
		turn[to] -= rate * float64(second)
	}
	for s := range turn {
		in[s] += 0
	}
	going, most := 0.0, 0.0
	for _, s := range slices.Sorted(maps.Keys(in)) {
		going += turn[s]
		most = max(most, going+in[s])
	}
	return math.Round(most)
}
