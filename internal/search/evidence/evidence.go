package evidence

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/search"
	"tokentape/tape"
)

// Ask is what a look is judged by.
type Ask struct {
	// Limits on requests, in ms, by their names in report.slo; Share of the requests
	// must keep all of them.
	Limits map[string]float64
	Share  float64
	// Conditions on the results, which the look's own expect: holds too.
	Conditions []catalog.Condition
	// FailedShare is limits.failed_share.
	FailedShare float64
	// Goodput asks for good requests per second, and requires no share.
	Goodput bool
	// For is search.Rate or search.Concurrency.
	For string
	// Below are the names of Limits that must not be reached: <, not <=.
	Below map[string]bool
}

// Names of facts that are no condition.
const (
	WithinSLO = "report.slo"
	Backlog   = "backlog"
	Achieved  = "achieved rate"
	Failures  = "failures"
	Window    = "steady window"
	InFlight  = "in flight"
	Good      = "good requests"
)

// times are the values of a request that limits and percentiles are about.
var times = map[string]func(*analysis.Row) *float64{
	"ttft_ms":          func(r *analysis.Row) *float64 { return r.TTFTMS },
	"ttft_from_due_ms": func(r *analysis.Row) *float64 { return r.TTFTDueMS },
	"ttfo_ms":          func(r *analysis.Row) *float64 { return r.TTFOMS },
	"tpot_ms":          func(r *analysis.Row) *float64 { return r.TPOTMS },
	"e2e_ms":           func(r *analysis.Row) *float64 { return r.E2EMS },
	"e2e_from_due_ms":  func(r *analysis.Row) *float64 { return r.E2EDueMS },
}

// limited is times, and the largest gap of a request: report.slo.itl_ms is of every
// gap.
func limited(name string) func(*analysis.Row) *float64 {
	if name == "itl_ms" {
		return func(r *analysis.Row) *float64 { return r.ITLMaxMS }
	}
	return times[name]
}

// score is the largest of a request's values over their limits, +Inf where it did not
// end well. What it has no value of (one token has no gap) breaks no limit.
func (a Ask) score(r *analysis.Row) float64 {
	if r.Outcome != string(tape.OutcomeOK) {
		return math.Inf(1)
	}
	most := 0.0
	for name, limit := range a.Limits {
		if v := limited(name)(r); v != nil {
			at := *v / limit
			if a.Below[name] && *v == limit {
				at = math.Nextafter(1, 2)
			}
			most = max(most, at)
		}
	}
	return most
}

// within reports whether a request ended well and kept every limit.
func (a Ask) within(r *analysis.Row) bool { return a.score(r) <= 1 }

// judged reports whether limits are about a request: issued, of the measured phase, and
// not given up because the load asked for it.
func judged(r *analysis.Row) bool {
	return r.Phase == string(tape.PhaseMeasure) && r.ReleasedS != nil && r.Outcome != string(tape.OutcomeAbandoned)
}

// Of are the facts of a look at the load at. client says why the client could not carry
// the load, unfit why the run cannot be used for another reason; "": neither.
func Of(res *analysis.Results, a Ask, at float64) (facts []search.Fact, client, unfit string) {
	client, unfit = a.Usable(res)
	span, ok := steady(res)
	facts = append(facts, a.failures(res))
	if a.For == search.Rate {
		facts = append(facts, a.flow(res, span)...)
	} else {
		facts = append(facts, inFlight(res, at))
	}
	if !ok {
		facts = append(facts, search.Fact{Name: Window, Kind: search.KindReached, Why: span.why})
	}
	if len(a.Limits) > 0 && !a.Goodput {
		facts = append(facts, a.share(res, span))
	}
	for _, c := range a.Conditions {
		facts = append(facts, condition(res, c))
	}
	if a.Goodput {
		facts = append(facts, a.goodput(res, span))
	}
	return facts, client, unfit
}

// clients are the checks that speak of the client.
var clients = []string{"client_bound", "client_limit", "offered_rate"}

// Usable says why a run says nothing of the load: because of its client, or for another
// reason.
func (a Ask) Usable(res *analysis.Results) (client, unfit string) {
	var c, u []string
	if why := a.gone(res); why != "" {
		u = append(u, why)
	}
	for _, k := range res.Verdict.Checks {
		switch {
		case k.Result != analysis.ResultMiss || k.Name == analysis.CheckFailures:
		case slices.Contains(clients, k.Name):
			c = append(c, k.Name+": "+k.Why)
		case k.Severity == analysis.SeverityFail:
			u = append(u, k.Name+": "+k.Why)
		}
	}
	return strings.Join(c, "; "), strings.Join(u, "; ")
}

