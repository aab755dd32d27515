package spec

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// IsZero reports whether there is no sweep: without axes the rest says nothing.
func (s Sweep) IsZero() bool { return len(s.Over) == 0 }

// Names are the fields that the axis gives, one or several.
func (a Axis) Names() []string {
	if a.Field != "" {
		return []string{a.Field}
	}
	return a.Fields
}

// maxSteps bounds a range; who asks for more mistook a step for their number.
const maxSteps = 10_000

// Rows are the values of the axis, for each of its places one of each of its Names:
// those that are listed, or those of its range. whole: the field takes no fractions.
// Of a range that is rounded, equal neighbours are one place.
func (a Axis) Rows() [][]any {
	if a.From == nil || a.To == nil {
		rows := make([][]any, len(a.Values))
		for i, v := range a.Values {
			if rows[i] = []any{v}; len(a.Fields) > 0 {
				rows[i], _ = v.([]any)
			}
		}
		return rows
	}
	whole := takesWhole(a.Field)
	var rows [][]any
	last := math.NaN()
	for i := range a.Steps {
		share := 0.0
		if a.Steps > 1 {
			share = float64(i) / float64(a.Steps-1)
		}
		v := *a.From + share*(*a.To-*a.From)
		if a.Scale == "log" {
			v = *a.From * math.Pow(*a.To / *a.From, share)
		}
		switch {
		case i == a.Steps-1 && a.Steps > 1:
			v = *a.To
		case !whole:
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		}
		if whole {
			v = math.Round(v)
		}
		if v != last {
			rows = append(rows, []any{v})
		}
		last = v
	}
	return rows
}

// takesWhole reports whether a field takes whole numbers alone.
func takesWhole(path string) bool {
	v, ok := reach(reflect.ValueOf(Default()).Elem(), path)
	if ok && v.Kind() == reflect.Pointer {
		v = reflect.New(v.Type().Elem()).Elem()
	}
	return ok && v.Kind() == reflect.Int64 && v.Type() != reflect.TypeFor[Duration]()
}

// PointSet is an assignment that a point makes.
type PointSet struct {
	Set
	at place // of its value in a file; where there is none, Origin says it
}

// setPoint decodes one of them.
func (d *decoder) setPoint(set PointSet) {
	if set.at.line > 0 {
		d.setAt(set.at, set.Set)
		return
	}
	d.set(set.Set)
}

// SweepSets are the assignments of one place of an axis, whose values are that row of
// its Rows, with their positions: errors about them point there.
func (s *Spec) SweepSets(axis, row int, values []any) []PointSet {
	a := s.Sweep.Over[axis]
	sets := make([]PointSet, len(values))
	for i, v := range values {
		at := s.where(valuePath(a, axis, row, i))
		sets[i] = PointSet{Set{Path: a.Names()[i], Value: plainText(v), Origin: at.origin}, at}
	}
	return sets
}

func valuePath(a Axis, axis, row, i int) string {
	path := fmt.Sprintf("sweep.over[%d]", axis)
	switch {
	case a.From != nil:
		return path + ".from"
	case len(a.Fields) > 0:
		return fmt.Sprintf("%s.values[%d][%d]", path, row, i)
	}
	return fmt.Sprintf("%s.values[%d]", path, row)
}

// plainText is a single value as a flag gives it.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// SweepRequests is N of a point that has c requests in flight at most (0: no cap);
// false: sweep.requests is not given, or a multiple of a cap that there is not.
func (s *Spec) SweepRequests(c int64) (n int64, ok bool) {
	m := requestsText.FindStringSubmatch(s.Sweep.Requests)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if m[2] != "" {
		if c < 1 || n > maxCount/c {
			return 0, false
		}
		n *= c
	}
	return n, err == nil && n > 0 && n <= maxCount
}

// PerSlot reports whether sweep.requests is a multiple of the concurrency.
func (s Sweep) PerSlot() bool { return strings.HasSuffix(strings.ToUpper(s.Requests), "C") }

var requestsText = regexp.MustCompile(`^ *([0-9]{1,9})( ?[×x*]? ?[cC])? *$`)

// untilMetrics are what sweep.until can judge.
func untilMetrics() []string {
	var out []string
	for _, m := range []string{"ttft_ms", "tpot_ms", "e2e_ms"} {
		for _, q := range []string{"mean", "p50", "p90", "p95", "p99"} {
			out = append(out, m+"."+q)
		}
	}
	return out
}

