package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tokentape/internal/analysis/metric"
	"tokentape/tape"
)

// replyName is a model's name in replies of one server.
type replyName struct {
	name  string // "": the one that was asked for
	n     int64
	first int64 // seq of the first such request, by the order of the plan
}

// replies are the names that the replies of each server gave, each server's in the
// order in which they came, and how many requests had a reply that named none.
func (r *run) replies() (by [][]replyName, silent int64) {
	by = make([][]replyName, len(r.servers))
	for i := range r.reqs {
		q, f := &r.reqs[i], &r.facts[i]
		if !f.model.OK || int(q.Server) >= len(by) {
			if q.OK {
				silent++
			}
			continue
		}
		at := slices.IndexFunc(by[q.Server], func(x replyName) bool { return x.name == f.model.V })
		if at < 0 {
			if len(by[q.Server]) == maxNamed {
				continue
			}
			at = len(by[q.Server])
			by[q.Server] = append(by[q.Server], replyName{name: f.model.V, first: q.Seq})
		}
		by[q.Server][at].n++
	}
	return by, silent
}

// maxNamed bounds how many names of one server are told apart.
const maxNamed = 100

// modelReplied: replies name the model that was asked for. Names that change in
// mid-run are another matter: server_changed.
func (r *run) modelReplied() Check {
	c := Check{Name: "model_replied", Severity: SeverityNote, Result: ResultNone, Unit: "share", Limit: ref(0),
		Why: "no reply named its model",
		Do:  "make sure that the name in the replies stands for the model that was meant: an alias, a path or an adapter's base does, a gateway's fallback does not"}
	var all, other int64
	var whys []string
	by, _ := r.replies()
	for i, names := range by {
		asked := r.askedOf(i)
		for _, x := range names {
			if all += x.n; x.name == "" || alias(asked, x.name) {
				continue
			}
			other += x.n
			what := "not the one that the body asked for"
			if asked != "" {
				what = fmt.Sprintf("not %q", short(asked, 60))
			}
			whys = append(whys, fmt.Sprintf("%s named %q, %s (first request %d)", plural(x.n, "reply"), short(x.name, 60), what, x.first))
		}
	}
	v, ok := share(other, all)
	if !ok {
		return c
	}
	c.Result, c.Value, c.Why = ResultPass, &v, fmt.Sprintf("%s named the model that was asked for", plural(all, "reply"))
	if other > 0 {
		c.Result, c.Why = ResultMiss, strings.ReplaceAll(few(whys, 3), "replys", "replies")
	}
	c.Why = strings.ReplaceAll(c.Why, "replys", "replies")
	return c
}

// askedOf is the model that requests to a server carried, "" where they name their own.
func (r *run) askedOf(server int) string {
	return r.asked(&metric.Request{Part: int32(r.servers[server].part)})
}

// alias reports whether a name surely stands for the model that was asked for: its path
// or the last part of it, or with a tag or a date behind it.
func alias(asked, name string) bool {
	if asked == "" || name == "" {
		return false
	}
	if asked == name || path.Base(asked) == name || path.Base(name) == asked || name == asked+":latest" {
		return true
	}
	rest, ok := strings.CutPrefix(name, asked+"-")
	return ok && len(rest) >= 4 && strings.Trim(rest, "0123456789-") == "" // gpt-4o-2024-08-06
}

// few joins the first n of some texts, and says how many more there are.
func few(texts []string, n int) string {
	if len(texts) <= n {
		return join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", join(texts[:n], "; "), len(texts)-n)
}

// testimony is what one server said of itself before and after the run.
type testimony struct {
	part          int64
	url           string
	before, after *tape.ServerFacts
}

// testimonies pairs the server lines.
func (r *run) testimonies() []testimony {
	var out []testimony
	for _, f := range r.said {
		at := slices.IndexFunc(out, func(t testimony) bool { return t.part == f.Part.Or(0) && t.url == f.URL })
		if at < 0 {
			at = len(out)
			out = append(out, testimony{part: f.Part.Or(0), url: f.URL})
		}
		switch {
		case f.When == tape.FactsBefore && out[at].before == nil:
			out[at].before = f
		case f.When == tape.FactsAfter:
			out[at].after = f
		}
	}
	return out
}

// changedFact is a fact that differs.
type changedFact struct{ name, before, after string }

func (s changedFact) String() string {
	return fmt.Sprintf("%s %s → %s", short(s.name, 100), short(cmp.Or(s.before, "(none)"), 60), short(cmp.Or(s.after, "(none)"), 60))
}

// shifts are the facts that changed: those that say that this is another server, or one
// that was set up anew; and numbers that may as well have moved under the load.
// compared is how many could be compared.
func (t testimony) shifts() (changed, moved []changedFact, compared int) {
	if t.before == nil || t.after == nil || !t.before.OK || !t.after.OK {
		return nil, nil, 0
	}
	b, a := t.before, t.after
	see := func(name, before, after string) {
		if before == "" || after == "" {
			return // not observed on one side
		}
		if compared++; before != after {
			changed = append(changed, changedFact{name, before, after})
		}
	}
	see("engine", b.Engine, a.Engine)
	see("version", b.Version, a.Version)
	if len(b.Models) > 0 && len(a.Models) > 0 {
		see("models", join(b.Models, ", "), join(a.Models, ", "))
	}
	heard := map[string]bool{} // endpoints that answered both times
	for name := range a.Facts {
		heard[endpointOf(name)] = true
	}
	told := map[string]bool{}
	for name := range b.Facts {
		told[endpointOf(name)] = true
	}
	names := maps.Clone(b.Facts)
	maps.Copy(names, a.Facts)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := endpointOf(name)
		if !heard[at] || !told[at] || a.Failed[at] != "" {
			continue
		}
		before, was := b.Facts[name]
		after, is := a.Facts[name]
		if !was && b.Left > 0 || !is && a.Left > 0 {
			continue // not all were kept
		}
		if compared++; was && is && before == after {
			continue
		}
		s := changedFact{name, before, after}
		// A number that came or went says as little as one that moved.
		if isNumber(cmp.Or(before, after)) && isNumber(cmp.Or(after, before)) && (was != is || !settled(name)) {
			moved = append(moved, s)
		} else if !covered(changed, name, after) {
			changed = append(changed, s)
		}
	}
	return changed, moved, compared
}

