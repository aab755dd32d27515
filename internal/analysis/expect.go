package analysis

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/metric"
	"tokentape/internal/analysis/window"
)

// Expectation is a condition of `expect:` and what became of it.
type Expectation struct {
	Condition string `json:"condition"`
	Result    string `json:"result"` // ResultPass or ResultMiss; what is not observed is a miss
	// Value is the number that was compared, Word what it was where it is no number;
	// absent in a condition on every request, and where nothing was observed.
	Value *float64     `json:"value"`
	Word  string       `json:"word,omitempty"`
	Unit  string       `json:"unit,omitempty"`
	N     int64        `json:"n,omitempty"`  // samples behind the value, or requests judged
	CI    *[2]*float64 `json:"ci,omitempty"` // 95 % interval of the value
	// Missed and Absent are requests that missed the condition: with a value, and
	// without one. Rows are the first of them, in plan order.
	Missed int64       `json:"missed,omitempty"`
	Absent int64       `json:"absent,omitempty"`
	Rows   []ExpectRow `json:"rows,omitempty"`
	Why    string      `json:"why"`
}

// ExpectRow is a request that missed a condition.
type ExpectRow struct {
	Seq        int64    `json:"seq"`
	DatasetRow int64    `json:"dataset_row"`
	Value      *float64 `json:"value"`
	Word       string   `json:"word,omitempty"`
}

// expectRows is how many requests that missed are named.
const expectRows = 5

// expect judges the conditions of the spec and those of the options.
func (r *run) expect(res *Results, o Options) []Expectation {
	var out []Expectation
	for _, text := range append(r.spec.Expect[:len(r.spec.Expect):len(r.spec.Expect)], o.Expect...) {
		c, err := catalog.Parse(text)
		switch {
		case err != nil:
			out = append(out, Expectation{Condition: strings.TrimSpace(text), Result: ResultMiss, Why: "cannot be read: " + err.Error()})
		case c.PerRequest():
			out = append(out, r.expectEvery(c))
		default:
			out = append(out, r.expectValue(c, res, o))
		}
	}
	return out
}

// compare reports whether a op b; words have no order.
func compareTo[T float64 | string](op string, a, b T) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "!=":
		return a != b
	}
	return a == b
}

// expectValue judges a condition on one value of the results.
func (r *run) expectValue(c catalog.Condition, res *Results, o Options) Expectation {
	e := Expectation{Condition: c.Text, Result: ResultMiss}
	found := r.observed(c, res, o)
	if found.why != "" {
		e.Why = "not observed: " + found.why
		return e
	}
	e.Value, e.Word, e.Unit, e.N, e.CI = found.value, found.word, found.unit, found.n, found.ci
	var met bool
	if c.Number != nil {
		met = compareTo(c.Op, *e.Value, *c.Number)
	} else {
		want := c.Word
		if c.Bool != nil {
			want = strconv.FormatBool(*c.Bool)
		}
		met = compareTo(c.Op, e.Word, want)
	}
	if met {
		e.Result = ResultPass
	}
	if c.Number != nil && e.CI != nil && *e.CI[0] <= *c.Number && *c.Number <= *e.CI[1] {
		e.Why = "the 95 % interval holds the limit: another run may decide otherwise"
	}
	return e
}

// observation is one value of the results; why says what kept it from being one.
type observation struct {
	value *float64
	word  string
	unit  string
	n     int64
	ci    *[2]*float64
	why   string
}