// noAxis are the sections and fields that cannot vary in a sweep, and why.
var noAxis = map[string]string{
	"sweep": "it says itself what varies", "search": "it has points of its own",
	"name": "it names the folder of all points", "seeds.run": "the points share their seed; runs of one point are sweep.repeats",
}

// sweep checks the section.
func (c *checker) sweep() {
	w := c.s.Sweep
	for _, f := range []struct{ path, value string }{{"sweep.order", w.Order}, {"sweep.prompts", w.Prompts}, {"sweep.until.metric", w.Until.Metric}} {
		if all := choices()[f.path]; !slices.Contains(all, f.value) {
			message, hint := unknownChoice(f.value, all)
			c.bad(f.path, hint, "%s", message)
		}
	}
	c.duration("sweep.pause", w.Pause)
	c.duration("sweep.until.at_most", w.Until.AtMost)
	if w.Repeats < 1 || w.Repeats > 1000 {
		c.bad("sweep.repeats", "from 1 to 1000", "%d is no number of runs", w.Repeats)
	}
	if w.MostPoints < 1 {
		c.bad("sweep.most_points", "1 or more", "%d leaves no point", w.MostPoints)
	}
	if w.Requests != "" {
		if m := requestsText.FindStringSubmatch(w.Requests); m == nil || strings.Trim(m[1], "0") == "" {
			c.bad("sweep.requests", "such as 200, or 10C for ten of each slot", "%q is no number of requests", clip(w.Requests))
		}
	}
	if u := w.Until; u.RelativeWidth != 0 && !(u.RelativeWidth > 0 && u.RelativeWidth <= 1) {
		c.bad("sweep.until.relative_width", "above 0 to 1; 0.1 is within ten per cent", "%v is no width", u.RelativeWidth)
	}
	c.sweepURL(w.Between.Post)
	if len(w.Over) == 0 {
		if c.s.given("sweep.over") || c.s.from != nil && !c.s.wasSet("sweep") {
			return // [] takes the file's away
		}
	}
	seen := map[string]int{}
	hides := false
	for i, a := range w.Over {
		c.axis(i, a, seen)
		hides = hides || slices.ContainsFunc(a.Names(), secretPath)
	}
	for i := range c.issues { // whose lines may hold the secrets that were to vary
		if hides {
			c.issues[i].Excerpt = ""
		}
	}
}

func (c *checker) sweepURL(raw string) {
	if raw == "" || strings.HasPrefix(raw, "/") {
		return
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		c.bad("sweep.between.post", "http://HOST:PORT/flush_cache, or /flush_cache for each server", "%q is neither a URL nor a path", clip(maskURL(raw)))
	} else if u.User != nil {
		c.bad("sweep.between.post", "the key and headers of target are sent to its own servers", "a URL with user and password is not supported here")
	}
}

// sweepEffect lists which of the section's fields change nothing.
func (s *Spec) sweepEffect(idle func(when bool, path, why, mend string)) {
	w := s.Sweep
	const none = "sweep.over names no field that varies"
	for _, path := range []string{"sweep.requests", "sweep.until", "sweep.order", "sweep.repeats", "sweep.pause", "sweep.between", "sweep.prompts", "sweep.most_points", "sweep.expected"} {
		idle(w.IsZero() && !s.given("sweep.over"), path, none, "give sweep.over, such as [{field: load.concurrency, values: [1, 2, 4]}]; or remove it")
	}
	idle(!w.IsZero() && w.Order == "interleaved" && w.Repeats == 1, "sweep.order", "interleaved takes the repeats of all points in turns, and sweep.repeats is 1", "give sweep.repeats, or another order such as shuffled")
	idle(w.Until.RelativeWidth == 0, "sweep.until", "sweep.until.relative_width is not given", "give it, such as 0.1, or remove sweep.until")
}