// gone says that the server went away in the middle of a run; "": it did not. A server
// that is overloaded lets connections wait, ends them or answers with an error; to find
// nobody who takes one means that no process was there to be loaded. What was lost is
// then no answer to how much it carries, unless there were too many other failures.
func (a Ask) gone(res *analysis.Results) string {
	var none, lost, other, all int64 // nobody to connect to; connections that broke; other failures
	for _, r := range res.Rows.All() {
		if !judged(&r) || r.Outcome == string(tape.OutcomeCancelled) {
			continue
		}
		all++
		switch o := tape.Outcome(r.Outcome); {
		case o == tape.OutcomeOK:
		case o == tape.OutcomeConnect && r.Cause == "":
			none++
		case o == tape.OutcomeReset, o == tape.OutcomeTruncated:
			lost++
		default:
			other++
		}
	}
	allowed := a.FailedShare * float64(all)
	if none == 0 || float64(none+lost) <= allowed || float64(other) > allowed {
		return ""
	}
	return fmt.Sprintf("the server was gone: %d of %d requests found nobody to connect to, and %d lost their connection", none, all, lost)
}

// OtherWork reports whether a run was the client's fault because other programs had
// its machine.
func OtherWork(res *analysis.Results) bool {
	return slices.ContainsFunc(res.Verdict.Checks, func(k analysis.Check) bool {
		return k.Name == "client_bound" && k.Result == analysis.ResultMiss && strings.Contains(k.Why, analysis.OtherWork)
	})
}

// span is the steady window, or the whole of the measured phase where there is none.
type span struct {
	from, to float64 // seconds of the run's clock
	cohort   float64 // requests that are released after this are not judged
	why      string  // there is no steady window
}

func steady(res *analysis.Results) (span, bool) {
	s := span{from: math.Inf(1), to: math.Inf(-1), cohort: math.Inf(-1)}
	for _, w := range res.Windows {
		if w.Kind != "steady" {
			continue
		}
		if s.why = w.Why; w.From != nil && w.To != nil {
			s.from, s.to = *w.From, *w.To
			for _, r := range res.Rows.All() {
				if r.ReleasedS != nil && slices.Contains(r.Windows, "steady") {
					s.cohort = max(s.cohort, *r.ReleasedS)
				}
			}
			return s, true
		}
	}
	if s.why == "" {
		s.why = "no steady window"
	}
	for _, r := range res.Rows.All() {
		if r.Phase == string(tape.PhaseMeasure) && r.ReleasedS != nil {
			s.from, s.to = min(s.from, *r.ReleasedS), max(s.to, *r.ReleasedS)
		}
	}
	s.cohort = s.to
	return s, false
}

// failures are counted, and not bounded: limits.failed_share is about this run.
func (a Ask) failures(res *analysis.Results) search.Fact {
	return search.Fact{Name: Failures, Kind: search.KindFailures, Good: res.Counts.Failed, N: res.Counts.Issued, Op: "<=", Limit: a.FailedShare, Unit: "share"}
}

// share of the requests that kept every limit, in the order in which they were due.
func (a Ask) share(res *analysis.Results, s span) search.Fact {
	var scores []float64
	for _, r := range res.Rows.All() {
		if judged(&r) && *r.ReleasedS >= s.from && *r.ReleasedS <= s.cohort {
			scores = append(scores, a.score(&r))
		}
	}
	return search.ShareOf(WithinSLO, scores, a.Share)
}

// t95 is the quantile of Student's t behind the intervals of ten batches in results.
const t95 = 2.2622

// condition is a percentile as the share of requests below its limit, which needs no
// model of how times are distributed; other values have the interval of the results.
func condition(res *analysis.Results, c catalog.Condition) search.Fact {
	f := search.Fact{Name: c.Text, Kind: search.KindValue, Op: c.Op, Limit: *c.Number}
	var found *analysis.Expectation
	for i := range res.Expect {
		if res.Expect[i].Condition == c.Text {
			found = &res.Expect[i]
		}
	}
	if q, ok := ShareOf(c); ok {
		var scores []float64
		for _, r := range res.Rows.All() {
			if v := times[c.Name](&r); v != nil && slices.Contains(r.Windows, c.Window) {
				score := *v / *c.Number
				if c.Op == "<" && *v == *c.Number {
					score = math.Nextafter(1, 2)
				}
				scores = append(scores, score)
			}
		}
		f = search.ShareOf(c.Text, scores, q)
		if found != nil {
			f.Shown, f.ShownUnit = found.Value, found.Unit
		}
		return f
	}
	switch {
	case found == nil:
		f.Why = "not observed"
	case found.Value == nil:
		f.Why = found.Why
	default:
		f.Value, f.Unit = found.Value, found.Unit
		if ci := found.CI; ci != nil && ci[0] != nil && ci[1] != nil {
			f.SE, f.DF = (*ci[1]-*ci[0])/2/t95, 9
		}
	}
	return f
}

