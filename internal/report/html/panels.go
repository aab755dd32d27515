package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
)

// panel is a section of sentences and tables that page.html lays out.
type panel struct {
	ID, Title string // Title is a key of the dictionary
	Fold      bool   // folded away until it is asked for
	Absent    string // a key: what is said in place of everything
	Says      []string
	Do        string
	Grids     []table
	After     []string // remarks below the tables
}

// table is one table: its first column are heads of rows. Head are keys of the
// dictionary, or text where there is no such key.
type table struct {
	Window string // shown with this window alone; "": with all
	Plain  string // title, text
	Key    string // title, key
	Head   []string
	Own    bool // Head is text of others, whatever the dictionary has
	Text   int  // columns from the left that hold text
	Rows   [][]string
	Links  [][]string // where the cells of Rows lead; nil, or short: nowhere
}

// add appends a row with where its cells lead, from the left.
func (t *table) add(cells, links []string) {
	for len(t.Links) < len(t.Rows) {
		t.Links = append(t.Links, nil)
	}
	t.Rows, t.Links = append(t.Rows, cells), append(t.Links, links)
}

// Link is where a cell leads, "" for nowhere, as what is absent does.
func (t table) Link(row, column int) string {
	if row < len(t.Links) && column < len(t.Links[row]) && t.Rows[row][column] != "" && t.Rows[row][column] != "–" {
		return t.Links[row][column]
	}
	return ""
}

// trim leaves out columns, of those beyond the text, in which no row has anything.
func (t table) trim() table {
	for k := len(t.Head) - 1; k >= max(1, t.Text); k-- {
		if slices.ContainsFunc(t.Rows, func(r []string) bool { return k < len(r) && r[k] != "" }) {
			continue
		}
		t.Head = slices.Delete(slices.Clone(t.Head), k, k+1)
		for i, r := range t.Rows {
			if k < len(r) {
				t.Rows[i] = slices.Delete(r, k, k+1)
			}
			if i < len(t.Links) && k < len(t.Links[i]) {
				t.Links[i] = slices.Delete(t.Links[i], k, k+1)
			}
		}
	}
	return t
}

func n(v int64) string { return report.Number(float64(v)) }

// unlessZero is a count, "" for 0.
func unlessZero(v int64) string {
	if v == 0 {
		return ""
	}
	return n(v)
}

// unlessNil is where a number leads that may be absent.
func unlessNil(v *float64, l rowsLink) string {
	if v == nil {
		return ""
	}
	return target(l)
}

func shareOf(v *float64) string { text, _ := share(v); return text }