// checkSweep is what checkTogether is to a run: the fields of a sweep side by side.
// The rest is checked point by point, since its fields may be given by the points.
func (s *Spec) checkSweep() []Issue {
	c := &checker{s: s}
	w := s.Sweep
	seen := map[string]bool{}
	s.sweepEffect(func(when bool, path, why, mend string) {
		if when && s.given(path) && !seen[path] {
			seen[path] = true
			c.bad(path, mend, "has no effect: %s", why)
		}
	})
	if w.Until.RelativeWidth > 0 {
		switch {
		case w.Until.AtMost == 0:
			c.bad("sweep.until.at_most", "such as 60s", "a point needs an end, however far its measurements scatter")
		case w.Requests != "":
			c.bad("sweep.requests", "keep one", "sweep.until says when a point ends")
		}
	}
	// Of what stands in the file a flag may say otherwise; of two flags one is a mistake.
	if at, ok := s.from["load.requests"]; ok && flagged(at.origin, "load.requests") && (w.Requests != "" || w.Until.RelativeWidth > 0) && !w.IsZero() {
		c.bad("load.requests", "--each N for the requests of each point, or leave "+at.origin+" out", "has no effect: sweep.requests or sweep.until says how many requests a point has")
	}
	if at, ok := s.from["load.duration"]; ok && flagged(at.origin, "load.duration") && w.Until.RelativeWidth > 0 && !w.IsZero() {
		c.bad("load.duration", "--set sweep.until.at_most=…, or leave "+at.origin+" out", "has no effect: sweep.until.at_most says how long a point is at most")
	}
	for i, a := range w.Over {
		if slices.ContainsFunc(a.Names(), secretPath) {
			continue // refused
		}
		for k, name := range a.Names() {
			path := fmt.Sprintf("sweep.over[%d].field", i)
			if len(a.Fields) > 0 {
				path = fmt.Sprintf("sweep.over[%d].fields[%d]", i, k)
			}
			if at, ok := s.from[name]; ok && flagged(at.origin, name) {
				c.bad(path, "leave "+at.origin+" out, or take the field out of the sweep", "%s is given by %s too, and every point gives it another value", name, at.origin)
			}
			if name == "load.requests" && (w.Requests != "" || w.Until.RelativeWidth > 0) {
				c.bad(path, "leave sweep.requests and sweep.until out", "sweep.requests or sweep.until says how many requests a point has")
			}
			if name == "load.duration" && w.Until.RelativeWidth > 0 {
				c.bad(path, "leave sweep.until out", "sweep.until.at_most says how long a point is at most")
			}
		}
	}
	return c.issues
}

// flagged reports whether a field's value came from a flag.
func flagged(origin, field string) bool {
	return origin == "--set "+field || strings.HasPrefix(origin, "--")
}

// axis checks one of sweep.over. seen holds the fields of those before.
func (c *checker) axis(i int, a Axis, seen map[string]int) {
	path := fmt.Sprintf("sweep.over[%d]", i)
	example := "{field: load.concurrency, values: [1, 2, 4, 8]}"
	ranged := a.From != nil || a.To != nil || a.Steps != 0 || a.Scale != ""
	switch {
	case a.Field == "" && len(a.Fields) == 0:
		c.bad(path, example, "names no field")
		return
	case a.Field != "" && len(a.Fields) > 0:
		c.bad(path+".fields", "keep one: field for one, fields for several that go together", "both field and fields are given")
		return
	case ranged && len(a.Values) > 0:
		c.bad(path, "keep one", "both values and a range are given")
		return
	case !ranged && len(a.Values) == 0:
		c.bad(path, example+", or {field: load.rate, from: 1, to: 16, steps: 5}", "%s has no values", strings.Join(a.Names(), ", "))
		return
	case ranged && len(a.Fields) > 0:
		c.bad(path, "values: [[128, 8], [1024, 1]]", "several fields take lists of values, not a range")
		return
	}
	fine := true
	for k, name := range a.Names() {
		at := path + ".field"
		if len(a.Fields) > 0 {
			at = fmt.Sprintf("%s.fields[%d]", path, k)
		}
		if first, again := seen[name]; again {
			c.bad(at, "keep one", "%s varies twice, first in sweep.over[%d]", name, first)
			fine = false
		}
		seen[name] = i
		fine = c.axisField(at, name) && fine
	}
	if fine && ranged {
		fine = c.axisRange(path, a)
	}
	if fine {
		c.axisValues(path, i, a)
	}
}

// axisField reports whether a field can vary.
func (c *checker) axisField(at, name string) bool {
	for section, why := range noAxis {
		if within(name, section) {
			c.bad(at, "another field", "%s cannot vary: %s", name, why)
			return false
		}
	}
	if secretPath(name) {
		c.bad(at, "points of other keys are runs of their own", "%s cannot vary: its values would stand in the table", name)
		return false
	}
	v, ok := reach(reflect.ValueOf(Default()).Elem(), name)
	switch {
	case ok && (scalarKind(v) || v.Type() == reflect.TypeFor[Devices]()):
		return true
	case ok:
		c.bad(at, "a field in it", "%s is no single value that could vary", name)
		return false
	case strings.HasPrefix(name, "workload.sampling.") || strings.HasPrefix(name, "notes."):
		return true
	}
	d := &decoder{spec: Default(), from: map[string]place{}}
	parent, key := split(name)
	d.unknownKey(place{origin: "-"}, parent, key)
	c.bad(at, d.issues[0].Hint, "there is no field %s", clip(name))
	return false
}