// observed finds the value that a condition or a question names.
func (r *run) observed(c catalog.Condition, res *Results, o Options) observation {
	def, _ := catalog.Find(c.Name, c.Kind)
	ob := observation{unit: def.Unit}
	absent := func(why string) observation {
		if why == "" {
			why = "no such value in this run"
		}
		ob.why = why
		return ob
	}
	switch c.Kind {
	case catalog.KindVerdict:
		ob.word = strconv.FormatBool(res.Verdict.Fit)
		return ob
	case catalog.KindCheck:
		name := strings.TrimPrefix(c.Name, "checks.")
		for _, k := range res.Verdict.Checks {
			if k.Name != name {
				continue
			}
			if c.Stat == "" {
				ob.word, ob.unit = k.Result, ""
				return ob
			}
			if ob.value, ob.unit = k.Value, k.Unit; k.Value == nil {
				return absent(k.Why)
			}
			return ob
		}
		return absent(notMerged)
	case catalog.KindCount, catalog.KindLoad:
		section, rest, _ := strings.Cut(c.Name, ".")
		v := reflect.ValueOf(res.Counts)
		if section == "load" {
			v = reflect.ValueOf(res.Load)
		}
		if ob.value, ob.word = named(v, rest); ob.value == nil && ob.word == "" {
			return absent(def.Absent)
		}
		return ob
	}
	w, err := r.windowNamed(c.Window, res, o)
	if err != nil {
		return absent(err.Error())
	}
	if w.From == nil {
		return absent(noWindow(w))
	}
	if c.Kind == catalog.KindMetric {
		s := w.Metrics[c.Name]
		if s == nil || s.N == 0 && c.Stat != "n" {
			return absent(def.Absent)
		}
		ob.n = s.N
		if ob.value, _ = named(reflect.ValueOf(*s), c.Stat); ob.value == nil {
			why := fmt.Sprintf("%s of %s cannot be had from n = %d", c.Stat, c.Name, s.N)
			if _, isQuantile := quantileOf(c.Stat); isQuantile {
				why += ": no sample is to be expected beyond it, so that it would be the maximum under another name"
			}
			return absent(why)
		}
		if c.Stat == "n" || c.Stat == "n_eff" {
			ob.unit = ""
		}
		ob.ci = interval(s.CI, c.Stat)
		return ob
	}
	for _, v := range []any{*w, w.System, w.Facts} {
		if ob.value, ob.word = named(reflect.ValueOf(v), c.Name); ob.value != nil || ob.word != "" {
			ob.ci = interval(w.System.CI, c.Name)
			return ob
		}
	}
	return absent(def.Absent)
}

// noWindow says why a window does not exist.
func noWindow(w *Window) string {
	if strings.HasPrefix(w.Why, "no ") {
		return w.Why
	}
	return fmt.Sprintf("this run has no window %s: %s", w.Kind, w.Why)
}

func interval(ci map[string][2]*float64, name string) *[2]*float64 {
	if i, ok := ci[name]; ok && i[0] != nil && i[1] != nil {
		return &i
	}
	return nil
}

// windowNamed is a window of the results, or one made for the occasion.
func (r *run) windowNamed(kind string, res *Results, o Options) (*Window, error) {
	for i := range res.Windows {
		if res.Windows[i].Kind == kind {
			return &res.Windows[i], nil
		}
	}
	if err := window.Check(kind); err != nil {
		return nil, err
	}
	if w := r.extra[kind]; w != nil {
		return w, nil
	}
	iv := window.ChooseOver(kind, r.reqs, r.groups)
	if !r.look([][]int{iv.Cohort}, cuts([]window.Interval{iv})) {
		return nil, r.later.err
	}
	w := r.table(iv, o)
	r.extra[kind] = &w
	return &w, nil
}

// named is the value of that JSON name in a struct of results: of a field, of an
// entry of a map that is a field (by_class.timeout), of a struct that is one, or of
// a map of rows. Counts of what never came are 0.
func named(v reflect.Value, name string) (*float64, string) {
	head, rest, dotted := strings.Cut(name, ".")
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i)
		key, _, _ := strings.Cut(tag.Tag.Get("json"), ",")
		if key == head && !dotted {
			return number(f)
		}
		if f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct && key == head && dotted && !f.IsNil() {
			return named(f.Elem(), rest)
		}
		if m, ok := f.Interface().(map[string]int64); ok && key == head && dotted {
			return ref(float64(m[rest])), ""
		}
		if m, ok := f.Interface().(map[string]*float64); ok && m[name] != nil {
			return m[name], ""
		}
	}
	return nil, ""
}

func number(f reflect.Value) (*float64, string) {
	switch v := f.Interface().(type) {
	case *float64:
		return v, ""
	case float64:
		return &v, ""
	case int64:
		return ref(float64(v)), ""
	case *int64:
		if v != nil {
			return ref(float64(*v)), ""
		}
	case string:
		return nil, v
	}
	return nil, ""
}

