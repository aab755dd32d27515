package report

import (
	"slices"
	"strings"

	"tokentape/internal/analysis"
)

// term is a word of the report and what it means in one line; words of metrics are
// those of the catalogue.
type term struct {
	name  string // in results.json
	title string
	text  string
}

// terms are the metrics in the order in which they are shown; briefs are their
// texts cut to one line of the short view.
var terms, briefs = func() ([]term, map[string]string) {
	var ts []term
	short := map[string]string{}
	for _, d := range analysis.MetricDefinitions() {
		ts = append(ts, term{d.Name, d.Title, d.Definition})
		if d.Brief != "" {
			short[d.Name] = d.Brief
		}
	}
	return ts, short
}()

// speculation are the rows that are shown where a server reports their counts.
var speculation = []struct {
	of func(*analysis.Window) (*float64, *int64)
	term
}{
	{acceptLength, rowTerm("accept_length")},
	{acceptRate, rowTerm("accept_rate")},
}

// rowTerm is a row or fact of a window, or a word of the report, as a term.
func rowTerm(name string) term {
	d, _ := analysis.DefinitionOf(name)
	return term{d.Name, d.Title, d.Definition}
}

// speculated are the definitions of the rows that some window has.
func speculated(ws []analysis.Window) []term {
	var ts []term
	for _, s := range speculation {
		if slices.ContainsFunc(ws, func(w analysis.Window) bool { v, _ := s.of(&w); return v != nil }) {
			ts = append(ts, s.term)
		}
	}
	return ts
}

// loadTerms are words of the load's rows that need telling.
func (c *console) loadTerms() (ts []term) {
	if l := c.r.Load; l.Loop == "closed" && l.PacerLagP99MS != nil {
		ts = append(ts, rowTerm("start"))
	}
	if c.r.Load.ClientWaitReads != nil {
		ts = append(ts, rowTerm("client wait"))
	}
	return ts
}

// footings hold for every table.
var footings = []term{
	{"", "n, n_eff", "samples, and how many independent ones they are worth (neighbours share a queue)"},
	{"", "p50 … p99", "linear interpolation at rank (n − 1)q; only ok requests enter"},
	{"", "a … b", "95 % interval by sectioning in order of due time"},
}

// metricLabel is a metric's title with its unit where the title has none.
func metricLabel(name, unit string) string {
	title := ""
	for _, t := range terms {
		if t.name == name {
			title = t.title
		}
	}
	if title == "" {
		return strings.ReplaceAll(name, "_", " ")
	}
	if unit == "ms" || unit == "s" {
		return title + " " + unit
	}
	return title
}
