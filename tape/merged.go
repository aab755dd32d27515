package tape

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Merged says of what tapes a tape was made. Parts are in the order of their
// anchors, whatever the order in which they were given; a tape that was itself
// merged is its own parts here, so that nothing is nested.
type Merged struct {
	Parts []Part `json:"parts"`
	// Forced is what makes the runs unlike, in words; they were merged all the same.
	Forced []string `json:"forced,omitempty"`
}

// Part is one tape of a merged one. Times of its lines are those of its own tape
// + Shift, seq is its own + Seq (of preparation: + Prepare), conn.id its own + Conn.
type Part struct {
	SHA256  string `json:"tape_sha256"` // of its own tape
	Shift   int64  `json:"shift_ns"`    // from its epoch to that of the merged tape, at least 0
	Group   int64  `json:"group"`       // parts that ran at the same time are of one group, from 0 in order of time
	Seq     int64  `json:"seq"`
	Prepare int64  `json:"prepare"`
	Conn    int64  `json:"conn"`
	// From and To are its first release and its last end, of all phases, by the
	// merged clock; absent where nothing was released.
	From   Opt[int64] `json:"t_from,omitzero"`
	To     Opt[int64] `json:"t_to,omitzero"`
	Faults int64      `json:"faults"`          // places where its tape is not as it was written
	Fault  string     `json:"fault,omitempty"` // the first of them
	Header Header     `json:"header"`          // its own
	Footer *Footer    `json:"footer,omitempty"`
}

// move takes rec from the numbers of one part to those of another, or of no
// merged tape: from and to may be nil, which stands for a tape by itself. to is
// the part's index in the new tape, absent for none.
func move(rec Record, from, to *Part, index Opt[int64]) {
	var zero Part
	from, to = cmp.Or(from, &zero), cmp.Or(to, &zero)
	shift := to.Shift - from.Shift
	switch q := rec.(type) {
	case *Request:
		q.Part = index
		if q.Seq >= PrepareSeq {
			q.Seq += to.Prepare - from.Prepare
		} else {
			q.Seq += to.Seq - from.Seq
		}
		if q.Conn != nil && q.Conn.ID > 0 {
			q.Conn.ID += to.Conn - from.Conn
		}
		for _, t := range []*Opt[int64]{&q.TDue, &q.TReady, &q.TReleased, &q.TConn, &q.TWroteFirst, &q.TWrote, &q.THeaders,
			&q.TFirstEvent, &q.TFirstToken, &q.TFirstVisible, &q.TLastToken, &q.TEnd} {
			later(t, shift)
		}
		for i := range q.AttemptLog {
			later(&q.AttemptLog[i].TReleased, shift)
			later(&q.AttemptLog[i].TEnd, shift)
		}
	case *Capabilities:
		q.Part = index
	case *ClientSample:
		q.Part = index
		q.T += shift
	case *Scrape:
		q.Part = index
		q.T += shift
	case *ServerFacts:
		q.Part = index
		q.T += shift
	case *Example:
		q.Part = index
		q.T += shift
		if q.Seq >= PrepareSeq {
			q.Seq += to.Prepare - from.Prepare
		} else {
			q.Seq += to.Seq - from.Seq
		}
	case *Call:
		q.Part = index
		q.T, q.TEnd = q.T+shift, q.TEnd+shift
	case *Step:
		q.Part = index
		later(&q.T, shift)
		if q.Request.OK {
			q.Request.V += to.Prepare - from.Prepare
		}
	}
}

func later(t *Opt[int64], shift int64) {
	if t.OK {
		t.V += shift
	}
}

// partOf is the part that a record says it is of.
func partOf(rec Record) Opt[int64] {
	switch q := rec.(type) {
	case *Request:
		return q.Part
	case *Capabilities:
		return q.Part
	case *ClientSample:
		return q.Part
	case *Scrape:
		return q.Part
	case *ServerFacts:
		return q.Part
	case *Example:
		return q.Part
	case *Call:
		return q.Part
	case *Step:
		return q.Part
	}
	return Opt[int64]{}
}

// The years in which a run can have been. A clock that was never set says 1970.
const (
	firstYear = 1990
	lastYear  = 2200
)

// wall is the anchor as a time. Error: it is missing, cannot be read, or no time of a
// run.
func (a Anchor) wallTime() (time.Time, error) {
	if a.Wall == "" {
		return time.Time{}, fmt.Errorf("does not say when it began (its header has no anchor.wall)")
	}
	t, err := time.Parse(time.RFC3339Nano, a.Wall)
	if err != nil {
		return t, fmt.Errorf("says that it began at %q (anchor.wall), which is no time (RFC 3339)", clip(a.Wall))
	}
	if y := t.UTC().Year(); y < firstYear || y > lastYear {
		return t, fmt.Errorf("says that it began in the year %d (anchor.wall %s): the clock of that machine was not set", y, clip(a.Wall))
	}
	if a.Machine < 0 {
		return t, fmt.Errorf("says that its machine's clock stood at %d ns (anchor.machine_ns), below 0", a.Machine)
	}
	return t, nil
}

// clip bounds what is shown of a value.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

// group numbers parts: those whose times overlap, one after the other, are one
// group.
func group(parts []*source) {
	order := slices.Clone(parts)
	begin := func(p *source) int64 { return p.From.Or(p.Shift) }
	slices.SortStableFunc(order, func(a, b *source) int { return cmp.Compare(begin(a), begin(b)) })
	n, end := int64(-1), int64(0)
	for i, p := range order {
		if to := p.To.Or(begin(p)); i == 0 || begin(p) >= end {
			n++
			end = to
		} else {
			end = max(end, to)
		}
		p.Group = n
	}
}
