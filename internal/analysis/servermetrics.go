package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"tokentape/internal/analysis/catalog"
	"tokentape/internal/analysis/scrape"
	"tokentape/internal/analysis/window"
	"tokentape/tape"
)

const (
	serverPoints = 600 // of a line in results.json
	serverMost   = 100 // gaps and resets that are named
)

// serverQuantiles are those that are taken from histograms, in thousandths.
var serverQuantiles = []int{500, 900, 950, 990}

// serverPages is what the metrics pages say of the windows; nil where no page was
// asked for and none was read.
func (r *run) serverPages(intervals []window.Interval, windows []Window) *Server {
	pages := r.scrapes.Sources()
	asked := r.spec.Telemetry.Metrics
	if len(pages) == 0 && len(asked) == 0 {
		return nil
	}
	out := &Server{Sources: []ServerSource{}, Windows: []ServerWindow{}, Lines: []ServerLine{}, Points: ServerPoints{func(yield func(ServerPoint) bool) { eachPoint(pages, r.partOf, yield) }}}
	for _, p := range pages {
		out.Sources = append(out.Sources, r.serverSource(p))
		for _, l := range p.Lines(serverPoints) {
			out.Lines = append(out.Lines, serverLine(p, r.partOf(p), l))
		}
	}
	for _, a := range asked {
		if !slices.ContainsFunc(pages, func(p *scrape.Source) bool { return p.Name == a.Name }) && len(r.parts()) == 0 {
			out.Sources = append(out.Sources, ServerSource{Name: a.Name, Role: cmp.Or(a.Role, roleInName(a.Name)), IntervalS: r.askedInterval(a.Name), Warnings: []string{"never read: the tape has no line of it"}})
		}
	}
	var covers []coverOf
	for i := range windows {
		for _, p := range pages {
			if w, c, ok := r.serverWindow(p, intervals[i], &windows[i]); ok {
				out.Windows = append(out.Windows, w)
				covers = append(covers, coverOf{intervals[i].Kind, p, c})
			}
		}
	}
	out.Series = ServerAnySeries{func(f func(ServerSeries)) error { return r.eachSeries(pages, covers, f) }}
	return out
}

// coverOf is the time of a window that the readings of a page cover.
type coverOf struct {
	window string
	page   *scrape.Source
	cover  *scrape.Cover
}

// eachSeries calls f with all series of the pages, over the run and in windows.
func (r *run) eachSeries(pages []*scrape.Source, covers []coverOf, f func(ServerSeries)) error {
	for _, p := range pages {
		for _, x := range p.All() {
			s := ServerSeries{Source: p.Name, Part: r.partOf(p), Name: x.Name, Type: x.Type, N: &x.N, First: &x.First, Last: &x.Last, Min: &x.Min, Max: &x.Max}
			if x.Counter {
				s.Increase, s.Resets = &x.Increase, &x.Resets
			}
			f(s)
		}
	}
	if r.again == nil || len(covers) == 0 {
		return nil
	}
	var e scrape.Edges
	for _, c := range covers {
		e.Want(c.cover)
	}
	src, done, err := r.again.Again()
	if err != nil {
		return fmt.Errorf("the tape cannot be read a second time, for series of metrics pages in windows: %w", err)
	}
	defer done()
	for {
		rec, err := src.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s, ok := rec.(*tape.Scrape); ok {
			e.Add(s)
		}
	}
	for _, c := range covers {
		for _, x := range e.Of(c.cover) {
			s := ServerSeries{Source: c.page.Name, Part: r.partOf(c.page), Window: c.window, Name: x.Name, Type: x.Type, First: x.First, Last: x.Last}
			if x.Counter {
				s.Increase = &x.Increase
			}
			f(s)
		}
	}
	return nil
}

// partOf is the part that a page was read in, nil of a tape that is not merged.
func (r *run) partOf(p *scrape.Source) *int64 {
	if len(r.parts()) == 0 {
		return nil
	}
	return new(p.Part)
}