// ShareOf is the share of requests that must be below the limit of a condition on a
// percentile; false: it is judged otherwise.
func ShareOf(c catalog.Condition) (float64, bool) {
	q, ok := quantile(c.Stat)
	return q, ok && c.Kind == catalog.KindMetric && times[c.Name] != nil && (c.Op == "<" || c.Op == "<=")
}

// quantile is that of p50 … p999, as a share.
func quantile(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || len(digits) < 2 {
		return 0, false
	}
	return float64(n) / math.Pow(10, float64(len(digits))), true
}

// parts is how many parts of equal time a flow is judged by, and least how many
// requests must be due in all of them.
const (
	parts = 10
	least = 20
)

// flow are backlog and achieved rate: what was due and what ended in each of ten parts
// of the window. With a server that does not keep up the growths of the parts are
// independent but for chance; with one that does they pull back at each other, which
// makes Student's t over them wide.
func (a Ask) flow(res *analysis.Results, s span) []search.Fact {
	var due, end [parts]float64
	dues := 0.0
	for _, r := range res.Rows.All() {
		if r.DueS == nil || r.Phase == string(tape.PhaseProbe) || r.Phase == string(tape.PhasePrepare) {
			continue
		}
		if i, ok := s.part(*r.DueS); ok {
			due[i]++
			dues++
		}
		if r.EndS != nil {
			if i, ok := s.part(*r.EndS); ok {
				end[i]++
			}
		}
	}
	if dues < least {
		return nil
	}
	each := (s.to - s.from) / parts
	var growth, achieved [parts]float64
	for i := range due {
		growth[i] = (due[i] - end[i]) / each
		achieved[i] = end[i] / (dues / parts)
	}
	offered := dues / (s.to - s.from)
	g := search.Fact{Name: Backlog, Kind: search.KindBacklog, Op: "<=", Unit: "requests/s", Offered: offered}
	spread(&g, growth[:])
	f := search.Fact{Name: Achieved, Kind: search.KindAchieved, Op: ">=", Limit: search.AchievedShare, Unit: "share", Offered: offered}
	spread(&f, achieved[:])
	return []search.Fact{g, f}
}

// part is which of the ten parts of (from, to] holds t.
func (s span) part(t float64) (int, bool) {
	if !(t > s.from && t <= s.to) {
		return 0, false
	}
	return min(parts-1, int((t-s.from)/(s.to-s.from)*parts)), true
}

// spread is the mean of parts and its standard error.
func spread(f *search.Fact, xs []float64) {
	m, _ := stat.Mean(xs)
	sd, _ := stat.SD(xs)
	f.Value, f.SE, f.DF = &m, sd/math.Sqrt(float64(len(xs))), float64(len(xs)-1)
}

// inFlightShare of the concurrency must be in flight in the mean: else the look was of
// another load.
const inFlightShare = 0.9

// inFlight reports whether a closed loop had as many in flight as it was to have.
func inFlight(res *analysis.Results, at float64) search.Fact {
	f := search.Fact{Name: InFlight, Kind: search.KindReached, Op: ">=", Limit: inFlightShare * at, Unit: "requests"}
	for _, w := range res.Windows {
		if v := w.System.ConcurrencyMean; w.Kind == "steady" && v != nil {
			if *v >= f.Limit {
				f.Value = v
			} else {
				f.Why = fmt.Sprintf("%.4g in flight in the mean, of %.0f: the look is too short for its service time", *v, at)
			}
		}
	}
	return f
}

// goodput counts good requests at their ends.
func (a Ask) goodput(res *analysis.Results, s span) search.Fact {
	f := search.Fact{Name: Good, Kind: search.KindGoodput, Unit: "requests/s"}
	var ends [parts]float64
	n := 0
	for _, r := range res.Rows.All() {
		if !judged(&r) || r.EndS == nil {
			continue
		}
		if i, ok := s.part(*r.EndS); ok {
			f.N++
			if a.within(&r) {
				ends[i]++
				f.Good++
			}
			n++
		}
	}
	if n < least {
		f.Why = "too few requests ended in the window"
		return f
	}
	each := (s.to - s.from) / parts
	for i := range ends {
		ends[i] /= each
	}
	spread(&f, ends[:])
	return f
}

// Stages are what became of the requests that were due in each of the equal parts of a
// ramp, eachS seconds long; in a closed loop those that were released in it.
func Stages(res *analysis.Results, a Ask, loads []float64, eachS float64) []search.Stage {
	out := make([]search.Stage, len(loads))
	for i, at := range loads {
		out[i].At = at
	}
	for _, r := range res.Rows.All() {
		t := r.DueS
		if t == nil || a.For == search.Concurrency {
			t = r.ReleasedS
		}
		if !judged(&r) || t == nil {
			continue
		}
		i := min(max(0, int(*t/eachS)), len(out)-1)
		out[i].N++
		if a.within(&r) {
			out[i].Good++
		}
	}
	return out
}
