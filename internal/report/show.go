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
	return show(w, p, o, page{width: max(o.Width, 60), color: o.Color, zh: o.Lang == zh})
}

// ShowMarkdown writes the same page as GitHub-flavoured Markdown, whole.
func ShowMarkdown(w io.Writer, p *analysis.Provenance, o Options) error {
	return show(w, p, Options{Full: true}, page{width: 120, md: true, zh: o.Lang == zh})
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

// fewAbsent is from how many facts of a section on those that were not observed share a
// line.
const fewAbsent = 3

func (p *page) provenance(of *analysis.Provenance, o Options, lead string) {
	for _, s := range of.Sections {
		p.heading(lead + clean(s.Name))
		facts, left := s.Facts, 0
		if s.Long && !o.Full && len(facts) > shortSection {
			facts, left = facts[:shortSection], len(facts)-shortSection
		}
		// What servers and users said is theirs, name and value.
		said := p.said
		if s.Long || s.Name == "notes" {
			said = func(text string) string { return text }
		}
		var rows [][2]string
		var styles []style
		var none []string
		for _, f := range facts {
			st := plain
			if f.After != "" {
				st = yellow
			}
			if f.Value == nil && f.After == "" {
				none = append(none, said(clean(f.Name)))
				continue
			}
			rows, styles = append(rows, [2]string{said(clean(f.Name)), p.factText(f, said)}), append(styles, st)
		}
		if len(none) >= fewAbsent {
			rows, styles = append(rows, [2]string{p.said(absent), strings.Join(none, ", ")}), append(styles, dim)
		} else {
			for _, name := range none {
				rows, styles = append(rows, [2]string{name, p.said(absent)}), append(styles, dim)
			}
		}
		if p.md {
			var cells [][]string
			for _, r := range rows {
				cells = append(cells, r[:])
			}
			p.mdTable([]string{p.said("fact"), p.said("value")}, cells)
			continue
		}
		width := 0
		for _, r := range rows {
			width = max(width, min(46, columns.StringWidth(r[0])))
		}
		for i, r := range rows {
			name := r[0]
			if columns.StringWidth(name) > width { // a path: the value goes below it
				p.quote("  ", name, styles[i])
				name = ""
			}
			p.quote("  "+pad(name, width, false)+"  ", r[1], styles[i])
		}
		if left > 0 {
			p.hang("  ", fmt.Sprintf("… and %d more facts: --full", left), dim)
		}
	}
}

// factText is a fact's value, and what it became; said is how its own words are said.
func (p *page) factText(f analysis.Fact, said func(string) string) string {
	text := p.said(absent)
	if f.Value != nil {
		text = said(clean(strings.TrimSpace(*f.Value)))
	}
	if f.After == "" {
		return text
	}
	return p.said(text + " → " + clean(f.After) + " after the run")
}