// axisRange checks a range.
func (c *checker) axisRange(path string, a Axis) bool {
	n := len(c.issues)
	whole := takesWhole(a.Field)
	if v, ok := reach(reflect.ValueOf(Default()).Elem(), a.Field); ok && !whole && v.Kind() != reflect.Float64 {
		c.bad(path, "values: […]", "%s takes no numbers, so that it has no range", a.Field)
		return false
	}
	switch {
	case a.From == nil || a.To == nil || a.Steps == 0:
		c.bad(path, "{from: 1, to: 16, steps: 5}", "a range needs from, to and steps")
	case a.Scale != "" && !slices.Contains(choices()["sweep.over.scale"], a.Scale):
		message, hint := unknownChoice(a.Scale, choices()["sweep.over.scale"])
		c.bad(path+".scale", hint, "%s", message)
	case a.Steps < 2 || a.Steps > maxSteps:
		c.bad(path+".steps", fmt.Sprintf("from 2 to %d, both ends included", maxSteps), "%d is no number of points", a.Steps)
	case !(*a.From < *a.To):
		c.bad(path+".from", "sweep.order: down begins with the highest", "%v is not below to, which is %v", *a.From, *a.To)
	case a.Scale == "log" && *a.From <= 0:
		c.bad(path+".from", "above 0, or scale: linear", "equal ratios cannot begin at %v", *a.From)
	case !whole && len(a.Rows()) < int(a.Steps):
		c.bad(path+".steps", "a wider range, or fewer steps", "%d points from %v to %v are not told apart: of %d the six digits of a step are the same", a.Steps, *a.From, *a.To, int(a.Steps)-len(a.Rows()))
	case whole && (*a.From != math.Round(*a.From) || *a.To != math.Round(*a.To)):
		c.bad(path, "whole numbers", "%s takes whole numbers alone", a.Field)
	}
	return len(c.issues) == n
}

// axisValues tries every value on its field, and refuses those given twice.
func (c *checker) axisValues(path string, i int, a Axis) {
	names := a.Names()
	seen := map[string]int{}
	rows := a.Rows()
	for row, raw := range rows {
		if a.From != nil && row > 0 && row < len(rows)-1 {
			continue // what lies between two that are fine is fine
		}
		at := fmt.Sprintf("%s.values[%d]", path, row)
		if len(a.Fields) > 0 && len(raw) != len(names) {
			c.bad(at, fmt.Sprintf("[%s]", strings.Join(names, ", ")), "a list of %d values is needed, one for each field, not of %d", len(names), len(raw))
			return
		}
		var key strings.Builder
		fine := true
		for k, v := range raw {
			switch v.(type) {
			case string, bool, int64, float64:
			default:
				c.bad(valuePath(a, i, row, k), "single values; those of several fields are lists: {fields: […], values: [[…], […]]}", "%s takes one value at a point", names[k])
				fine = false
				continue
			}
			fmt.Fprintf(&key, "%s\x00", plainText(v))
		}
		if !fine {
			return
		}
		if first, again := seen[key.String()]; again {
			c.bad(at, "keep one; sweep.repeats runs every point several times", "the same as values[%d]", first)
			continue
		}
		seen[key.String()] = row
		d := &decoder{spec: Default(), from: map[string]place{}, env: func(string) (string, bool) { return "", false }}
		for _, set := range c.s.SweepSets(i, row, raw) {
			d.setPoint(set)
		}
		issues := d.issues
		if len(issues) == 0 {
			d.spec.from = d.from
			for _, is := range d.spec.checkFields() {
				if slices.ContainsFunc(names, func(n string) bool { return within(is.Field, n) }) {
					issues = append(issues, is)
				}
			}
		}
		c.issues = append(c.issues, issues...)
		if len(issues) > 0 && a.From != nil {
			return // one position for all of the range
		}
	}
}

// point makes s that of one point: the sweep is over, and its requests and bounds are
// the load's.
func (d *decoder) point(s *Spec, sets []PointSet) {
	w := s.Sweep
	for _, set := range sets {
		d.setPoint(set)
	}
	at := func(path string) place {
		if p, ok := d.from[path]; ok {
			return p
		}
		return place{origin: path}
	}
	if w.Requests != "" {
		c := s.Load.Concurrency
		if s.Load.Open() && !given(d, "load.concurrency") {
			c = 0
		}
		n, ok := s.SweepRequests(c)
		if !ok {
			d.add(at("sweep.requests").issue("sweep.requests", "a plain number, or give load.concurrency", "%s: this point has no cap on requests in flight, or too many would be sent", w.Requests))
		} else {
			s.Load.Requests, d.from["load.requests"] = n, at("sweep.requests")
		}
	}
	if w.Until.RelativeWidth > 0 {
		s.Load.Requests, s.Load.Duration = 0, w.Until.AtMost
		d.forget("load.requests")
		d.from["load.duration"] = at("sweep.until.at_most")
	}
	s.Sweep, s.Search = Default().Sweep, Default().Search
	d.forget("sweep")
	d.forget("search")
}