// cachePanel is what is known of the prefix cache, and from what.
func cachePanel(c *analysis.Cache) panel {
	p := panel{ID: "cache", Title: "cache"}
	if c == nil {
		p.Absent = "cache.none"
		return p
	}
	p.Says, p.Do = []string{c.Line}, c.Do
	if c.All.Observed+c.All.Inferred == 0 && c.Plan == nil {
		p.Absent = "cache.none"
	}
	head := func(first string) []string {
		return []string{first, "requests", "observed_n", "inferred_n", "not_observed", "cached_share", "nominal"}
	}
	line := func(label string, s analysis.CacheShare) []string {
		nominal := ""
		if s.NominalRatio != nil {
			nominal = shareOf(s.NominalRatio)
		}
		return []string{label, n(s.Requests), n(s.Observed), n(s.Inferred), n(s.NotObserved), shareOf(s.Ratio), nominal}
	}
	// links are those of a line, of ok measured requests whose columns hold is.
	links := func(s analysis.CacheShare, is map[string]string) []string {
		of := func(source string) rowsLink {
			l := rowsLink{Phase: "measure", Outcome: "ok", Is: map[string]string{}}
			maps.Copy(l.Is, is)
			if source != "*" {
				l.Is["cached_source"] = source
			}
			return l
		}
		known := of("*")
		known.Has, known.Sort = []string{"cached", "input"}, "cached"
		return []string{"", counted(s.Requests, of("*")), counted(s.Observed, of(analysis.CachedObserved)), counted(s.Inferred, of(analysis.CachedInferred)), counted(s.NotObserved, of("")), unlessNil(s.Ratio, known), unlessNil(s.NominalRatio, of("*"))}
	}
	t := table{Head: head("part"), Text: 1}
	t.add(line("all", c.All), links(c.All, nil))
	if x := c.Touches; x != nil && x.Repeat.Requests+x.Beside.Requests > 0 {
		for _, y := range []struct {
			label, touch string
			share        analysis.CacheShare
		}{{"first touch", analysis.TouchFirst, x.First}, {"in flight with it", analysis.TouchBeside, x.Beside}, {"repeat", analysis.TouchRepeat, x.Repeat}} {
			t.add(line(y.label, y.share), links(y.share, map[string]string{"touch": y.touch}))
		}
	}
	p.Grids = append(p.Grids, t.trim())
	if len(c.Groups) > 0 {
		g := table{Key: "cache.groups", Head: append(head("group"), "first", "repeats"), Text: 1}
		for _, x := range c.Groups {
			first := shareOf(x.FirstRatio)
			if x.FirstRatio == nil && x.FirstMissing != "" {
				first = x.FirstMissing
			}
			is := map[string]string{"group": clip(x.Name)}
			repeats := rowsLink{Phase: "measure", Outcome: "ok", Is: is, Has: []string{"cached", "input"}}
			g.add(append(line(x.Name, x.CacheShare), first, shareOf(x.RepeatRatio)), append(links(x.CacheShare, is), unlessNil(x.FirstRatio, rowsLink{Eq: map[string]int64{"seq": x.FirstSeq}}), unlessNil(x.RepeatRatio, repeats)))
		}
		if c.Rest != nil {
			g.Rows = append(g.Rows, append(line(fmt.Sprintf("%s others", n(c.GroupCount-int64(len(c.Groups)))), *c.Rest), "", ""))
		}
		p.Grids = append(p.Grids, g.trim())
	}
	if t := c.Tiers; t != nil {
		g := table{Key: "cache.tiers", Text: 0, Head: []string{"requests", "cached", "device", "host", "storage", "untold"}}
		of := func(column string) string {
			return target(rowsLink{Phase: "measure", Outcome: "ok", Has: []string{column}, Sort: column, Down: true})
		}
		tier := func(v *int64, column string) string {
			if v == nil {
				return ""
			}
			return of(column)
		}
		g.add([]string{n(t.N), n(t.Cached), report.Whole(t.Device), report.Whole(t.Host), report.Whole(t.Storage), n(t.Untold)},
			[]string{of("cached"), of("cached"), tier(t.Device, "cached_device"), tier(t.Host, "cached_host"), tier(t.Storage, "cached_storage"), of("cached")})
		p.Grids = append(p.Grids, g)
	}
	for _, w := range c.Witnesses {
		p.After = append(p.After, join(": ", w.Source, join(", ", shareOf(w.Ratio), w.Says)))
	}
	for _, e := range c.Evidence {
		p.After = append(p.After, join(": ", e.Server, join("; ", e.Why, e.Contradicted)))
	}
	return p
}

