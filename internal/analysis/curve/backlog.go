package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/stat"
	"tokentape/tape"
)

// What the backlog is judged by.
const (
	backlogParts = 10
	// leadShare of the measured requests, leadLeast at the least, tell how long a request
	// takes before any backlog: the time that the system takes to fill.
	leadShare = 20
	leadLeast = 20
	// material is the share of the offered rate that a growth must have to be called one;
	// settled is what the growth must be proved to be below to be called stable.
	material = 0.02
	settled  = 0.10
)

// growth is how the backlog of one run grew.
type growth struct {
	offered, kept, slope, end *float64
	ci                        [2]*float64
	from, to                  *float64
	why                       string // why there is no slope
}

// grown is the backlog of an open loop: due and not ended. Each of ten parts of the
// time gives one growth; where a server does not keep up these are independent but for
// chance of both rates, and where it does they pull back at each other, so that
// Student's t over them is right in the first case and wide in the second. A line
// through the backlog itself would call the wandering of a busy server a trend.
func grown(res *analysis.Results) *growth {
	if res.Load.Loop != "open" {
		return nil
	}
	type request struct{ due, end float64 }
	var all []request
	var good []float64
	for _, row := range res.Rows.All() {
		if row.Phase != string(tape.PhaseMeasure) || row.DueS == nil || row.EndS == nil {
			continue
		}
		all = append(all, request{*row.DueS, *row.EndS})
		if row.Outcome == string(tape.OutcomeOK) {
			good = append(good, *row.EndS)
		}
	}
	g := &growth{}
	if len(all) < 2*leadLeast {
		g.why = fmt.Sprintf("%d requests are too few to see a backlog grow (%d wanted)", len(all), 2*leadLeast)
		return g
	}
	slices.SortFunc(all, func(a, b request) int { return cmp.Compare(a.due, b.due) })
	lead := 0.0
	for _, q := range all[:max(leadLeast, len(all)/leadShare)] {
		lead = max(lead, q.end-q.due)
	}
	from, to := all[0].due+lead, all[len(all)-1].due
	if !(to-from > lead) || to <= from {
		g.why = fmt.Sprintf("the load was over before a request could take its %.3g s twice: send for longer", lead)
		return g
	}
	level := func(t float64) (n float64) {
		for _, q := range all {
			if q.due <= t && q.end > t {
				n++
			}
		}
		return n
	}
	part := (to - from) / backlogParts
	var steps [backlogParts]float64
	begin := level(from)
	last := begin
	for i := range steps {
		now := level(from + float64(part*float64(i+1)))
		steps[i], last = (now-last)/part, now
	}
	dues, ends := 0.0, 0.0
	for _, q := range all {
		if q.due > from && q.due <= to {
			dues++
		}
	}
	for _, t := range good {
		if t > from && t <= to {
			ends++
		}
	}
	mean := (last - begin) / (to - from)
	sd, _ := stat.SD(steps[:])
	half := float64(stat.StudentQuantile(0.05, backlogParts-1) * sd / math.Sqrt(backlogParts))
	g.from, g.to, g.end = ref(from), ref(to), ref(last)
	g.offered, g.kept, g.slope = ref(dues/(to-from)), ref(ends/(to-from)), ref(mean)
	g.ci = [2]*float64{ref(mean - half), ref(mean + half)}
	return g
}

// judge says whether the server kept up, by the point's own slope.
func judge(offered, kept, slope Value, why string) Backlog {
	b := Backlog{State: Open, Why: why}
	if slope.Value == nil || offered.Value == nil || *offered.Value <= 0 || slope.CI[0] == nil || slope.CI[1] == nil {
		b.Why = cmp.Or(why, "no interval of the backlog's slope")
		return b
	}
	rate := *offered.Value
	growth := fmt.Sprintf("%s requests/s (%s … %s)", digits(*slope.Value), digits(*slope.CI[0]), digits(*slope.CI[1]))
	text := "the backlog grows by " + growth
	sum := ""
	if kept.Value != nil {
		sum = fmt.Sprintf(": offered %s/s, kept up %s/s", digits(rate), digits(*kept.Value))
	}
	switch {
	case *slope.CI[0] > 0 && *slope.Value >= material*rate:
		b.State, b.Why = Unstable, text+sum
	case *slope.CI[0] > 0:
		b.State, b.Why = Stable, text+fmt.Sprintf(", less than %.0f %% of what is offered", material*100)
	case *slope.CI[1] <= settled*rate:
		b.State, b.Why = Stable, "no growth of the backlog is seen: "+growth
	default:
		b.Why = "the backlog may stand or grow: " + growth + "; send for longer"
	}
	return b
}

// digits is a number of a sentence: three digits, and all of those before the point.
func digits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fmt.Sprintf("%.3g", v)
}
