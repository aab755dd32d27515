package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
)

// Explanation is what a name means and, of a run, how its value came to be: the
// arithmetic in words, and the requests behind it.
type Explanation struct {
	Name        string       `json:"name"`
	Definitions []Definition `json:"definitions"` // a rate and a metric can share a name

	// Of a run; empty without one.
	Run    string           `json:"run,omitempty"`
	Window *ExplainedWindow `json:"window,omitempty"` // of what is a window's
	Value  *float64         `json:"value"`
	Word   string           `json:"word,omitempty"` // a value that is no number
	Unit   string           `json:"unit,omitempty"`
	N      int64            `json:"n,omitempty"`
	NEff   *float64         `json:"n_eff,omitempty"`
	CI     *[2]*float64     `json:"ci,omitempty"` // 95 %
	// Summary is that of a metric asked for without a statistic.
	Summary  *Summary `json:"summary,omitempty"`
	Source   string   `json:"source,omitempty"`
	Absent   string   `json:"absent,omitempty"` // why there is no value
	How      []string `json:"how,omitempty"`    // from the requests to the value, line by line
	Warnings []string `json:"warnings,omitempty"`
	// Requests are those behind the value, RequestsOf how many there are in all, and
	// RequestsAre says what they are.
	Requests    []ExplainedRequest `json:"requests,omitempty"`
	RequestsOf  int64              `json:"requests_of,omitempty"`
	RequestsAre string             `json:"requests_are,omitempty"`
}

// ExplainedWindow is the window of a value.
type ExplainedWindow struct {
	Kind     string   `json:"kind"`
	From     *float64 `json:"from_s"`
	To       *float64 `json:"to_s"`
	FromWall string   `json:"from_wall,omitempty"`
	ToWall   string   `json:"to_wall,omitempty"`
	Requests *int64   `json:"requests"`
	Why      string   `json:"why"`
	LeftOut  string   `json:"left_out,omitempty"`
}

// ExplainedRequest is one request behind a value.
type ExplainedRequest struct {
	Seq        int64    `json:"seq"`
	DatasetRow int64    `json:"dataset_row"`
	Phase      string   `json:"phase,omitempty"`
	Outcome    string   `json:"outcome"`
	Value      *float64 `json:"value"`
	Word       string   `json:"word,omitempty"`
	Rank       int64    `json:"rank,omitempty"`   // 1 is the smallest of all samples
	Weight     *float64 `json:"weight,omitempty"` // of its value in an interpolated quantile
	Gap        int64    `json:"gap,omitempty"`    // of ITL: the how-manieth gap of the request
	Session    string   `json:"session,omitempty"`
	Turn       int64    `json:"turn,omitempty"`
	Connection int64    `json:"connection,omitempty"`
	ReleasedS  *float64 `json:"released_s"`
	EndS       *float64 `json:"end_s"`
	Message    string   `json:"message,omitempty"`
}

// explained is how many requests an explanation names where there are many.
const explained = 10

// Explain says what a name means, without a run. The error names what is most like
// it; it is a *UnknownName.
func Explain(name string) (*Explanation, error) {
	e, _, err := question(name)
	return e, err
}

// UnknownName is the error of a name that means nothing, or not what is asked of it.
type UnknownName struct {
	Message, Hint string
	Word          string
	Known         []string // what it could have been
}

func (e *UnknownName) Error() string { return e.Message }

func question(name string) (*Explanation, catalog.Condition, error) {
	c, err := catalog.Ask(name)
	if err != nil {
		s := err.(*catalog.SyntaxError)
		return nil, c, &UnknownName{s.Message, s.Hint, s.Word, s.Known}
	}
	e := &Explanation{Name: c.Text}
	for _, d := range catalog.All() {
		same := d.Is(c.Name) && (c.Stat == "" || d.Kind == c.Kind)
		windowed := d.Kind == catalog.KindMetric || d.Kind == catalog.KindSystem || d.Kind == catalog.KindFact || d.Kind == catalog.KindServer
		if same && (c.Window == "" || windowed) {
			e.Definitions = append(e.Definitions, d)
		}
	}
	return e, c, nil
}

// ExplainFile is ExplainRun of the tape at path.
func ExplainFile(path, name string, o Options) (*Explanation, error) {
	src, done, err := open(path, o.Watch)
	if err != nil {
		return nil, err
	}
	defer done()
	return ExplainRun(src, name, o)
}

// ExplainRun says what a name means and how its value in a run came to be. A
// window is that in the name, else the first of o.Windows, else the steady one,
// the stable one or the whole run, whichever exists first. Errors: those of
// Analyse, and *UnknownName.
func ExplainRun(src Source, name string, o Options) (*Explanation, error) {
	e, c, err := question(name)
	if err != nil {
		return nil, err
	}
	asked := o.Windows
	if c.Window != "" {
		for _, k := range asked {
			if k != c.Window {
				return nil, &UnknownName{Message: fmt.Sprintf("%s is of the window %s, and --window asks for %s", c.Text, c.Window, k), Hint: "say it once: leave --window or the window of the name out"}
			}
		}
		asked = []string{c.Window}
	}
	switch c.Kind { // other values are judged by the windows that the report shows
	case catalog.KindMetric, catalog.KindSystem, catalog.KindFact, catalog.KindServer:
		o.Windows = window.Kinds()
		for _, k := range asked {
			if !slices.Contains(o.Windows, k) {
				o.Windows = append(slices.Clip(o.Windows), k)
			}
		}
	}
	r, res, o, err := analyse(src, o)
	if err != nil {
		return nil, err
	}
	r.explain(res, o, e, c, asked)
	if r.later != nil && r.later.err != nil {
		return nil, r.later.err
	}
	return e, nil
}