// covered reports whether a change is named already, as the version or the models.
func covered(changed []changedFact, name, after string) bool {
	return slices.ContainsFunc(changed, func(s changedFact) bool {
		return s.name == "version" && s.after == after || s.name == "models" && strings.HasPrefix(name, "/v1/models ")
	})
}

// endpointOf is the part of a fact's name that says who told it.
func endpointOf(name string) string {
	at, _, _ := strings.Cut(name, " ")
	return at
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// settledWords make a number of this name a setting, or the mark of a process: it does
// not move under load.
var settledWords = []string{
	"pid", "start", "started", "boot", "max", "min", "len", "length", "size", "limit", "version", "revision", "tp", "dp", "pp", "ep", "world", "rank", "seed",
	"parallel", "workers", "ctx", "layers", "vocab", "port", "nodes", "nnodes", "slots", "fraction",
}

// settled reports whether a number of this name does not move under load.
func settled(name string) bool {
	last := name[strings.LastIndexAny(name, ". ")+1:]
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(last), func(r rune) bool { return !unicode.IsLetter(r) }),
		func(w string) bool { return slices.Contains(settledWords, w) })
}

// factsChanged adds to what metrics pages tell of restarts what the server says of
// itself before and after, and which models its replies name.
func (r *run) factsChanged(c Check) Check {
	c.Unit = "changes"
	var whys []string
	if c.Result == ResultMiss {
		whys = append(whys, c.Why)
	}
	var changes int64
	compared, gone := 0, ""
	for _, t := range r.testimonies() {
		changed, _, n := t.shifts()
		compared += n
		if t.before != nil && t.before.OK && t.after != nil && !t.after.OK {
			gone = t.url
		}
		if len(changed) == 0 {
			continue
		}
		var texts []string
		for _, s := range changed {
			texts = append(texts, s.String())
		}
		changes += int64(len(changed))
		whys = append(whys, fmt.Sprintf("what %s says of itself changed in mid-run: %s", t.url, few(texts, 4)))
	}
	by, _ := r.replies()
	for i, names := range by {
		if len(names) < 2 || r.askedOf(i) == "" { // bodies that name their own models get replies of several
			continue
		}
		var texts []string
		for _, x := range names {
			texts = append(texts, fmt.Sprintf("%q in %s, first in %s", short(cmp.Or(x.name, r.askedOf(i)), 60), thousands(x.n), RequestName(x.first)))
		}
		changes++
		whys = append(whys, "replies of one server name several models: "+few(texts, 3))
	}
	switch same := fmt.Sprintf("what the server says of itself is the same before and after the run (%s)", plural(int64(compared), "fact")); {
	case len(whys) > 0:
		v := float64(changes)
		if c.Value != nil {
			v += *c.Value
		}
		c.Result, c.Value, c.Why = ResultMiss, &v, join(whys, "; ")
		if changes > 0 {
			c.Do = "find out what was restarted, replaced or set up anew in mid-run, then run again; behind a balancer measure each server by its own address"
		}
	case gone != "":
		text := fmt.Sprintf("%s said what it is before the run, and gave no answer after it", gone)
		if c.Result == ResultPass {
			text += "; " + c.Why
		}
		c.Why = text
	case compared > 0 && c.Result == ResultPass:
		c.Why += "; " + same
	case compared > 0:
		c.Result, c.Value, c.Why = ResultPass, ref(0), same
	case c.Result == ResultNone:
		c.Why += ", and what the server says of itself was not asked before and after the run"
	}
	return c
}
