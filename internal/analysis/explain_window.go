package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

// window explains a value of a window: that which was asked for, else the one that
// claims most of those that exist.
func (x *explainer) window(asked []string) {
	kinds := asked
	if len(kinds) == 0 {
		kinds = []string{window.KindSteady, window.KindStable, window.KindWhole}
	}
	var w *Window
	for _, k := range kinds {
		for i := range x.res.Windows {
			if cand := &x.res.Windows[i]; cand.Kind == k && (w == nil || w.From == nil) {
				w = cand
			}
		}
	}
	if w == nil {
		x.e.Absent = "the run has no window"
		return
	}
	x.e.Window = &ExplainedWindow{Kind: w.Kind, From: w.From, To: w.To, FromWall: w.FromWall, ToWall: w.ToWall, Requests: w.Requests, Why: w.Why, LeftOut: w.LeftOut}
	c := x.c
	c.Window = w.Kind
	if w.From == nil {
		x.e.Absent = noWindow(w)
		return
	}
	iv := window.ChooseOver(w.Kind, x.r.reqs, x.r.groups)
	if c.Kind == catalog.KindMetric {
		x.metric(c, w, iv)
		return
	}
	if strings.Contains(c.Name, "{n}") {
		x.perDevices(c, w)
		return
	}
	if ob := x.answer(c); ob.why != "" {
		x.e.Warnings = w.Warnings
		return
	}
	x.e.Warnings = w.Warnings
	x.system(c.Name, w, iv)
}

// perDevices shows the rows that a name with {n} stands for.
func (x *explainer) perDevices(c catalog.Condition, w *Window) {
	def, _ := catalog.Find(c.Name, c.Kind)
	x.e.Unit, x.e.Warnings = def.Unit, w.Warnings
	for _, name := range slices.Sorted(maps.Keys(w.System.PerDevices)) {
		if v := w.System.PerDevices[name]; v != nil && def.Is(name) {
			x.e.Value, x.e.CI = v, interval(w.System.CI, name)
			x.how("%s: %s", name, trim(*v))
		}
	}
	if x.e.Value == nil {
		x.e.Absent = def.Absent
	}
}

// sample is one value of a metric.
type sample struct {
	v   float64
	i   int   // request
	gap int64 // of ITL, from 1
}

// samples are the values of a metric in a cohort, smallest first, plan order among
// equals; absent are the requests without one. ok is false where there are too many
// gaps to list.
func (x *explainer) samples(name string, cohort []int) (all []sample, absent []int, ok bool) {
	if name == itlKey {
		if x.r.gaps(cohort) > x.r.exact || !x.r.look([][]int{cohort}, nil) {
			return nil, nil, false
		}
		for _, i := range cohort {
			n := int64(0)
			x.r.reqs[i].EachITL(func(gap int64) {
				n++
				all = append(all, sample{float64(gap) / 1e6, i, n})
			})
			if n == 0 {
				absent = append(absent, i)
			}
		}
	} else {
		of := x.r.requestValue(name)
		for _, i := range cohort {
			if v := of(i); v.ok {
				all = append(all, sample{v.value, i, 0})
			} else {
				absent = append(absent, i)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sample) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return 0
	})
	return all, absent, true
}

// metric explains a metric's summary, or one statistic of it.
func (x *explainer) metric(c catalog.Condition, w *Window, iv window.Interval) {
	s := w.Metrics[c.Name]
	def, _ := catalog.Find(c.Name, catalog.KindMetric)
	x.e.Unit = def.Unit
	if s == nil {
		x.e.Absent = def.Absent
		return
	}
	x.e.N, x.e.NEff, x.e.Source, x.e.Warnings = s.N, s.NEff, s.Source, s.Warnings
	if c.Stat == "" {
		x.e.Summary = s
	} else {
		x.answer(c)
		x.e.N = s.N
	}
	all, absent, ok := x.samples(c.Name, iv.Cohort)
	if !ok {
		x.how("%s gaps are too many to name one by one; a histogram with at most 0.1 %% error took them", thousands(s.N))
		return
	}
	what, many := "request", int64(len(iv.Cohort)-len(absent))
	if c.Name == itlKey {
		what = "gap"
	}
	x.how("%s of the %s in the window's cohort have it%s", plural(many, "request"), thousands(int64(len(iv.Cohort))), gapsOf(what, len(all)))
	if len(absent) > 0 {
		seqs := make([]string, 0, 5)
		for _, i := range absent[:min(5, len(absent))] {
			seqs = append(seqs, strconv.FormatInt(x.r.reqs[i].Seq, 10))
		}
		x.how("without: %s (%s), seq %s%s", thousands(int64(len(absent))), def.Absent, strings.Join(seqs, ", "), etc(len(absent) > len(seqs)))
	}
	if len(all) == 0 {
		return
	}
	x.statistic(c.Stat, all, s, what)
}

