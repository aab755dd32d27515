package analysis

import (
	"fmt"
	"slices"

	"tokentape/internal/analysis/stat"
)

// byChance is the probability below which failures are said to lie together.
const byChance = 0.001

// lie says when the failures of a class came, and what they have in common.
func (w *why) lie(c *whyClass, f *Failure) {
	s := w.seen
	var at []int // of the class, among all ends in order of release
	for i := range s.ends {
		if s.ends[i].class == c {
			at = append(at, i)
		}
	}
	if len(at) == 0 { // retried attempts alone
		f.InTime = "not observed: only attempts that were followed by another ended so"
		return
	}
	if !w.run.untimed() {
		f.First, f.Last = w.moment(s.ends[at[0]]), w.moment(s.ends[at[len(at)-1]])
	}
	f.InTime = w.inTime(at)
	f.ByConnection = w.byConnection(c, at)
	f.ByRemote = w.byRemote(c, at)
	f.ByLength = w.byLength(c)
	f.HowFar = howFar(c)
}

func (w *why) moment(e whyEnd) *Moment {
	if e.released == absentTime {
		return nil
	}
	return &Moment{TS: max(0, float64(e.released)/1e9), Wall: w.run.wall(e.released), Seq: e.seq}
}

func (w *why) inTime(at []int) string {
	ends := w.seen.ends
	n, k := len(ends), len(at)
	if w.run.untimed() {
		return "not observed: " + notTimed
	}
	span := at[k-1] - at[0] + 1
	tail := ends[at[0]:]
	dead := !slices.ContainsFunc(tail, func(e whyEnd) bool { return e.ok })
	switch {
	case k == n:
		return "all requests, from the first to the last"
	case dead && at[0] > 0 && len(tail) > 1:
		return fmt.Sprintf("in one stretch to the end: of the %s released from the first failure on none ended well, of the %s before it %s did",
			plural(int64(len(tail)), "request"), plural(int64(at[0]), "request"), thousands(okIn(ends[:at[0]])))
	case k == 1:
		return fmt.Sprintf("a single one; before it %s ended well, after it %s", thousands(okIn(ends[:at[0]])), thousands(okIn(ends[at[0]+1:])))
	}
	// Were they to fall anywhere, all but one would lie within the span of the first
	// with this probability, or less.
	p := 1.0
	for range min(k-1, 64) {
		p *= float64(span) / float64(n)
	}
	text := fmt.Sprintf("%s among %s released in that time, none before or after (%s in all)", thousands(int64(k)), thousands(int64(span)), thousands(int64(n)))
	if p*float64(k) < byChance {
		return "together: " + text
	}
	return "spread over the run: " + text
}

func okIn(ends []whyEnd) (n int64) {
	for _, e := range ends {
		if e.ok {
			n++
		}
	}
	return n
}

func (w *why) byConnection(c *whyClass, at []int) string {
	ends := w.seen.ends
	if c.withConn == 0 {
		return "no connection was made"
	}
	hit, all := map[int64]bool{}, map[int64]int64{}
	var reused, others, othersReused, k int64
	for i := range ends {
		e := &ends[i]
		if e.conn == 0 {
			continue
		}
		all[e.conn]++
		switch {
		case e.class == c:
			k++
			hit[e.conn] = true
			if e.reused {
				reused++
			}
		default:
			others++
			if e.reused {
				othersReused++
			}
		}
	}
	text := fmt.Sprintf("%d of %s", len(hit), plural(int64(len(all)), "connection"))
	p := 1.0
	if others > 0 {
		p = stat.Fisher(reused, k, othersReused, others)
	}
	switch {
	case k >= 3 && reused == k && p < byChance:
		return "all on connections that were used before, " + text
	case k >= 3 && reused == 0 && p < byChance:
		return "all on new connections, " + text
	case k >= 3 && len(hit) == 1 && len(all) > 1:
		on := all[ends[at[0]].conn]
		if stat.Fisher(k, on, 0, k+others-on)*float64(len(all)) < byChance {
			return "all on one connection of " + thousands(int64(len(all)))
		}
	}
	return fmt.Sprintf("on %s; %s on one that was used before", text, thousands(reused))
}

func (w *why) byRemote(c *whyClass, at []int) string {
	if len(w.seen.remotes) < 2 {
		return ""
	}
	failed, all := make([]int64, len(w.seen.remotes)), make([]int64, len(w.seen.remotes))
	var k, n int64
	for i := range w.seen.ends {
		if e := &w.seen.ends[i]; e.remote >= 0 {
			all[e.remote]++
			if n++; e.class == c {
				failed[e.remote]++
				k++
			}
		}
	}
	var parts []string
	lead := "alike: "
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(failed[b] - failed[a]) })
	for _, i := range order {
		if len(parts) == 4 {
			parts = append(parts, fmt.Sprintf("%d more", len(all)-4))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s of %s", w.seen.remotes[i], thousands(failed[i]), thousands(all[i])))
	}
	if i := order[0]; n > all[i] && stat.Fisher(failed[i], all[i], k-failed[i], n-all[i]) < byChance {
		lead = "most at one address: "
		if failed[i] == k {
			lead = "all at one address: "
		}
	}
	return lead + join(parts, ", ")
}

// byLength holds the lengths of what failed against those of what ended well.
func (w *why) byLength(c *whyClass) string {
	var bad, good []float64
	tokens := true
	for i := range w.seen.ends {
		e := &w.seen.ends[i]
		if e.length < 0 || e.class != c && !e.ok {
			continue
		}
		tokens = tokens && e.tokens
		if e.class == c {
			bad = append(bad, float64(e.length))
		} else {
			good = append(good, float64(e.length))
		}
	}
	unit := "bytes of request"
	if tokens {
		unit = "prompt tokens"
	}
	if len(bad) == 0 {
		return "not observed: nothing of these requests was sent"
	}
	slices.Sort(bad)
	slices.Sort(good)
	between := func(v []float64) string {
		if v[0] == v[len(v)-1] {
			return fmt.Sprintf("%s %s", thousands(int64(v[0])), unit)
		}
		m, _ := stat.Quantile(v, 0.5)
		return fmt.Sprintf("%s to %s %s, median %s", thousands(int64(v[0])), thousands(int64(v[len(v)-1])), unit, thousands(int64(m)))
	}
	if len(good) == 0 {
		return "nothing to compare with; " + between(bad)
	}
	text := between(bad) + "; of those that ended well " + between(good)
	p := stat.RankSum(bad, good)
	longer := 0.0 // probability that one of them is longer than one that ended well
	for _, b := range bad {
		i, _ := slices.BinarySearch(good, b)
		j, _ := slices.BinarySearch(good, b+1)
		longer += float64(i) + float64(j-i)/2
	}
	longer /= float64(len(bad)) * float64(len(good))
	switch {
	case p >= byChance:
		return "alike: " + text
	case bad[0] > good[len(good)-1]:
		return "all longer than any that ended well: " + text
	case longer > 0.5:
		return "longer ones: " + text
	}
	return "shorter ones: " + text
}

// howFar says how many events had come.
func howFar(c *whyClass) string {
	if c.headers == 0 || len(c.events) == 0 {
		return ""
	}
	slices.Sort(c.events)
	lo, hi := c.events[0], c.events[len(c.events)-1]
	switch {
	case hi == 0:
		return "before any event"
	case lo == hi:
		return fmt.Sprintf("each after %s", plural(lo, "event"))
	}
	return fmt.Sprintf("after %s to %s events, median %s", thousands(lo), thousands(hi), thousands(c.events[len(c.events)/2]))
}