// askedInterval is the interval of a page in seconds.
func (r *run) askedInterval(name string) *float64 {
	d := r.spec.Telemetry.Interval
	for _, m := range r.spec.Telemetry.Metrics {
		if m.Name == name && m.Interval > 0 {
			d = m.Interval
		}
	}
	if d <= 0 {
		return nil
	}
	return ref(float64(d) / 1e9)
}

// pace is the longest time between two readings of a page that is no gap.
func (r *run) pace(p *scrape.Source) int64 {
	var every int64
	if s := r.askedInterval(p.Name); s != nil {
		every = int64(*s * 1e9)
	}
	return p.Pace(every)
}

// pagesEnd is when the pages of a part were no longer read: with the last line of any
// of them.
func (r *run) pagesEnd(part int64) int64 {
	end := int64(math.MinInt64)
	for _, p := range r.scrapes.Sources() {
		if p.Part == part {
			end = max(end, p.End)
		}
	}
	return end
}

func (r *run) serverSource(p *scrape.Source) ServerSource {
	role, from := r.roleOf(p)
	s := ServerSource{Name: p.Name, Part: r.partOf(p), Role: role, RoleFrom: from, Kind: p.Kind, IntervalS: r.askedInterval(p.Name),
		Readings: int64(len(p.Times)), Failed: p.Failed, Missed: p.Missed, Example: p.Example, SeriesN: int64(p.Len()), Restarts: p.Restarts}
	if len(p.Causes) > 0 {
		s.Causes = p.Causes
	}
	if n := len(p.Times); n > 0 {
		s.FromS, s.ToS = ref(float64(p.Times[0])/1e9), ref(float64(p.Times[n-1])/1e9)
	}
	for _, g := range r.gapsOf(p) {
		s.GapsN++
		s.GapsS += float64(g.To-g.From) / 1e9
		if len(s.Gaps) < serverMost {
			s.Gaps = append(s.Gaps, ServerGap{float64(g.From) / 1e9, float64(g.To) / 1e9, g.Why})
		}
	}
	for _, x := range p.Resets {
		s.ResetsN++
		if len(s.Resets) < serverMost {
			s.Resets = append(s.Resets, ServerReset{float64(x.T) / 1e9, int64(x.Series), x.Anew, resetWhy(x)})
		}
	}
	warn := func(n int64, format string, args ...any) {
		if n > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
		}
	}
	if workers[p.Mode] && role != p.Mode && role != "entry" {
		warn(1, "its role is given as %s; its series say %s (engine_type)", role, p.Mode)
	}
	warn(p.Broken, "%s cannot be used: %s", plural(p.Broken, "reading"), p.BrokenWhy)
	warn(p.Negative, "%s of counters below 0 are left out", plural(p.Negative, "value"))
	warn(p.NotFinite, "%s that are NaN or infinite are left out", plural(p.NotFinite, "value"))
	warn(p.Repeated, "%s stood on a page twice: the last one counts", plural(p.Repeated, "line"))
	warn(p.Left, "%s of a page are of no known family and were not recorded", plural(p.Left, "series line"))
	return s
}

// gapsOf are the gaps of a page, up to the last line of any page of its run.
func (r *run) gapsOf(p *scrape.Source) []scrape.Gap {
	return p.Gaps(r.pace(p), r.pagesEnd(p.Part))
}

func resetWhy(x scrape.Reset) string {
	switch {
	case x.Start && x.Series > 0:
		return fmt.Sprintf("the start time of its process moved, and %s fell", plural(int64(x.Series), "counter"))
	case x.Start:
		return "the start time of its process moved"
	case x.Anew:
		return fmt.Sprintf("%s fell at once: another process", plural(int64(x.Series), "counter"))
	case x.Same:
		return fmt.Sprintf("%s fell: reset, in the same process by its start time", plural(int64(x.Series), "counter"))
	}
	return fmt.Sprintf("%s fell", plural(int64(x.Series), "counter"))
}

