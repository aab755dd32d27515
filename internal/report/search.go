package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"tokentape/internal/search"
)

// SearchConsole writes what a search found, and its looks. With o.Full every fact of
// every look.
func SearchConsole(w io.Writer, f *search.File, o Options) error {
	width := o.Width
	if width == 0 {
		width = 80
	}
	return writeSearch(w, f, o, page{width: max(width, 60), color: o.Color})
}

// SearchMarkdown is SearchConsole as Markdown.
func SearchMarkdown(w io.Writer, f *search.File, o Options) error {
	return writeSearch(w, f, o, page{width: 160, md: true})
}

// SearchJSON is search.json.
func SearchJSON(w io.Writer, f *search.File) error {
	if err := finiteValue(reflect.ValueOf(*f), "search"); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("writing the search: %w", err)
	}
	return nil
}

func writeSearch(w io.Writer, f *search.File, o Options, p page) error {
	if err := finiteValue(reflect.ValueOf(*f), "search"); err != nil {
		return err
	}
	p.search(f, o.Full)
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) search(f *search.File, full bool) {
	line, st := "still running", bold
	if v := f.Verdict; v != nil {
		line = v.Line
		switch v.Result {
		case search.Found, search.AtLeast:
			st = green
		case search.None, search.Client:
			st = red
		default:
			st = yellow
		}
	}
	p.hang("", "SEARCH "+clean(f.Name)+": "+clean(line), st)
	p.blank()
	a := f.Asked
	p.fact("sought", fmt.Sprintf("%s, from %s to %s, told apart from ×%g", map[string]string{search.Highest: "the highest " + a.For + " that holds", search.Goodput: "the " + a.For + " with the most goodput"}[a.Goal], num(a.From), a.Load(a.To), 1+a.Precision))
	p.fact("limits", clean(strings.Join(f.SLO, ", ")))
	if a.Share > 0 && a.Goal == search.Highest {
		p.fact("share", fmt.Sprintf("%g %% of the requests must keep the limits on requests", 100*a.Share))
	}
	p.fact("certainty", fmt.Sprintf("%d looks were declared: each bound is at %.4g %% by itself, so that all together are right with %g %%", a.MostLooks, 100*f.Level, 100*(1-search.Family)))
	p.fact("besides", fmt.Sprintf("a load counts as sustained when its backlog does not grow (surely, and by more than %g %% of the rate), %g %% of the rate end, and failures and client are within their limits", 100*search.GrowthShare, 100*search.AchievedShare))
	p.blank()
	p.searchLooks(f, full)
	v := f.Verdict
	if v == nil {
		return
	}
	if v.At != nil {
		p.heading(fmt.Sprintf("%s, measured by itself (%s)", a.Load(*v.At), clean(v.Run)))
		p.searchFacts(v.Facts)
		p.fact("seeds", strings.Trim(fmt.Sprint(v.Seeds), "[]"))
	}
	p.list("To be known", v.Notes, yellow)
	p.list("What next", v.Next, plain)
}

// searchLooks are the looks in the order in which they were made.
func (p *page) searchLooks(f *search.File, full bool) {
	t := table{head: []string{"look", "why", f.Asked.For, "length", "took", "decision", ""}, rows: nil}
	var rows [][]string
	for i := range f.Looks {
		l := &f.Looks[i]
		rows = append(rows, []string{fmt.Sprint(l.N), l.Kind, num(l.At), "×" + num(l.Times), tookText(l.TookS), strings.ReplaceAll(l.Decision, "_", "-"), clean(l.Why)})
	}
	if p.md {
		t.head[6] = "what decided"
		p.mdTable(t.head, rows)
	} else {
		p.searchLines(rows)
	}
	if !full {
		return
	}
	for i := range f.Looks {
		l := &f.Looks[i]
		p.heading(fmt.Sprintf("Look %d · %s · seed %d · %s", l.N, f.Asked.Load(l.At), l.Seed, clean(l.Run)))
		p.searchFacts(l.Facts)
		for _, s := range l.Stages {
			p.fact(num(s.At), fmt.Sprintf("%d of %d requests were good", s.Good, s.N))
		}
		if l.Client != "" {
			p.fact("client-bound", clean(l.Client))
		}
		if l.Unfit != "" {
			p.fact("unfit", clean(l.Unfit))
		}
	}
}

// searchLines are the looks on a terminal: what decided hangs behind the columns.
func (p *page) searchLines(rows [][]string) {
	var widths [6]int
	head := []string{"look", "", "load", "length", "took", "decision"}
	all := append([][]string{append(head, "what decided")}, rows...)
	for _, r := range all {
		for c := range widths {
			widths[c] = max(widths[c], columns.StringWidth(r[c]))
		}
	}
	for i, r := range all {
		lead := "  "
		for c, w := range widths {
			lead += pad(r[c], w, c == 0 || c >= 2 && c <= 4) + "  "
		}
		st := plain
		if i == 0 {
			st = dim
		}
		p.hang(lead, r[6], st)
	}
}

// searchFacts are facts with what they decide.
func (p *page) searchFacts(facts []search.Fact) {
	for i := range facts {
		f := &facts[i]
		text := "not observed: " + clean(f.Why)
		if f.Value != nil {
			text = measure(f.Value, f.Unit)
			if f.Lo != nil && f.Hi != nil {
				text += fmt.Sprintf(" (%s to %s)", measure(f.Lo, f.Unit), measure(f.Hi, f.Unit))
			}
			if f.N > 0 {
				text += fmt.Sprintf(", %d of %d requests", f.Good, f.N)
			}
			if f.NEff > 0 && f.NEff < float64(f.N) {
				text += fmt.Sprintf(", as good as %s independent ones", num(f.NEff))
			}
			if f.Shown != nil {
				text += ", the percentile itself " + measure(f.Shown, f.ShownUnit)
			}
		}
		if f.Op != "" && f.Kind != search.KindBacklog {
			text += fmt.Sprintf("; required %s %s", f.Op, measure(&f.Limit, f.Unit))
		}
		if f.Result != "" {
			text += ": " + f.Result
		}
		p.hang("  "+clean(f.Name)+"  ", text, plain)
	}
}

// tookText is how long a look took.
func tookText(s float64) string {
	if s < 100 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}
