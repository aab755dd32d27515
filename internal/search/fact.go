package search

import (
	"fmt"
	"math"
	"slices"

	"tokentape/internal/analysis/stat"
)

// Decisions of a fact, of a look, and of a place.
const (
	Holds       = "holds"
	Likely      = "likely" // holds at 95 % for itself, but not at the level that counts for many looks
	Fails       = "fails"
	Undecided   = "undecided"
	ClientBound = "client_bound" // the client could not carry the load: nothing is known of the server
	Unfit       = "unfit"        // the run cannot be used for another reason
)

// Kinds of facts: how they are judged.
const (
	KindShare    = "share"    // of requests that kept a limit
	KindValue    = "value"    // of the results, against a limit
	KindBacklog  = "backlog"  // by how much more arrives than ends, per second
	KindAchieved = "achieved" // what ended ÷ what was offered
	KindFailures = "failures" // share of failed requests
	KindGoodput  = "goodput"  // good requests per second: measured, and no limit
	KindReached  = "reached"  // what a look needs to be of its load at all; null: it was not reached
)

// Conventions, printed with the verdict.
const (
	// GrowthShare of the offered rate is the least backlog growth that is one.
	GrowthShare = 0.01
	// AchievedShare of the offered rate must end.
	AchievedShare = 0.95
)

// Fact is one thing that was measured in a look, and what it decides.
type Fact struct {
	Name string `json:"name"` // a condition, or what is judged
	Kind string `json:"kind"`
	// Good of N requests, NEff of them effective: of a share and of failures.
	Good int64   `json:"good,omitempty"`
	N    int64   `json:"n,omitempty"`
	NEff float64 `json:"n_eff,omitempty"`
	// Value is what is judged; null where nothing was observed. SE is its standard
	// error with DF degrees of freedom; 0: none is known.
	Value *float64 `json:"value"`
	SE    float64  `json:"se,omitempty"`
	DF    float64  `json:"df,omitempty"`
	// Op and Limit: the value must be >= a required share, < a limit.
	Op    string  `json:"op,omitempty"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`
	// Offered rate, of backlog.
	Offered float64 `json:"offered,omitempty"`
	// Shown is the percentile itself where Value is the share of requests below it.
	Shown     *float64 `json:"shown,omitempty"`
	ShownUnit string   `json:"shown_unit,omitempty"`
	// Lo and Hi are the bounds at the level of one look; null: none.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
	// Result is Holds, Fails or Undecided; "" of goodput.
	Result string `json:"result,omitempty"`
	Why    string `json:"why,omitempty"`
}

// ShareOf is the fact that a share of requests, required, keeps a limit. scores are of
// the requests in the order in which they were due: at most 1 where the limit was kept,
// and the farther above or below it the farther from 1; +Inf of a failure.
//
// Requests that miss come in clusters, a burst that the server passes on to all that
// follow. How long those are, the misses themselves tell when there are some. When there
// are few or none, the worst requests do: as many as may miss. The smaller of the two
// effective numbers counts, so that a calm stretch is not taken for proof of calm.
func ShareOf(name string, scores []float64, required float64) Fact {
	f := Fact{Name: name, Kind: KindShare, Op: ">=", Limit: required, Unit: "share", N: int64(len(scores))}
	series := make([]float64, len(scores))
	for i, s := range scores {
		if s <= 1 {
			series[i] = 1
			f.Good++
		}
	}
	f.NEff = stat.EffectiveSize(series)
	sorted := slices.Clone(scores)
	slices.Sort(sorted)
	if worst, ok := stat.Quantile(sorted, required); ok {
		for i, s := range scores {
			series[i] = 0
			if s > worst {
				series[i] = 1
			}
		}
		f.NEff = min(f.NEff, stat.EffectiveSize(series))
	}
	return f
}

func ref(v float64) *float64 { return &v }

// judge fills bounds and result at one-sided level 1 − alpha.
func (f *Fact) judge(alpha float64) {
	f.Lo, f.Hi, f.Result = nil, nil, ""
	if f.Kind == KindShare || f.Kind == KindFailures {
		f.Value = nil
		if f.N > 0 {
			f.Value = ref(float64(f.Good) / float64(f.N))
		}
	}
	if f.Value == nil {
		if f.Kind != KindGoodput {
			f.Result = Undecided
		}
		if f.Why == "" {
			f.Why = "not observed"
		}
		return
	}
	v := *f.Value
	likely := [2]float64{v, v}
	switch f.Kind {
	case KindShare:
		n := f.NEff
		if !(n > 0) || n > float64(f.N) {
			n = float64(f.N)
		}
		lo, hi := stat.ShareBounds(v*n, n, alpha)
		f.Lo, f.Hi = &lo, &hi
		l, h := stat.ShareBounds(v*n, n, Family)
		likely = [2]float64{l, h}
	case KindFailures:
		f.Result = Holds
		if v > f.Limit {
			f.Result = Fails
		}
		return
	default:
		if f.SE > 0 && f.DF >= 1 {
			half := stat.StudentQuantile(2*alpha, f.DF) * f.SE
			f.Lo, f.Hi = ref(v-half), ref(v+half)
			half = stat.StudentQuantile(2*Family, f.DF) * f.SE
			likely = [2]float64{v - half, v + half}
		}
	}
	switch f.Kind {
	case KindGoodput:
	case KindReached:
		f.Lo, f.Hi, f.Result = nil, nil, Holds
	case KindBacklog: // what cannot be told from no growth is none
		f.Result = Holds
		if f.Lo != nil && *f.Lo > f.Limit && v > GrowthShare*f.Offered {
			f.Result = Fails
		}
	case KindAchieved:
		f.Result = Holds
		if f.Hi != nil && *f.Hi < f.Limit {
			f.Result = Fails
		}
	default:
		f.Result = f.against(likely)
	}
}

