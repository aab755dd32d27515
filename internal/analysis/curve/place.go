package curve

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/analysis/stat"
	"tokentape/internal/analysis/window"
	"tokentape/internal/sweep"
)

// places makes one Point of all runs with the same settings.
func (c *Curves) places(m *sweep.Manifest, runs []Result, o Options) {
	index := map[string]int{}
	members := [][]int{}
	for i, p := range m.Points {
		key := keyOf(p.At)
		k, ok := index[key]
		if !ok {
			k = len(members)
			index[key], members = k, append(members, nil)
		}
		members[k] = append(members[k], i)
	}
	for _, list := range members {
		p := c.place(m, runs, list, o)
		switch p.State {
		case Measured:
			c.Measured++
			c.Fit = c.Fit && p.Fit
		case Failed:
			c.Failed++
		default:
			c.NotRun++
		}
		c.Points = append(c.Points, p)
	}
}

// keyOf is a place as a text: equal values are equal, 8 and 8.0 alike.
func keyOf(at []any) string {
	b, err := json.Marshal(at)
	if err != nil {
		return fmt.Sprint(at)
	}
	return string(b)
}

// place reads the runs of one place together.
func (c *Curves) place(m *sweep.Manifest, runs []Result, list []int, o Options) Point {
	first := &m.Points[list[0]]
	p := Point{Name: first.Name, At: first.At, Label: label(m.Fields, first.At), State: NotRun, Fit: true, Values: map[string]Value{}, Runs: []Run{}}
	var pooled []*Result
	var places []int // of these in p.Runs
	var reasons []string
	for _, i := range list {
		at, r := &m.Points[i], &runs[i]
		run := Run{Name: at.Name, Path: at.Run, State: Measured, Exit: at.Exit, Reason: at.Reason, Hook: at.Hook}
		switch {
		case r.Err != nil:
			run.State, run.Reason = Failed, r.Err.Error()
		case r.Res == nil && at.State == sweep.Failed:
			run.State = Failed
		case r.Res == nil:
			run.State = NotRun
		case r.Res.Counts.OK == 0:
			if run.State = Failed; at.State != sweep.Failed || at.Reason == "" { // what it ended with says more
				run.Reason = fmt.Sprintf("no request ended well: %d of %d failed", r.Res.Counts.Failed, r.Res.Counts.Issued)
			}
		}
		if r.Res != nil {
			if strings.Contains(run.Reason, r.Res.Verdict.Line) || strings.Contains(r.Res.Verdict.Line, run.Reason) {
				run.Reason = "" // the verdict says it
			}
			run.Fit, run.Verdict, run.SHA256 = r.Res.Verdict.Fit, r.Res.Verdict.Line, r.Res.TapeSHA256
			p.OK, p.Failures, p.Planned = p.OK+r.Res.Counts.OK, p.Failures+r.Res.Counts.Failed, p.Planned+r.Res.Counts.Planned
		}
		p.Runs = append(p.Runs, run)
		switch {
		case run.State == Measured && o.FitOnly && !run.Fit:
			reasons = append(reasons, at.Name+" is left out: "+run.Verdict)
			p.Runs[len(p.Runs)-1].LeftOut = true
			p.State = Failed
		case run.State == Measured:
			pooled, places = append(pooled, r), append(places, len(p.Runs)-1)
		default:
			reasons = append(reasons, at.Name+" "+strings.ReplaceAll(run.State, "_", " ")+tail(run.Reason))
			if run.State == Failed {
				p.State = Failed
			}
		}
	}
	if len(list) == 1 && len(reasons) == 1 { // its own name says nothing
		reasons[0] = p.Runs[0].Reason
		if o.FitOnly && p.Runs[0].State == Measured {
			reasons[0] = "left out: " + p.Runs[0].Verdict
		}
	}
	p.Reason = strings.Join(reasons, "; ")
	if len(pooled) == 0 {
		p.Fit = false
		return p
	}
	pooled = p.long(pooled, places, &reasons)
	p.Reason = strings.Join(reasons, "; ")
	p.State, p.Pooled = Measured, len(pooled)
	for _, r := range pooled {
		if !r.Res.Verdict.Fit && p.Fit {
			p.Fit, p.Verdict = false, r.Res.Verdict.Line
		}
	}
	if p.Fit {
		p.Verdict = pooled[0].Res.Verdict.Line
	}
	p.Loop, p.Devices = pooled[0].Res.Load.Loop, pooled[0].Res.About.Devices
	p.window(pooled, o.Window)
	p.bursts(pooled)
	p.failures()
	return p
}

// shortRun is the share of the longest run's planned requests below which a run of the
// same place is no repeat of it, but a look before it.
const shortRun = 0.5

// long leaves short looks out where a longer run of the place exists: a mean of both
// would weigh them alike, and lack every percentile that the short one cannot carry.
func (p *Point) long(pooled []*Result, places []int, reasons *[]string) []*Result {
	most := int64(0)
	for _, r := range pooled {
		most = max(most, r.Res.Counts.Planned)
	}
	var kept []*Result
	var short []string
	for i, r := range pooled {
		if n := r.Res.Counts.Planned; float64(n) < shortRun*float64(most) {
			run := &p.Runs[places[i]]
			run.LeftOut = true
			short = append(short, fmt.Sprintf("%s (%d requests)", run.Name, n))
			continue
		}
		kept = append(kept, r)
	}
	if len(short) > 0 {
		*reasons = append(*reasons, fmt.Sprintf("left out beside a run of %d requests: %s", most, list(short)))
	}
	return kept
}