func serverLine(p *scrape.Source, part *int64, l scrape.Line) ServerLine {
	out := ServerLine{Source: p.Name, Part: part, Name: l.Row.Name, Unit: serverUnit(l.Row.Name), Series: l.Series}
	several := false
	for _, x := range l.Points {
		out.T, out.Value = append(out.T, float64(x.T)/1e9), append(out.Value, x.V)
		out.Min, out.Max = append(out.Min, x.Least), append(out.Max, x.Most)
		several = several || x.Least != x.V || x.Most != x.V
	}
	if !several {
		out.Min, out.Max = nil, nil
	}
	return out
}

func serverUnit(row string) string {
	e, _ := catalog.Find("server."+row, catalog.KindServer)
	return e.Unit
}

func eachPoint(pages []*scrape.Source, part func(*scrape.Source) *int64, yield func(ServerPoint) bool) {
	for _, p := range pages {
		for _, l := range p.Lines(0) {
			for _, x := range l.Points {
				if !yield(ServerPoint{p.Name, part(p), l.Row.Name, serverUnit(l.Row.Name), l.Series, float64(x.T) / 1e9, x.V}) {
					return
				}
			}
		}
	}
}

// serverWindow is what a page says of a window; false where the window does not
// exist, or lies in other parts of a merged tape.
func (r *run) serverWindow(p *scrape.Source, iv window.Interval, w *Window) (ServerWindow, *scrape.Cover, bool) {
	spans := r.spansOf(p, iv)
	if !iv.OK || len(spans) == 0 {
		return ServerWindow{}, nil, false
	}
	c := p.Cover(spans, r.pace(p))
	role, _ := r.roleOf(p)
	out := ServerWindow{Window: iv.Kind, Source: p.Name, Part: r.partOf(p), LengthS: c.Length, CoveredS: float64(c.Covered) / 1e9,
		Readings: int64(c.Readings), Gaps: int64(c.Gaps), Resets: int64(c.Resets), Rows: []ServerRow{}}
	if covered := c.Spans(); len(covered) > 0 {
		out.FromS, out.ToS = ref(float64(covered[0].From)/1e9), ref(float64(covered[len(covered)-1].To)/1e9)
	}
	switch {
	case c.Readings == 0:
		out.Why = "no reading of this page lies in the window"
	case c.Covered == 0:
		out.Why = "one reading of this page lies in the window: gauges at that moment, and no increase"
	}
	for _, v := range c.Values() {
		row := ServerRow{Name: v.Row.Name, Type: string(v.Row.Type), Unit: serverUnit(v.Row.Name), Series: v.Series, Of: int64(v.Of), N: v.N,
			Mean: v.Mean, Min: v.Min, Max: v.Max, Last: v.Last, Increase: v.Increase, PerS: v.PerSecond, Resets: v.Resets}
		if v.Resets > 0 {
			row.Warnings = append(row.Warnings, "counters began anew "+often(v.Resets)+": what they counted between the reading before and that moment is not known")
		}
		if d := v.Histogram; d != nil {
			row.Mean, row.Warnings = d.Mean, append(row.Warnings, d.Warnings...)
			row.Histogram = r.serverHistogram(v, &c, w, role)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, &c, true
}

// often is "once", "twice", "3 times".
func often(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return thousands(n) + " times"
}

// spansOf are the stretches of a window in which a page could be read: all of them,
// or of a merged tape those of its part.
func (r *run) spansOf(p *scrape.Source, iv window.Interval) []scrape.Span {
	var out []scrape.Span
	parts := r.parts()
	for _, s := range iv.Each() {
		if len(parts) > 0 {
			if p.Part < 0 || p.Part >= int64(len(parts)) {
				continue
			}
			part := parts[p.Part]
			if part.From.OK && part.To.OK && (s.To < part.From.V || s.From > part.To.V) {
				continue
			}
		}
		out = append(out, scrape.Span{From: s.From, To: s.To})
	}
	return out
}

// of is s with the windows of these kinds alone.
func (s *Server) of(kinds []string) *Server {
	if s == nil {
		return nil
	}
	out := *s
	out.Windows = slices.DeleteFunc(slices.Clone(s.Windows), func(w ServerWindow) bool { return !slices.Contains(kinds, w.Window) })
	return &out
}
