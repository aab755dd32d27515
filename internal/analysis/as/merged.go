package as

import (
	"fmt"
	"math"

	"tokentape/tape"
)

// gaps are the times without any run on a merged tape, which no other tool knows:
// they are cut out, as if each run had begun when the one before had ended.
type gaps struct {
	runs int64
	cut  []int64 // by part: ns of them before it
}

// newGaps finds them; of a tape that is not merged there are none.
func newGaps(m *tape.Merged) gaps {
	if m == nil {
		return gaps{}
	}
	var g gaps
	for _, p := range m.Parts {
		g.runs = max(g.runs, p.Group+1)
	}
	g.cut = make([]int64, len(m.Parts))
	sum, end := int64(0), int64(math.MinInt64)
	for group := range g.runs { // in order of time
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, p := range m.Parts {
			if p.Group == group && p.From.OK {
				from, to = min(from, p.From.V), max(to, p.To.V)
			}
		}
		if from > to { // nothing was released
			continue
		}
		if end != math.MinInt64 {
			sum += max(0, from-end)
		}
		end = to
		for i, p := range m.Parts {
			if p.Group == group {
				g.cut[i] = sum
			}
		}
	}
	return g
}

// before is how much of the tape's time is cut out before the lines of a part.
func (g gaps) before(part tape.Opt[int64]) int64 {
	if !part.OK || part.V < 0 || part.V >= int64(len(g.cut)) {
		return 0
	}
	return g.cut[part.V]
}

// last is how much is cut out in all.
func (g gaps) last() (most int64) {
	for _, c := range g.cut {
		most = max(most, c)
	}
	return most
}

// caveat says what was cut out; empty: nothing.
func (g gaps) caveat() string {
	if g.runs < 2 {
		return ""
	}
	return fmt.Sprintf("The tape was merged from %d runs, or groups of runs, one after the other. It knows of no time between runs: %.3f s without any are cut out, and the runs follow each other here.", g.runs, float64(g.last())/1e9)
}

// earlier moves the stamps of a request.
func (q *Request) earlier(d int64) {
	if d == 0 {
		return
	}
	for _, t := range []*tape.Opt[int64]{&q.Due, &q.Ready, &q.Released, &q.Conn, &q.WroteFirst, &q.Wrote, &q.Headers,
		&q.FirstEvent, &q.FirstToken, &q.FirstVisible, &q.LastToken, &q.End, &q.LastReleased} {
		if t.OK {
			t.V -= d
		}
	}
}
