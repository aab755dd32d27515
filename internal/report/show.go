package report

import (
	"fmt"
	"io"
	"strings"

	"tokentape/internal/analysis"
)

// ShowJSON writes a provenance as JSON; what was not observed is null.
func ShowJSON(w io.Writer, p *analysis.Provenance) error { return indented(w, p) }

// shortSection is how many facts of a long section stand on a short page.
const shortSection = 20

// Show writes where a run comes from as a page for a terminal: a heading a section,
// a line a fact. Without o.Full long sections are cut, and say so.
func Show(w io.Writer, p *analysis.Provenance, o Options) error {
	return show(w, p, o, page{width: max(o.Width, 60), color: o.Color})
}

// ShowMarkdown writes the same page as GitHub-flavoured Markdown, whole.
func ShowMarkdown(w io.Writer, p *analysis.Provenance) error {
	return show(w, p, Options{Full: true}, page{width: 120, md: true})
}

func show(w io.Writer, p *analysis.Provenance, o Options, pg page) error {
	pg.hang("", "Provenance of run "+clean(p.Run), bold)
	pg.provenance(p, o, "")
	for i := range p.Parts {
		lead := fmt.Sprintf("part %d: ", i)
		pg.provenance(&p.Parts[i], o, lead)
	}
	if len(p.Parts) > 0 {
		pg.blank()
		pg.hang("", "Merged: the sections before part 0 hold for all parts, those of a part for it alone.", plain)
	}
	_, err := io.WriteString(w, pg.b.String())
	return err
}

func (p *page) provenance(of *analysis.Provenance, o Options, lead string) {
	for _, s := range of.Sections {
		p.heading(lead + clean(s.Name))
		facts, left := s.Facts, 0
		if s.Long && !o.Full && len(facts) > shortSection {
			facts, left = facts[:shortSection], len(facts)-shortSection
		}
		if p.md {
			var rows [][]string
			for _, f := range facts {
				rows = append(rows, []string{clean(f.Name), factText(f)})
			}
			p.mdTable([]string{"fact", "value"}, rows)
			continue
		}
		width := 0
		for _, f := range facts {
			width = max(width, min(46, columns.StringWidth(clean(f.Name))))
		}
		for _, f := range facts {
			st := plain
			switch {
			case f.After != "":
				st = yellow
			case f.Value == nil:
				st = dim
			}
			name := clean(f.Name)
			if columns.StringWidth(name) > width { // a path: the value goes below it
				p.hang("  ", name, st)
				name = ""
			}
			p.hang("  "+pad(name, width, false)+"  ", factText(f), st)
		}
		if left > 0 {
			p.hang("  ", fmt.Sprintf("… and %d more facts: --full", left), dim)
		}
	}
}

// factText is a fact's value, and what it became.
func factText(f analysis.Fact) string {
	text := "not observed"
	if f.Value != nil {
		text = clean(strings.TrimSpace(*f.Value))
	}
	if f.After != "" {
		text += " → " + clean(f.After) + " after the run"
	}
	return text
}