// expectEvery judges a condition on every request: ok ones of the measured phase,
// or, where the value is of a failure too, all that were issued.
func (r *run) expectEvery(c catalog.Condition) Expectation {
	e := Expectation{Condition: c.Text, Result: ResultPass}
	def, _ := catalog.Find(c.Name, c.Kind)
	e.Unit = def.Unit
	of := r.requestValue(c.Name)
	var other func(i int) requestValue
	if c.Other != "" {
		other = r.requestValue(c.Other)
	}
	seen := c.Word == "" || catalog.WordOf(c.Name, c.Kind, c.Word)
	r.eachMeasured(func(i int, q *metric.Request) {
		if !q.OK && !def.EveryOutcome {
			return
		}
		e.N++
		v := of(i)
		seen = seen || v.word == c.Word
		var met bool
		want := requestValue{ok: true, word: c.Word}
		switch {
		case other != nil:
			want = other(i)
		case c.Number != nil:
			want.value = *c.Number
		}
		switch {
		case !v.ok || !want.ok:
			met = false
			e.Absent++
		case def.Word:
			met = compareTo(c.Op, v.word, want.word)
		default:
			met = compareTo(c.Op, v.value, want.value)
		}
		if met {
			return
		}
		if e.Result = ResultMiss; v.ok && want.ok {
			e.Missed++
		}
		if len(e.Rows) < expectRows {
			row := ExpectRow{Seq: q.Seq, DatasetRow: r.facts[i].row, Word: v.word}
			if v.ok && !def.Word {
				row.Value = &v.value
			}
			e.Rows = append(e.Rows, row)
		}
	})
	who := "ok requests"
	if def.EveryOutcome {
		who = "requests"
	}
	switch {
	case e.N == 0:
		e.Result, e.Why = ResultMiss, "not observed: there are no "+who+" to judge by"
	case e.Result == ResultPass && !seen: // != a word that cannot be told from a mistake
		e.Result, e.Why = ResultMiss, fmt.Sprintf("not observed: %s is %q nowhere in this run, and no API that is known here says so", c.Name, c.Word)
	case e.Result == ResultPass:
		e.Why = fmt.Sprintf("all %s %s", thousands(e.N), who)
	default:
		e.Why = fmt.Sprintf("%s of %s %s miss it", thousands(e.Missed+e.Absent), thousands(e.N), who)
		if e.Absent > 0 {
			why := def.Absent
			if why == "" {
				why = "the tape does not say"
			}
			e.Why += fmt.Sprintf(", %s without a value (%s)", thousands(e.Absent), why)
		}
	}
	return e
}

// requestValue is a value of one request.
type requestValue struct {
	value float64
	word  string
	ok    bool
}

// requestValue is the accessor of a value by its name in the catalogue.
func (r *run) requestValue(name string) func(i int) requestValue {
	num := func(f func(q *metric.Request) (float64, bool)) func(i int) requestValue {
		return func(i int) requestValue {
			v, ok := f(&r.reqs[i])
			return requestValue{value: v, ok: ok}
		}
	}
	tokens := func(f func(q *metric.Request) int64) func(i int) requestValue { return num(count(f)) }
	word := func(f func(f *fact) string) func(i int) requestValue {
		return func(i int) requestValue {
			w := f(&r.facts[i])
			return requestValue{word: w, ok: w != ""}
		}
	}
	whole := func(f func(f *fact) int) func(i int) requestValue {
		return func(i int) requestValue {
			n := f(&r.facts[i])
			return requestValue{value: float64(n), ok: n != 0}
		}
	}
	switch name {
	case "tokens.input":
		return tokens(func(q *metric.Request) int64 { return q.Input })
	case "tokens.output":
		return tokens(func(q *metric.Request) int64 { return q.Output })
	case "tokens.cached":
		return r.requestValue("cached_tokens")
	case "tokens.reasoning":
		return tokens(func(q *metric.Request) int64 { return q.ReasoningTokens })
	case "asked.output":
		return tokens(func(q *metric.Request) int64 { return q.Asked })
	case "asked.input":
		return tokens(func(q *metric.Request) int64 { return q.AskedInput })
	case "asked.cached":
		return func(i int) requestValue {
			n := r.facts[i].expected
			return requestValue{value: float64(n), ok: n != metric.Absent}
		}
	case "itl_mean_ms", "itl_max_ms":
		return num(func(q *metric.Request) (float64, bool) {
			v, top := itlStats(q)
			if name == "itl_max_ms" {
				v = top
			}
			if v == nil {
				return 0, false
			}
			return *v, true
		})
	case "finish":
		return word(func(f *fact) string { return f.finish })
	case "outcome":
		return word(func(f *fact) string { return string(f.outcome) })
	case "http_status":
		return whole(func(f *fact) int { return f.status })
	case "attempts":
		return whole(func(f *fact) int { return max(1, f.attempts) })
	}
	for _, d := range r.definitions() {
		if d.key == name && d.value != nil {
			return num(d.value)
		}
	}
	return func(int) requestValue { return requestValue{} }
}