// speculationPanel is what the server said of its drafts, window by window.
func speculationPanel(s *analysis.Speculation) panel {
	p := panel{ID: "speculation", Title: "speculation"}
	if s == nil || !slices.ContainsFunc(s.Windows, func(w analysis.SpeculationWindow) bool {
		return w.VerifySteps != nil || w.Accepted != nil || w.Rejected != nil || w.Drafted != nil || w.PositionsN > 0 || len(w.Engine) > 0
	}) {
		p.Absent = "speculation.none"
		if s != nil && len(s.NotObserved) > 0 {
			p.Do = s.NotObserved[0].Do
		}
		return p
	}
	t := table{Head: []string{"value"}, Text: 1}
	for _, w := range s.Windows {
		t.Head = append(t.Head, w.Window, "n")
	}
	row := func(label string, has []string, of func(w *analysis.SpeculationWindow) (text string, count string)) {
		r, links, some := []string{label}, []string{""}, false
		for i := range s.Windows {
			v, k := of(&s.Windows[i])
			some = some || v != "–"
			r = append(r, v, k)
			to := ""
			if v != "–" {
				to = target(rowsLink{Window: s.Windows[i].Window, Outcome: "ok", Has: has, Sort: has[0]})
			}
			links = append(links, to, to)
		}
		if some {
			t.add(r, links)
		}
	}
	sum := func(label, has string, of func(w *analysis.SpeculationWindow) *analysis.SpeculationSum) {
		row(label, []string{has}, func(w *analysis.SpeculationWindow) (string, string) {
			if x := of(w); x != nil {
				return n(x.Sum), n(x.N)
			}
			return "–", ""
		})
	}
	ratio := func(label string, percent bool, has []string, of func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio) {
		row(label, has, func(w *analysis.SpeculationWindow) (string, string) {
			x := of(w)
			switch {
			case x == nil:
				return "–", ""
			case percent:
				return shareOf(x.Value), n(x.N)
			}
			return report.Cell(x.Value), n(x.N)
		})
	}
	ratio("acceptance length: output tokens ÷ verify steps", false, []string{"verify_steps", "output"}, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.AcceptLength })
	ratio("acceptance rate: accepted ÷ (accepted + rejected)", true, []string{"accepted", "rejected"}, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.AcceptRate })
	ratio("tokens per event", false, []string{"output"}, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.PerEvent })
	ratio("events per verify step", false, []string{"verify_steps", "output"}, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.EventsPerStep })
	ratio("output that no verify count holds", true, []string{"verify_steps", "output"}, func(w *analysis.SpeculationWindow) *analysis.SpeculationRatio { return w.Uncounted })
	sum("verify steps", "verify_steps", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.VerifySteps })
	sum("drafts proposed", "drafted", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.Drafted })
	sum("drafts accepted", "accepted", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.Accepted })
	sum("drafts rejected", "rejected", func(w *analysis.SpeculationWindow) *analysis.SpeculationSum { return w.Rejected })
	p.Grids = append(p.Grids, t)
	for _, w := range s.Windows {
		if len(w.Positions) == 0 && len(w.Engine) == 0 {
			continue
		}
		if len(w.Positions) > 0 {
			g := table{Window: w.Window, Key: "speculation.positions", Head: []string{"position", "accepted", "verify_steps", "share"}, Text: 1}
			for _, x := range w.Positions {
				share := x.Share
				to := target(rowsLink{Window: w.Window, Outcome: "ok", Has: []string{"verify_steps"}, Sort: "verify_steps"})
				g.add([]string{n(x.Position), n(x.Accepted), n(x.Steps), shareOf(&share)}, []string{"", to, to, to})
			}
			p.Grids = append(p.Grids, g)
		}
		if len(w.Engine) > 0 {
			g := table{Window: w.Window, Key: "speculation.engine", Head: []string{"value", "n", "mean", "min", "max"}, Text: 1}
			for _, x := range w.Engine {
				g.Rows = append(g.Rows, []string{x.Name, n(x.N), report.Number(x.Mean), report.Number(x.Min), report.Number(x.Max)})
			}
			p.Grids = append(p.Grids, g)
		}
	}
	for _, g := range s.NotObserved {
		p.After = append(p.After, join(": ", g.What, join(" → ", g.Why, g.Do)))
	}
	return p
}

// serverPanel is what metrics pages say of the windows; nothing where none was read.
func serverPanel(res *analysis.Results) (p panel, ok bool) {
	s := res.Server
	if s == nil {
		return p, false
	}
	p = panel{ID: "server", Title: "server.pages"}
	name := func(source string, part *int64) string {
		if part != nil {
			return fmt.Sprintf("%s (%d)", source, *part)
		}
		return source
	}
	read := table{Head: []string{"page", "role", "readings", "failed", "gaps", "resets", "why"}, Text: 2}
	for _, x := range s.Sources {
		read.Rows = append(read.Rows, []string{name(x.Name, x.Part), join(", ", x.Role, x.Kind), n(x.Readings), unlessZero(x.Failed), unlessZero(x.GapsN), unlessZero(x.ResetsN), strings.Join(append([]string{x.Example}, x.Warnings...), " ")})
	}
	p.Grids = append(p.Grids, read.trim())
	titles := map[string]string{}
	for _, d := range analysis.Definitions() {
		titles[d.Name] = d.Title
	}
	for i := range s.Windows {
		w := &s.Windows[i]
		g := table{Window: w.Window, Plain: name(w.Source, w.Part), Head: []string{"value", "series", "unit", "mean", "min", "max", "increase", "per_s", "p50", "p99", "client_mean"}, Text: 3}
		for _, r := range w.Rows {
			title := titles["server."+r.Name]
			if title == "" {
				title = strings.ReplaceAll(r.Name, "_", " ")
			}
			line := []string{title, r.Series, r.Unit}
			for _, v := range []*float64{r.Mean, r.Min, r.Max, r.Increase, r.PerS} {
				line = append(line, blank(v))
			}
			p50, p99, client := "", "", ""
			if h := r.Histogram; h != nil {
				p50, p99 = bounded(h.Quantiles["p50"]), bounded(h.Quantiles["p99"])
				if h.Client != nil {
					client = blank(h.Client.Mean)
				}
			}
			links, to := []string{"", "", ""}, readings(res, w, r.Name)
			for range 7 {
				links = append(links, to)
			}
			if metric := clientMetric(r); client != "" && metric != "" {
				links = append(links, target(rowsLink{Window: w.Window, Has: []string{metric}, Sort: metric}))
			}
			g.add(append(line, p50, p99, client), links)
		}
		if len(g.Rows) > 0 {
			p.Grids = append(p.Grids, g.trim())
		} else if w.Why != "" {
			p.After = append(p.After, w.Window+", "+g.Plain+": "+w.Why)
		}
	}
	return p, true
}