func tail(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// window chooses the window of a point, the same kind for all its runs, and reads it.
func (p *Point) window(pooled []*Result, asked string) {
	kinds := []string{window.KindSteady, window.KindWhole}
	if asked != "" {
		kinds = []string{asked}
	}
	var chosen []*analysis.Window
	for _, kind := range kinds {
		chosen = nil
		for _, r := range pooled {
			w, why := usable(r.Res, kind)
			if w != nil && asked == "" && kind == window.KindSteady && w.Short() != "" {
				w, why = nil, w.Short()
			}
			if w == nil {
				if p.WindowWhy == "" {
					p.WindowWhy = why
				}
				break
			}
			chosen = append(chosen, w)
		}
		if len(chosen) == len(pooled) {
			p.Window = kind
			break
		}
	}
	if p.Window == "" {
		p.Reason = strings.Join(slices.DeleteFunc([]string{p.Reason, p.WindowWhy}, func(s string) bool { return s == "" }), "; ")
		return
	}
	each := make([]map[string]Value, len(pooled))
	names := map[string]bool{}
	for i, r := range pooled {
		each[i] = valuesOf(r, chosen[i])
		p.Requests += chosen[i].Held()
		if text := misfit(chosen[i]); text != "" && p.RateMisfit == "" {
			p.RateMisfit = text
		}
		for name := range each[i] {
			names[name] = true
		}
	}
	p.CachedFrom = cachedFrom(&chosen[0].Facts)
	for _, w := range chosen[1:] {
		if cachedFrom(&w.Facts) != p.CachedFrom {
			p.CachedFrom = "runs differ"
		}
	}
	for name := range names {
		vs := make([]Value, len(each))
		for i := range each {
			vs[i] = each[i][name]
		}
		p.Values[name] = bounded(pool(vs), Unit(name))
	}
	if p.Loop == "open" {
		b := judge(p.Values["offered_per_s"], p.Values["kept_up_per_s"], p.Values["backlog_slope_per_s"], pooled[0].backlog.why)
		b.FromS, b.ToS = pooled[0].backlog.from, pooled[0].backlog.to
		p.Backlog = &b
		if b.State == Unstable {
			p.silence()
		}
	}
}

// silence takes the latencies off a point that the server did not keep up with: they
// are as long as the run.
func (p *Point) silence() {
	for _, m := range latencies {
		for _, stat := range Stats {
			if v, ok := p.Values[m+"."+stat]; ok {
				p.Values[m+"."+stat] = Value{N: v.N, Why: "unstable at this rate"}
			}
		}
	}
	p.Values["output_tokens_per_s_per_user"] = Value{Why: "unstable at this rate"}
}

// pool reads the values of several runs together. A value that one of them lacks is
// absent: what is left would be another choice of runs for every value.
func pool(vs []Value) Value {
	if len(vs) == 1 {
		return vs[0]
	}
	var out Value
	for _, v := range vs {
		out.N += v.N
		if v.Value == nil {
			out.Why = v.Why
			continue
		}
		out.Runs = append(out.Runs, *v.Value)
	}
	if len(out.Runs) < len(vs) {
		return Value{N: out.N, Why: out.Why, Runs: nil}
	}
	m, _ := stat.Mean(out.Runs)
	out.Value, out.Why = ref(m), ""
	if len(vs) == 2 {
		lo, hi := min(out.Runs[0], out.Runs[1]), max(out.Runs[0], out.Runs[1])
		for _, v := range vs {
			if v.CI[0] == nil || v.CI[1] == nil {
				return out
			}
			lo, hi = min(lo, *v.CI[0]), max(hi, *v.CI[1])
		}
		out.CI, out.By = [2]*float64{&lo, &hi}, ByHull
		return out
	}
	sd, _ := stat.SD(out.Runs)
	half := float64(stat.StudentQuantile(0.05, float64(len(vs)-1)) * sd / math.Sqrt(float64(len(vs))))
	lo, hi := m-half, m+half
	if slices.Min(out.Runs) >= 0 {
		lo = max(0, lo)
	}
	out.CI, out.By = [2]*float64{&lo, &hi}, ByT
	return out
}

// bounded keeps the interval of a share within 1: Student's t knows of no bound. That it
// is not below 0, pool sees to.
func bounded(v Value, unit string) Value {
	if unit == "share" && v.CI[1] != nil {
		v.CI[1] = ref(min(*v.CI[1], 1))
	}
	return v
}

// failures is the share over all runs, with the interval of Wilson (1927).
func (p *Point) failures() {
	ok, failed := int64(0), int64(0)
	ok, failed = p.OK, p.Failures
	n := float64(ok + failed)
	if n == 0 {
		p.Values["failed_share"] = Value{Why: "not observed"}
		return
	}
	share := float64(failed) / n
	const z = 1.959964
	mid := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(float64(share*(1-share)/n)+z*z/(4*n*n))
	p.Values["failed_share"] = Value{Value: &share, CI: [2]*float64{ref(max(0, min(mid-half, share))), ref(min(1, max(mid+half, share)))}, By: ByRun, N: ok + failed}
}

// label is a place in short: c=8.
func label(fields []string, at []any) string {
	if len(fields) == 0 {
		return "all"
	}
	return sweep.Label(fields, sweep.Point{At: at})
}

// text is a value of a field.
func text(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprintf("%.6g", v)
	case string:
		return v
	case nil:
		return "none"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
