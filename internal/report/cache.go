package report

import (
	"fmt"
	"strconv"
	"strings"

	"tokentape/internal/analysis"
)

// cacheInShort is the line of the first page, also where nothing is known of the cache:
// a TTFT means little without it. Where something was expected of it and cannot be
// seen, the note cache_state says so already.
func (c *console) cacheInShort() {
	x := c.r.Cache
	if x == nil || x.All.Requests == 0 || x.Verdict == analysis.CacheHidden && len(x.Witnesses) == 0 && x.Plan != nil && !x.Plan.Zero {
		return
	}
	line := x.Line
	if x.Verdict == analysis.CacheHidden && x.Contradicted == 0 && x.Plan == nil && len(x.Witnesses) == 0 {
		line = "cached tokens " + absent // nothing was expected of it: why is with --full
	}
	c.hang("  "+pad("cache", 10, false), clean(line), plain)
}

// cache is what can be said of the prefix cache, and from what.
func (c *console) cache() {
	x := c.r.Cache
	if x == nil {
		return
	}
	c.heading("Prefix cache: " + x.Verdict)
	c.fact("in words", clean(x.Line))
	if x.Do != "" {
		c.fact("→", clean(x.Do))
	}
	c.fact("counts", tristate(x.All))
	for _, e := range x.Evidence {
		if text := evidence(e); text != "" {
			c.fact("evidence", clean(text))
		}
	}
	if p := x.Plan; p != nil {
		c.fact("plan", planned(p))
	}
	if t := x.Tiers; t != nil {
		c.fact("where", clean(tiers(t)))
	}
	for _, w := range x.Witnesses {
		c.fact("beside", clean(join(": ", w.Source, join(", ", percentOf(w.Ratio), w.Says))))
	}
	c.cacheTables()
}

// cacheTables are first touches beside repeats, groups, and the run cut into slices.
func (c *console) cacheTables() {
	x := c.r.Cache
	nominal := x.All.NominalRatio != nil
	head := func(first string) []string {
		h := []string{first, "requests", "observed", "inferred 0", "not observed", "cached ÷ input"}
		if nominal {
			h = append(h, "expected")
		}
		return h
	}
	line := func(label string, s analysis.CacheShare) row {
		cells := []string{label, count(s.Requests), count(s.Observed), count(s.Inferred), count(s.NotObserved), percentOf(s.Ratio)}
		if nominal {
			cells = append(cells, percentOf(s.NominalRatio))
		}
		return row{cells: cells}
	}
	if t := x.Touches; t != nil && t.Repeat.Requests+t.Beside.Requests > 0 {
		rows := []row{line("first touch", t.First)}
		if t.Beside.Requests > 0 {
			rows = append(rows, line("in flight with it", t.Beside))
		}
		c.blank()
		c.table(table{head: head("by touch"), rows: append(rows, line("repeat", t.Repeat))})
	}
	if len(x.Groups) > 0 {
		t := table{head: append(head("prefix group"), "first", "repeats")}
		for _, g := range x.Groups {
			r := line(clean(groupLabel(g.Name)), g.CacheShare)
			first := percentOf(g.FirstRatio)
			if g.FirstRatio == nil && g.FirstMissing != "" {
				first = clean(g.FirstMissing)
			}
			r.cells = append(r.cells, first, percentOf(g.RepeatRatio))
			t.rows = append(t.rows, r)
		}
		if x.Rest != nil {
			r := line(fmt.Sprintf("%s others", count(x.GroupCount-int64(len(x.Groups)))), *x.Rest)
			r.cells = append(r.cells, "", "")
			t.rows = append(t.rows, r)
		}
		c.blank()
		c.table(t)
	}
	if len(x.Time) > 0 {
		t := table{head: head("released, s")}
		for _, s := range x.Time {
			t.rows = append(t.rows, line(num(s.From)+" to "+num(s.To), s.CacheShare))
		}
		c.blank()
		c.table(t)
	}
}

// groupLabel shortens the name of a group for a cell.
func groupLabel(name string) string {
	const most = 24
	if n := []rune(name); len(n) > most {
		return string(n[:9]) + "…" + string(n[len(n)-most+10:])
	}
	return name
}

// tristate is of how many requests the count was observed, inferred or neither.
func tristate(s analysis.CacheShare) string {
	text := fmt.Sprintf("observed in %s, inferred 0 in %s, not observed in %s of %s ok %s", count(s.Observed), count(s.Inferred), count(s.NotObserved), count(s.Requests), plural(s.Requests, "request"))
	if s.Ratio != nil {
		text += fmt.Sprintf(" · Σ cached ÷ Σ input = %s ÷ %s over %s", whole(s.Cached), whole(s.Input), count(s.N))
	}
	return text
}