// clientMetric is the column of what the client measured beside a row of a metrics page.
func clientMetric(r analysis.ServerRow) string {
	name := r.Name
	if r.Histogram != nil && r.Histogram.Client != nil && r.Histogram.Client.Metric != "" {
		name = r.Histogram.Client.Metric + "_ms"
	}
	if name == "itl_ms" || rowsOf[name] {
		return name
	}
	return ""
}

// blank is a number, "" where there is none.
func blank(v *float64) string {
	if v == nil {
		return ""
	}
	return report.Number(*v)
}

// bounded is a quantile of a histogram, with the bounds that its buckets leave.
func bounded(b analysis.ServerBounded) string {
	if b.Value == nil {
		if b.Low != nil {
			return "> " + report.Number(*b.Low)
		}
		return ""
	}
	return report.Number(*b.Value)
}

// morePanels are those that most runs do not have.
func morePanels(r *analysis.Results) []panel {
	var ps []panel
	if len(r.Parts) > 0 {
		p := panel{ID: "parts", Title: "parts", Grids: []table{{Head: []string{"part", "run", "client", "from_s", "to_s", "requests", "ok", "stopped"}, Text: 3}}}
		for _, x := range r.Parts {
			of := rowsLink{Phase: "measure", Eq: map[string]int64{"part": x.Part}}
			good := of
			good.Outcome = "ok"
			p.Grids[0].add([]string{n(x.Part), join(" ", x.Name, x.Run), x.Host, report.Moment(x.FromS), report.Moment(x.ToS), n(x.Requests), n(x.OK), x.Stop}, []string{"", "", "", target(of), target(of), counted(x.Requests, of), counted(x.OK, good)})
		}
		ps = append(ps, p)
	}
	if len(r.Remotes) > 1 {
		p := panel{ID: "remotes", Title: "remotes", Grids: []table{{Head: []string{"address", "requests", "ok", "failed", "cancelled", "abandoned", "connections"}, Text: 1}}}
		for _, x := range r.Remotes {
			p.Grids[0].Rows = append(p.Grids[0].Rows, []string{x.Address, n(x.Requests), n(x.OK), n(x.Failed), n(x.Cancelled), n(x.Abandoned), n(x.Connections)})
		}
		ps = append(ps, p)
	}
	for i, a := range r.As {
		p := panel{ID: fmt.Sprintf("as-%d", i), Title: "as", Says: []string{a.Title, a.Rule}, After: slices.Clone(a.Caveats)}
		if a.Error != "" {
			p.Says = append(p.Says, a.Error)
		}
		for _, s := range a.Sections {
			p.Grids = append(p.Grids, table{Plain: s.Title, Head: s.Columns, Own: true, Text: 1, Rows: s.Rows})
		}
		ps = append(ps, p)
	}
	if r.Probe != nil {
		p := panel{ID: "probe", Title: "probe", Fold: !r.Probe.Only}
		if len(r.Probe.Steps) > 0 {
			t := table{Head: []string{"step", "result", "seen", "ms"}, Text: 3}
			for _, s := range r.Probe.Steps {
				t.Rows = append(t.Rows, []string{s.Name, s.Result, join(" → ", s.Seen, s.Do), report.Cell(s.MS)})
			}
			p.Grids = append(p.Grids, t)
		}
		if len(r.Probe.Capabilities) > 0 {
			t := table{Head: []string{"capability", "state", "value", "source"}, Text: 4}
			for _, c := range r.Probe.Capabilities {
				t.Rows = append(t.Rows, []string{join(" · ", c.Name, c.Server), c.State, c.Value, c.From})
			}
			p.Grids = append(p.Grids, t)
		}
		if len(p.Grids) > 0 {
			ps = append(ps, p)
		}
	}
	return ps
}

// provenancePanel are the facts of where the run comes from, section by section.
func provenancePanel(p *analysis.Provenance, lead string) []table {
	if p == nil {
		return nil
	}
	var ts []table
	for _, s := range p.Sections {
		t := table{Plain: lead + s.Name, Head: []string{"fact", "value"}, Text: 2}
		for _, f := range s.Facts {
			v := "not observed"
			if f.Value != nil {
				v = *f.Value
			}
			if f.After != "" {
				v += " → " + f.After
			}
			t.Rows = append(t.Rows, []string{f.Name, v})
		}
		ts = append(ts, t)
	}
	for i := range p.Parts {
		ts = append(ts, provenancePanel(&p.Parts[i], fmt.Sprintf("part %d: ", i))...)
	}
	return ts
}

// join is strings.Join without the empty parts.
func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}