func gapsOf(what string, n int) string {
	if what == "gap" {
		return ", with " + plural(int64(n), "gap")
	}
	return ""
}

func etc(more bool) string {
	if more {
		return " …"
	}
	return ""
}

// statistic says how one statistic comes out of the sorted samples, and names those
// that it hangs on.
func (x *explainer) statistic(name string, all []sample, s *Summary, what string) {
	n := len(all)
	pick := func(lo, hi int, weight func(k int) *float64) {
		for k := max(0, lo); k <= min(n-1, hi); k++ {
			row := x.request(all[k].i)
			row.Value, row.Rank, row.Gap, row.Weight = ref(all[k].v), int64(k+1), all[k].gap, weight(k)
			x.e.Requests = append(x.e.Requests, row)
		}
		x.e.RequestsOf = int64(n)
	}
	none := func(int) *float64 { return nil }
	switch q, isQuantile := quantileOf(name); {
	case isQuantile:
		rank := float64(float64(n-1) * q)
		lo := min(int(rank), n-1)
		hi := min(lo+1, n-1)
		f := rank - float64(lo)
		x.e.RequestsAre = what + "s around it, in order of size"
		pick(lo-3, hi+3, func(k int) *float64 {
			switch {
			case x.e.Value == nil:
				return nil
			case k == lo && f > 0:
				return ref(1 - f)
			case k == hi && f > 0:
				return ref(f)
			case k == lo:
				return ref(1)
			}
			return nil
		})
		x.how("in order of size it is at rank (n − 1)q = %d × %s = %s, counted from 0", n-1, trim(q), trim(rank))
		switch {
		case x.e.Value == nil:
			x.how("%s", x.e.Absent)
		case f == 0:
			x.how("that is the %s %s: %s", ordinal(lo+1), what, trim(all[lo].v))
		default:
			x.how("between the %s and the %s %s: %s + %s × (%s − %s) = %s", ordinal(lo+1), ordinal(hi+1), what, trim(all[lo].v), trim(f), trim(all[hi].v), trim(all[lo].v), trim(all[lo].v+float64(f*(all[hi].v-all[lo].v))))
		}
	case name == "min":
		x.e.RequestsAre = "the smallest " + what + "s"
		pick(0, 4, none)
	case name == "max":
		x.e.RequestsAre = "the largest " + what + "s"
		pick(n-5, n-1, none)
	default:
		var sum float64
		for _, v := range all {
			sum += v.v
		}
		switch {
		case name == "mean":
			x.how("Σ %s ÷ n = %s ÷ %d = %s", what, trim(sum), n, trim(sum/float64(n)))
			top := all[max(0, n-n/100-1):]
			var high float64
			for _, v := range top {
				high += v.v
			}
			if sum > 0 && n >= 100 {
				x.how("the largest %d of them (1 %%) make up %s of the sum", len(top), percent(high/sum))
			}
		case name == "sd" && n > 1:
			x.how("√(Σ (x − mean)² ÷ (n − 1)) with mean %s and n %d", trim(*s.Mean), n)
		case name == "n_eff" && s.NEff != nil:
			x.how("n = %d samples are worth %s independent ones (n ÷ g: requests that are neighbours share a queue, and g is by how alike they are; docs/statistics.md)", n, digits(*s.NEff))
		}
		x.e.RequestsAre = "the smallest and the largest " + what + "s"
		if n <= 6 {
			pick(0, n-1, none)
			return
		}
		pick(0, 2, none)
		pick(n-3, n-1, none)
	}
}

// quantileOf is 0.99 for "p99" and 0.999 for "p999".
func quantileOf(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0, false
	}
	return float64(n) / math.Pow10(len(digits)), true
}

// ordinal is 1st, 2nd, 3rd, 4th …
func ordinal(n int) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return thousands(int64(n)) + end
}