// ReadPoint is Read of one point of a sweep: path and sets as the sweep was read, then
// what the point gives (SweepSets), and no sweep any more.
func ReadPoint(path string, env func(string) (string, bool), sets []Set, point []PointSet) (*Spec, []Issue) {
	return readThen(path, env, sets, func(d *decoder) { d.point(d.spec, point) })
}

// pathFields are the settings that name files or folders, which in a spec's file are
// relative to its folder.
var pathFields = []string{"workload.dataset.path", "prepare.dataset", "target.tokenizer", "target.ca_file", "target.cert_file", "target.key_file", "energy.power_file", "provenance.source"}

// IsPath reports whether a field names a file or folder.
func IsPath(field string) bool { return slices.Contains(pathFields, field) }

// sweepPaths changes the values of axes that name files.
func (s *Spec) sweepPaths(change func(string) string) {
	for i, a := range s.Sweep.Over {
		for k, name := range a.Names() {
			if !slices.Contains(pathFields, name) {
				continue
			}
			for row, v := range a.Values {
				list, paired := v.([]any)
				switch {
				case paired && k < len(list):
					if text, ok := list[k].(string); ok && text != "" {
						list[k] = change(text)
					}
				case !paired:
					if text, ok := v.(string); ok && text != "" {
						s.Sweep.Over[i].Values[row] = change(text)
					}
				}
			}
		}
	}
}

// clone shares nothing with w.
func (w Sweep) clone() Sweep {
	w.Over = slices.Clone(w.Over)
	for i := range w.Over {
		a := &w.Over[i]
		a.Fields = slices.Clone(a.Fields)
		a.Values, _ = cloneAny(a.Values).([]any)
		for _, p := range []**float64{&a.From, &a.To} {
			if *p != nil {
				v := **p
				*p = &v
			}
		}
	}
	return w
}

// eachValue changes every text among the values of a copy that is its own.
func (w Sweep) eachValue(change func(string) string) {
	for i := range w.Over {
		if v, ok := eachText(w.Over[i].Values, change).([]any); ok {
			w.Over[i].Values = v
		}
	}
}

// flow writes a on one line.
func (a Axis) flow() string {
	var parts []string
	add := func(key, value string) { parts = append(parts, key+": "+value) }
	if a.Field != "" {
		add("field", text(a.Field))
	}
	if len(a.Fields) > 0 {
		add("fields", flow(a.Fields))
	}
	if len(a.Values) > 0 {
		add("values", flow(a.Values))
	}
	for _, f := range []struct {
		key string
		v   *float64
	}{{"from", a.From}, {"to", a.To}} {
		if f.v != nil {
			add(f.key, strconv.FormatFloat(*f.v, 'f', -1, 64))
		}
	}
	if a.Steps != 0 {
		add("steps", flow(a.Steps))
	}
	if a.Scale != "" {
		add("scale", text(a.Scale))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// notOfSweep are the paths that the text of a spec with a sweep leaves out: what was
// not given. A default that is written down counts as given when it is read back, and
// may mean something beside the values of a point that it does not mean by default.
func (s *Spec) notOfSweep() map[string]bool {
	skip := map[string]bool{}
	if s.from == nil {
		return skip
	}
	for _, p := range allPaths() {
		if !s.wasSet(p) && p != "name" && !within(p, "target.headers") {
			skip[p] = true
		}
	}
	maps.DeleteFunc(skip, func(p string, _ bool) bool { return strings.Contains(p, "sweep.over.") })
	return skip
}

// Masks are the settings that hold a mask in place of the secret that they held when
// the spec was written down.
func (s *Spec) Masks() []Issue {
	c := &checker{s: s}
	c.masks()
	if s.Target.APIKey == mask {
		c.note("target.api_key", "", "*** is a mask, not a key")
	}
	for i, m := range s.Telemetry.Metrics {
		if m.APIKey == mask {
			c.note(fmt.Sprintf("telemetry.metrics[%d].api_key", i), "", "*** is a mask, not a key")
		}
	}
	return c.issues
}