// explain fills e of what c asks, by a window that was asked for.
func (r *run) explain(res *Results, o Options, e *Explanation, c catalog.Condition, asked []string) {
	x := &explainer{r, res, o, e, c}
	e.Run = res.Run
	switch c.Kind {
	case catalog.KindMetric, catalog.KindSystem, catalog.KindFact:
		x.window(asked)
	case catalog.KindRequest:
		x.everyRequest()
	case catalog.KindServer:
		x.server(asked)
	case catalog.KindTerm:
		e.Absent = "a word of the report, and no value of a run"
	case catalog.KindPoint:
		e.Absent = "a value of a point of a sweep, which one or several runs make: tokentape report SWEEP has it"
	default:
		x.ofRun()
	}
	x.cache()
}

// explainer answers one question about one run.
type explainer struct {
	r   *run
	res *Results
	o   Options
	e   *Explanation
	c   catalog.Condition
}

func (x *explainer) how(format string, args ...any) {
	x.e.How = append(x.e.How, fmt.Sprintf(format, args...))
}

// request describes the i-th request of the run.
func (x *explainer) request(i int) ExplainedRequest {
	q, f := &x.r.reqs[i], &x.r.facts[i]
	return ExplainedRequest{
		Seq: q.Seq, DatasetRow: f.row, Phase: string(q.Phase), Outcome: string(f.outcome), Session: f.session, Turn: f.turn,
		Connection: f.connID, ReleasedS: scaled(q.Released, 1e9), EndS: scaled(q.End, 1e9), Message: f.message,
	}
}

// part is a request and its share of a value.
type part struct {
	i int
	v float64
}

// list names requests with their values, at most explained of them.
func (x *explainer) list(what string, parts []part) {
	x.e.RequestsAre, x.e.RequestsOf = what, int64(len(parts))
	for _, p := range parts[:min(len(parts), explained)] {
		row := x.request(p.i)
		row.Value = ref(p.v)
		x.e.Requests = append(x.e.Requests, row)
	}
}

// rows names requests without a value of their own.
func (x *explainer) rows(what string, of func(i int) bool) {
	x.e.RequestsAre = what
	for i := range x.r.reqs {
		if !of(i) {
			continue
		}
		if x.e.RequestsOf++; x.e.RequestsOf <= explained {
			x.e.Requests = append(x.e.Requests, x.request(i))
		}
	}
}

// largest sorts parts by value, largest first, plan order among equals.
func largest(parts []part) []part {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.v, a.v) })
	return parts
}

// answer takes what the results say of the value that was asked for.
func (x *explainer) answer(c catalog.Condition) observation {
	ob := x.r.observed(c, x.res, x.o)
	x.e.Value, x.e.Word, x.e.Unit, x.e.N, x.e.CI, x.e.Absent = ob.value, ob.word, ob.unit, ob.n, ob.ci, ob.why
	return ob
}

// everyRequest explains a value that requests have and nothing sums up.
func (x *explainer) everyRequest() {
	def := x.e.Definitions[0]
	of := x.r.requestValue(x.c.Name)
	words := map[string]int{}
	var parts []part
	var judged, absent int64
	x.r.eachMeasured(func(i int, q *metric.Request) {
		if !q.OK && !def.EveryOutcome {
			return
		}
		judged++
		switch v := of(i); {
		case !v.ok:
			absent++
		case def.Word:
			words[v.word]++
		default:
			parts = append(parts, part{i, v.value})
		}
	})
	x.e.N, x.e.Unit = judged-absent, def.Unit
	x.how("%s of %s requests have it", thousands(judged-absent), thousands(judged))
	if absent > 0 && def.Absent != "" {
		x.how("the others have none: %s", def.Absent)
	}
	for _, w := range ranked(words) {
		x.how("%s: %s", w, plural(int64(words[w]), "request"))
	}
	if len(parts) > 0 {
		parts = largest(parts)
		x.how("from %s to %s", digits(parts[len(parts)-1].v), digits(parts[0].v))
		x.list("requests with the largest values", parts)
	} else if def.Word && len(words) > 1 {
		common := ranked(words)[0]
		x.rows("requests with another value than "+common, func(i int) bool {
			v := of(i)
			return x.r.isMeasured(i) && (x.r.reqs[i].OK || def.EveryOutcome) && v.ok && v.word != common
		})
	}
}

// ofRun explains counts, load facts, checks and the verdict.
func (x *explainer) ofRun() {
	switch x.c.Kind {
	case catalog.KindVerdict:
		x.answer(x.c)
		for _, k := range x.res.Verdict.Checks {
			if k.Severity == SeverityFail && k.Result == ResultMiss {
				x.how("%s missed: %s", k.Name, k.Why)
			}
		}
		if x.res.Verdict.Fit {
			x.how("no check of severity fail missed")
		}
	case catalog.KindCheck:
		x.check()
	case catalog.KindCount:
		if name := strings.TrimPrefix(x.c.Name, "counts."); strings.HasSuffix(name, ".*") {
			x.counts(strings.TrimSuffix(name, ".*"))
		} else {
			x.answer(x.c)
			x.count(name)
		}
	case catalog.KindLoad:
		x.answer(x.c)
		x.load(strings.TrimPrefix(x.c.Name, "load."))
	}
}