// trim is a number with at most six decimals.
func trim(v float64) string {
	s := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// system explains a row or fact of a window.
func (x *explainer) system(name string, w *Window, iv window.Interval) {
	s := &w.System
	base, divisor, per := strings.Cut(name, "_per_s_per_")
	if per {
		base += "_per_s"
		of := map[string]*float64{"requests_per_s": s.RequestsPerS, "output_tokens_per_s": s.OutputTokensPerS, "input_tokens_per_s": s.InputTokensPerS, "total_tokens_per_s": s.TotalTokensPerS}
		n, kind, _ := strings.Cut(divisor, "_")
		kind = strings.ReplaceAll(kind, "_", " ")
		switch {
		case strings.HasPrefix(base, "nominal_"):
			x.how("input_tokens_per_s %s × nominal_cached_ratio %s ÷ %s %s", some(s.InputTokensPerS), some(w.Facts.NominalCachedRatio), n, kind)
			base = "input_tokens_per_s"
		case strings.HasPrefix(base, "observed_"):
			x.how("input_tokens_per_s %s × cached_ratio %s ÷ %s %s", some(s.InputTokensPerS), some(w.Facts.CachedRatio), n, kind)
			base = "input_tokens_per_s"
		default:
			x.how("%s %s ÷ %s %s", base, some(of[base]), n, kind)
		}
		x.contributions(base, iv)
		return
	}
	switch name {
	case "requests_per_s", "output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s":
		x.contributions(name, iv)
	case "concurrency_mean", "inflight_mean":
		x.inFlight(iv)
	case "duration_s":
		for _, s := range iv.Each() {
			x.how("%s − %s", trim(float64(s.To)/1e9), trim(float64(s.From)/1e9))
		}
	case "cost_per_hour":
		_, how := x.r.perHour()
		x.how("%s", how)
	case "cost_per_million_output_tokens", "cost_per_million_input_tokens", "cost_per_million_tokens", "cost_per_request":
		rate, of, many := rateUnder(name, s)
		x.how("%s an hour ÷ (%s %s × 3600)%s", some(s.Cost["cost_per_hour"]), of, some(rate), many)
	case "joules_per_output_token", "joules_per_token", "joules_per_request":
		rate, of, _ := rateUnder(name, s)
		x.how("power_mean_w %s ÷ %s %s", some(s.Energy["power_mean_w"]), of, some(rate))
	case "power_mean_w", "energy_j":
		x.how("energy %s J over %s s", some(s.Energy["energy_j"]), some(s.DurationS))
	case "median_service_times":
		if e2e := w.Metrics["e2e_ms"]; e2e != nil {
			x.how("%s s ÷ the median E2E of %s ms", some(s.DurationS), some(e2e.P50))
		}
	case "requests":
		x.how("%s", w.Why)
	case "cached_ratio":
		x.cachedRatio(iv)
	case "slo_good_share", "slo_good_requests_per_s":
		limits := x.r.spec.Report.SLO
		x.rows("issued requests of the window that were not good", func(i int) bool {
			q := &x.r.reqs[i]
			return q.Phase == tape.PhaseMeasure && q.Released != metric.Absent && x.r.facts[i].outcome != tape.OutcomeAbandoned &&
				iv.Starts(q.Released) && !(q.OK && limits.met(q))
		})
	}
}

// rateUnder is the rate that a row of cost or energy is divided by.
func rateUnder(name string, s *System) (rate *float64, of, many string) {
	switch {
	case strings.HasSuffix(name, "output_tokens"), strings.HasSuffix(name, "output_token"):
		rate, of = s.OutputTokensPerS, "output_tokens_per_s"
	case strings.HasSuffix(name, "input_tokens"):
		rate, of = s.InputTokensPerS, "input_tokens_per_s"
	case strings.HasSuffix(name, "request"):
		rate, of = s.RequestsPerS, "requests_per_s"
	default:
		rate, of = s.TotalTokensPerS, "total_tokens_per_s"
	}
	if strings.Contains(name, "million") {
		many = " × 10⁶"
	}
	return rate, of, many
}

func some(v *float64) string {
	if v == nil {
		return "(not observed)"
	}
	return trim(*v)
}

// contributions are what each request brings to a rate of the window, by the rule
// that the window counts by.
func (x *explainer) contributions(name string, iv window.Interval) {
	output := name == "output_tokens_per_s" || name == "total_tokens_per_s"
	input := name == "input_tokens_per_s" || name == "total_tokens_per_s"
	var parts []part
	var sum float64
	var unknown, partly int64
	add := func(i int, v, whole float64) {
		if v == 0 {
			return
		}
		if v < whole {
			partly++
		}
		sum += v
		parts = append(parts, part{i, v})
	}
	if iv.ByEvents {
		x.r.look([][]int{iv.Cohort}, cuts([]window.Interval{iv}))
		if x.r.later != nil && x.r.later.err != nil {
			return
		}
	}
	count := func(i int) {
		q := &x.r.reqs[i]
		var v, whole float64
		known := true
		if output {
			tokens := float64(q.Output)
			if iv.ByEvents {
				tokens, known = tokensIn(q, iv)
			} else {
				known = q.Output != metric.Absent
			}
			if known {
				v, whole = v+tokens, whole+float64(q.Output)
			}
		}
		if input {
			first := q.FirstToken
			if !q.Streamed {
				first = q.End
			}
			switch {
			case q.Input == metric.Absent:
				known = false
			default:
				if whole += float64(q.Input); !iv.ByEvents || iv.Holds(first) {
					v += float64(q.Input)
				}
			}
		}
		if !output && !input {
			whole = 1
			if !iv.ByEvents || iv.Holds(q.End) {
				v = 1
			}
		}
		if !known {
			unknown++
		}
		add(i, v, whole)
	}
	if iv.ByEvents {
		for i := range x.r.reqs {
			if q := &x.r.reqs[i]; servedIn(q, iv) {
				count(i)
			}
		}
		by, reach := "events", ""
		if !output && !input {
			by = "their ends" // whenever they began
		}
		if partly > 0 {
			reach = fmt.Sprintf(", %s of them in part, since they began before the window or went on after it", thousands(partly))
		}
		x.how("counted by %s in (from, to]: %s%s", by, plural(int64(len(parts)), "request"), reach)
	} else {
		for _, i := range iv.Cohort {
			count(i)
		}
		x.how("the window's %s in full", plural(int64(len(iv.Cohort)), "request"))
	}
	if unknown > 0 {
		x.how("%s have no count and are left out", plural(unknown, "request"))
	}
	if span := float64(iv.Length()) / 1e9; span > 0 {
		x.how("%s %s ÷ %s s = %s", trim(sum), strings.TrimSuffix(name, "_per_s"), trim(span), trim(sum/span))
	}
	what := "requests that contribute, the largest first"
	if !output && !input {
		what = "requests that ended in it, in plan order"
	}
	x.list(what, largest(parts))
}

// tokensIn are the tokens of a request that fell into a window; known is false where
// its count is not known.
func tokensIn(q *metric.Request, iv window.Interval) (sum float64, known bool) {
	known = true
	for _, s := range iv.Each() {
		n, ok := q.TokensIn(s.From, s.To)
		sum, known = sum+n, known && ok
	}
	return sum, known
}

// inFlight lists the requests that were in flight in the window longest.
func (x *explainer) inFlight(iv window.Interval) {
	var parts []part
	var sum float64
	for i := range x.r.reqs {
		q := &x.r.reqs[i]
		if q.Released == metric.Absent || q.End == metric.Absent {
			continue
		}
		if d := iv.Place(q.End) - iv.Place(q.Released); d > 0 {
			parts = append(parts, part{i, float64(d) / 1e9})
			sum += float64(d) / 1e9
		}
	}
	if iv.Kind != window.KindStable {
		x.how("Σ seconds in flight inside the window ÷ its length: %s ÷ %s = %s", trim(sum), trim(float64(iv.Length())/1e9), trim(sum/(float64(iv.Length())/1e9)))
	}
	x.list("requests in flight in it, by seconds, the longest first", largest(parts))
}

// cachedRatio adds up what the ratio is made of, and lists the lowest.
func (x *explainer) cachedRatio(iv window.Interval) {
	var cached, input int64
	var parts []part
	for _, i := range iv.Cohort {
		q := &x.r.reqs[i]
		n, _, ok := q.CachedTokens(x.r.proved)
		if !ok || q.Input == metric.Absent {
			continue
		}
		cached, input = cached+n, input+q.Input
		if q.Input > 0 {
			parts = append(parts, part{i, float64(n) / float64(q.Input)})
		}
	}
	x.how("Σ cached ÷ Σ input = %s ÷ %s over %s where both are known", thousands(cached), thousands(input), plural(int64(len(parts)), "request"))
	slices.Reverse(largest(parts))
	x.list("requests with the lowest ratio", parts)
}