// evidence is what a count that was left out means, and from what.
func evidence(e analysis.CacheEvidence) string {
	of := e.Server
	if e.Part != nil {
		of = join(", ", fmt.Sprintf("part %d", *e.Part), of)
	}
	means := "not observed"
	if e.MissingIsZero {
		means = "an inferred 0"
	}
	return join(": ", of, join("; ", fmt.Sprintf("a count left out is %s (%s of these): %s", means, count(e.Missing), e.Why), e.Contradicted))
}

func planned(p *analysis.CachePlanned) string {
	by := map[string]string{"spec": "workload.cache", "manifest": "the set's manifest"}[p.By]
	if p.N == 0 {
		return join(": ", by, fmt.Sprintf("%s tokens expected of %s input tokens in %s %s; served: %s", count(p.PlannedTokens), count(p.PlannedInput), count(p.Requests), plural(p.Requests, "request"), absent))
	}
	text := fmt.Sprintf("%s tokens expected, %s served, %s apart row by row, of %s input tokens in %s %s", count(p.Expected), count(p.Cached), count(p.Apart), count(p.Input), count(p.N), plural(p.N, "request"))
	if p.N < p.Requests {
		text += fmt.Sprintf(" (of %s of which something was expected)", count(p.Requests))
	}
	return join(": ", by, text)
}

func tiers(t *analysis.CacheTiers) string {
	var parts []string
	for _, x := range []struct {
		name string
		n    *int64
	}{{"device", t.Device}, {"host", t.Host}, {"storage", t.Storage}} {
		if x.n == nil {
			continue
		}
		text := x.name + " " + count(*x.n)
		if x.name == "storage" && len(t.Backends) > 0 {
			text += " (" + strings.Join(t.Backends, ", ") + ")"
		}
		parts = append(parts, text)
	}
	if t.Untold != 0 {
		parts = append(parts, "in no tier "+count(t.Untold))
	}
	return fmt.Sprintf("%s of %s cached tokens, in %s %s that say so", strings.Join(parts, " · "), count(t.Cached), count(t.N), plural(t.N, "request"))
}

// percentOf is a share as a cell, with a dash for none.
func percentOf(v *float64) string {
	if v == nil {
		return dash
	}
	return share(v)
}

// cacheRecords are the lines "cache" of stats.csv: the ratio of each set of requests,
// n behind it, its source the three counts.
func cacheRecords(x *analysis.Cache, put func(record)) {
	if x == nil {
		return
	}
	line := func(name string, s analysis.CacheShare, more func(record)) {
		rec := record{"row": "cache", "name": guard(name), "unit": "share", "n": strconv.FormatInt(s.N, 10),
			"source": fmt.Sprintf("observed %d, inferred %d, not observed %d", s.Observed, s.Inferred, s.NotObserved)}
		rec.float("value", s.Ratio)
		if more != nil {
			more(rec)
		}
		put(rec)
		if s.NominalRatio == nil {
			return
		}
		rec = record{"row": "cache", "name": guard("nominal_" + name), "unit": "share", "n": strconv.FormatInt(s.NominalN, 10), "from_s": rec["from_s"], "to_s": rec["to_s"]}
		rec.float("value", s.NominalRatio)
		put(rec)
	}
	line("cached_ratio", x.All, func(rec record) { rec["text"] = guard(join("; ", x.Verdict, x.Line, x.Do)) })
	if t := x.Touches; t != nil {
		line("first_touch_cached_ratio", t.First, nil)
		line("beside_first_cached_ratio", t.Beside, nil)
		line("repeat_cached_ratio", t.Repeat, nil)
	}
	for _, g := range x.Groups {
		line("cached_ratio of "+g.Name, g.CacheShare, nil)
	}
	if x.Rest != nil {
		line("cached_ratio of other groups", *x.Rest, nil)
	}
	for _, s := range x.Time {
		line("cached_ratio over time", s.CacheShare, func(rec record) { rec.float("from_s", &s.From); rec.float("to_s", &s.To) })
	}
	if t := x.Tiers; t != nil {
		for _, k := range []struct {
			name string
			n    *int64
		}{{"device_tokens", t.Device}, {"host_tokens", t.Host}, {"storage_tokens", t.Storage}, {"untold_tokens", &t.Untold}} {
			rec := record{"row": "cache", "name": k.name, "unit": "tokens", "n": strconv.FormatInt(t.N, 10)}
			rec.whole("value", k.n)
			put(rec)
		}
	}
	for _, w := range x.Witnesses {
		rec := record{"row": "cache", "name": guard("cached_ratio by " + w.Source), "unit": "share", "text": guard(w.Says)}
		rec.float("value", w.Ratio)
		put(rec)
	}
}
