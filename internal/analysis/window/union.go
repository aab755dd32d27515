package window

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"tokentape/internal/analysis/metric"
)

// Span is one stretch of a window: (From, To], with starts of the cohort in [From,
// CohortTo].
type Span struct{ From, To, CohortTo int64 }

// Length is To − From in nanoseconds.
func (s Span) Length() int64 { return s.To - s.From }

// Each are the stretches of the window, one unless it is a union.
func (w *Interval) Each() []Span {
	if w.Spans == nil {
		return []Span{{w.From, w.To, w.CohortTo}}
	}
	return w.Spans
}

// Length is that of all stretches in nanoseconds: what lies between them is no time
// of the window.
func (w *Interval) Length() int64 {
	var sum int64
	for _, s := range w.Each() {
		sum += s.Length()
	}
	return sum
}

// Holds reports whether t is in (From, To] of a stretch.
func (w *Interval) Holds(t int64) bool {
	for _, s := range w.Each() {
		if s.From < t && t <= s.To {
			return true
		}
	}
	return false
}

// Starts reports whether a request that starts at t belongs to the window: t is in
// [From, CohortTo] of a stretch.
func (w *Interval) Starts(t int64) bool {
	for _, s := range w.Each() {
		if s.From <= t && t <= s.CohortTo {
			return true
		}
	}
	return false
}

// Place is how much of the window lies before t, in nanoseconds.
func (w *Interval) Place(t int64) int64 {
	var sum int64
	for _, s := range w.Each() {
		sum += max(0, min(t, s.To)-s.From)
	}
	return sum
}

// Slice is the i-th of n parts of equal length: several stretches where it reaches
// over a border.
func (w *Interval) Slice(i, n int) []Span {
	d := w.Length()
	from, to := d*int64(i)/int64(n), d*int64(i+1)/int64(n)
	var out []Span
	at := int64(0)
	each := w.Each()
	for _, s := range each {
		a, b := max(from-at, 0), min(to-at, s.Length())
		if a < b || len(each) == 1 {
			out = append(out, Span{From: s.From + a, To: s.From + b})
		}
		at += s.Length()
	}
	return out
}

// Group are runs that went on at the same time: reqs[From:To], and the load that
// they were together. A run by itself is a group of one.
type Group struct {
	From, To int
	Load     Load
}

// ChooseOver makes the window of a kind over runs one after the other: chosen in
// each group by itself, and united. Requests of a group follow each other in reqs,
// and groups are in order of time.
func ChooseOver(kind string, reqs []metric.Request, groups []Group) Interval {
	if len(groups) == 1 {
		return Choose(kind, reqs, groups[0].Load)
	}
	out := Interval{Kind: kind, From: math.MaxInt64, To: math.MinInt64, CohortTo: math.MinInt64}
	var whys, none []reason
	do := ""
	for k, g := range groups {
		own := reqs[g.From:g.To]
		w := Choose(kind, own, g.Load)
		if w.OK && strings.HasPrefix(kind, prefixSeconds) {
			w.begin(own)
		}
		if !w.OK {
			none = append(none, reason{k + 1, w.Why})
			do = cmp.Or(do, w.Do)
			out.leaveMore(part{released(own), "of runs without such a window"})
			continue
		}
		out.OK, out.ByEvents = true, w.ByEvents
		out.From, out.To, out.CohortTo = min(out.From, w.From), max(out.To, w.To), max(out.CohortTo, w.CohortTo)
		out.Spans = append(out.Spans, w.Each()...)
		for _, i := range w.Cohort {
			out.Cohort = append(out.Cohort, g.From+i)
		}
		out.leaveMore(w.left...)
		whys = append(whys, reason{k + 1, w.Why})
	}
	if !out.OK {
		return Interval{Kind: kind, Why: few(none), Do: do}
	}
	out.leave(out.left...)
	out.Why = fmt.Sprintf("of %d runs one after the other, or groups of runs that overlapped, chosen in each by itself and united; the time between is in no rate: %s", len(groups), few(whys))
	if len(none) > 0 {
		out.Why += "; none in: " + few(none)
	}
	return out
}

// begin lets a window of seconds begin with the first release of its run: before it
// nothing was there to be measured.
func (w *Interval) begin(own []metric.Request) {
	first := int64(math.MaxInt64)
	for i := range own {
		if own[i].Released != metric.Absent {
			first = min(first, own[i].Released)
		}
	}
	if w.From = max(w.From, first-1); w.To <= w.From {
		*w = Interval{Kind: w.Kind, Why: "the run began after it"}
	}
}

// leaveMore adds to what is left out, by reason.
func (w *Interval) leaveMore(more ...part) {
next:
	for _, p := range more {
		for i := range w.left {
			if w.left[i].why == p.why {
				w.left[i].n += p.n
				continue next
			}
		}
		w.left = append(w.left, p)
	}
}

func released(reqs []metric.Request) int {
	n := 0
	for i := range reqs {
		if reqs[i].Released != metric.Absent {
			n++
		}
	}
	return n
}

// reason is why a group, counted from 1, has its window or has none.
type reason struct {
	group int
	why   string
}

// few joins reasons: one where all are alike, else the first three.
func few(all []reason) string {
	const most = 3
	alike := true
	var texts []string
	for i, r := range all {
		alike = alike && r.why == all[0].why
		if i < most {
			texts = append(texts, fmt.Sprintf("[%d] %s", r.group, r.why))
		}
	}
	if n := len(all) - most; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	if alike && len(all) > 1 {
		return "in each " + all[0].why
	}
	return strings.Join(texts, "; ")
}