// against compares the bounds, or where there are none the value, with the limit.
// likely are those of 95 %.
func (f *Fact) against(likely [2]float64) string {
	lo, hi := *f.Value, *f.Value
	if f.Lo != nil && f.Hi != nil {
		lo, hi = *f.Lo, *f.Hi
	} else {
		f.Why = "no interval: the value itself decides"
	}
	met := func(v float64) bool {
		switch f.Op {
		case "<":
			return v < f.Limit
		case "<=":
			return v <= f.Limit
		case ">":
			return v > f.Limit
		case ">=":
			return v >= f.Limit
		case "!=":
			return v != f.Limit
		}
		return v == f.Limit
	}
	a, b := met(lo), met(hi)
	switch {
	case f.Op == "==" || f.Op == "!=":
		if met(*f.Value) {
			return Holds
		}
		return Fails
	case a && b:
		return Holds
	case !a && !b:
		return Fails
	case met(likely[0]) && met(likely[1]):
		return Likely
	}
	return Undecided
}

// say is the fact in a few words: what it is, its bounds, and the limit.
func (f *Fact) say() string {
	if f.Value == nil {
		return f.Name + ": " + f.Why
	}
	v := *f.Value
	switch f.Kind {
	case KindShare:
		return fmt.Sprintf("%s: %s of %d requests (%s to %s), required %s", f.Name, percent(v), f.N, percent(*f.Lo), percent(*f.Hi), percent(f.Limit))
	case KindFailures:
		return fmt.Sprintf("%d of %d requests failed, a share of %g is allowed", f.Good, f.N, f.Limit)
	case KindBacklog:
		return fmt.Sprintf("the backlog grows by %.3g requests/s (at least %.3g) of %.4g offered", v, *f.Lo, f.Offered)
	case KindAchieved:
		return fmt.Sprintf("%s of the offered rate ended (at most %s), required %s", percent(v), percent(*f.Hi), percent(f.Limit))
	}
	if f.Lo == nil || f.Hi == nil {
		return fmt.Sprintf("%s: %.4g", f.Name, v)
	}
	return fmt.Sprintf("%s: %.4g, %.4g to %.4g", f.Name, v, *f.Lo, *f.Hi)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }

// pool takes the same fact of several looks at one place together. Counts add up;
// values are weighted by the requests of their looks.
func pool(looks []Look, alpha float64) []Fact {
	var out []Fact
	type sum struct{ w, wv, w2 float64 }
	sums := map[string]*sum{}
	index := map[string]int{}
	for _, l := range looks {
		for _, f := range l.Facts {
			i, ok := index[f.Name]
			if !ok {
				i = len(out)
				index[f.Name], sums[f.Name] = i, &sum{}
				g := f
				g.Good, g.N, g.NEff, g.DF, g.Value, g.Why, g.Shown = 0, 0, 0, 0, nil, f.Why, nil
				out = append(out, g)
			}
			g, s := &out[i], sums[f.Name]
			g.Good, g.N, g.NEff = g.Good+f.Good, g.N+f.N, g.NEff+f.NEff
			if f.Shown != nil {
				g.Shown = f.Shown // of the latest, which is the longest
			}
			if f.Value == nil {
				continue
			}
			w := float64(max(1, l.Requests))
			s.w += w
			s.wv += w * *f.Value
			s.w2 += w * w * f.SE * f.SE
			g.Why, g.DF, g.Offered = f.Why, g.DF+f.DF, f.Offered
			g.Value, g.SE = ref(s.wv/s.w), math.Sqrt(s.w2)/s.w
		}
	}
	for i := range out {
		out[i].judge(alpha)
	}
	return out
}

// promising reports whether a fact that is undecided would be decided by times as much
// of what was seen: more looks at a load that lies at the limit itself decide nothing.
func (f *Fact) promising(times, alpha float64, hold bool) bool {
	if f.Value == nil || f.Kind != KindShare && f.SE <= 0 {
		return true
	}
	g := *f
	g.Good, g.N = int64(math.Round(float64(f.Good)*times)), int64(math.Round(float64(f.N)*times))
	g.NEff, g.SE, g.DF = f.NEff*times, f.SE/math.Sqrt(times), f.DF*times
	g.judge(alpha)
	return g.Result == Holds || !hold && g.Result != Undecided
}
