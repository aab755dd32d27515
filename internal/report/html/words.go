package html

import (
	"html/template"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
	dict "tokentape/internal/report/words"
)

// dictionary are the words of the page by key, in each of Languages.
func dictionary() map[string][2]string { return dict.Page() }

// said is a word in a language; the key itself where there is none.
func said(key, lang string) string {
	w, ok := dictionary()[key]
	if !ok {
		return key
	}
	return w[max(0, slices.Index(Languages(), lang))]
}

// functions are what page.html calls.
func functions(lang string) template.FuncMap {
	return template.FuncMap{
		// t is a word that follows the language of the page.
		"t": func(key string) template.HTML {
			return template.HTML(`<span data-t="` + template.HTMLEscapeString(key) + `">` + template.HTMLEscapeString(said(key, lang)) + `</span>`)
		},
		// word is a word for an attribute.
		"word":    func(key string) string { return said(key, lang) },
		"n":       func(n int64) string { return report.Number(float64(n)) },
		"moment":  report.Moment,
		"moment2": func(v float64) string { return report.Moment(&v) },
		"cell":    report.Cell,
		"whole":   report.Whole,
		"measure": report.Measure,
		"share":   func(v *float64) string { text, _ := share(v); return text },
		"stats": func() (names []string) {
			for _, s := range statistics {
				names = append(names, s.Name)
			}
			return names
		},
		"helps":     func() []string { return []string{"help.one", "help.sets", "help.counts", "help.readings", "help.none"} },
		"signed":    signed,
		"ofClass":   func(class string) string { return target(rowsLink{Phase: "measure", Outcome: class}) },
		"ofGroup":   func(g analysis.FailureGroup) string { return counted(g.N, groupRows(g)) },
		"ofMessage": func(g analysis.FailureGroup, e analysis.FailureExample) string { return target(messageRows(g, e)) },
		// toFailures is whether advice is found in the section of failures.
		"toFailures": func(do string) bool { return strings.Contains(do, "the message of each class") },
		"step": func(d analysis.DifferenceRow) string {
			text := report.Cell(d.A) + " → " + report.Cell(d.B) + " " + d.Unit
			if d.Change != nil {
				share := *d.Change * 100
				text += " (" + signed(&share) + " %)"
			}
			return text
		},
		// def is a word with its definition on hover and focus.
		"def": func(name, title string) template.HTML {
			key := "m." + name
			text := template.HTMLEscapeString(title)
			if _, ok := dictionary()[key]; ok {
				text = `<span data-t="` + template.HTMLEscapeString(key) + `">` + template.HTMLEscapeString(said(key, lang)) + `</span>`
			}
			return template.HTML(`<button type="button" class="def" data-def="` + template.HTMLEscapeString(name) + `">` + text + `</button>`)
		},
	}
}

// signed is a number with its sign, "" where there is none.
func signed(v *float64) string {
	if v == nil {
		return ""
	}
	if *v > 0 {
		return "+" + report.Number(*v)
	}
	return report.Number(*v)
}
