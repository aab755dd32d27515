package report

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"tokentape/internal/analysis"
	"tokentape/internal/report/words"
)

// A Chinese report is the English one, looked up as it is laid out: views say
// everything once, and a sentence that has no Chinese stays readable. Names of
// checks, windows and settings, and terms of the field (TTFT, TPOT, p99) are the same
// in both. What came from outside is never looked up by itself.

// zh is the language of a Chinese view, one of words.Languages.
const zh = "zh"

// dictionary is that of package words, and the definitions and titles of metrics.
var dictionary = sync.OnceValue(func() *words.Dictionary {
	page := words.Page()
	more := map[string]string{}
	put := func(en string, keys ...string) {
		for _, key := range keys {
			if w, ok := page[key]; ok && en != "" && w[1] != "" {
				more[en] = w[1]
				return
			}
		}
	}
	for _, d := range slices.Concat(analysis.Definitions(), analysis.MetricDefinitions()) {
		name := d.Name
		if d.Kind == "system" {
			put(d.Definition, "d.system."+name, "d."+name)
			continue
		}
		put(d.Definition, "d."+name)
		put(d.Brief, "d."+name)
		if key := "m." + name; page[key][0] == d.Title { // the page may say it with a unit
			put(d.Title, key)
		}
	}
	put(absent, "not_observed")
	return words.New(more)
})

// Chinese is a sentence of ours in Chinese; as it is where the dictionary does not
// know it.
func Chinese(s string) string { return dictionary().Say(s) }

// LiveSayer is how a label or fact of the live view is said in a language, one of
// words.Languages; nil for English, which needs nothing done.
func LiveSayer(lang string) func(string) string {
	if lang != zh {
		return nil
	}
	return words.Live().Say
}

// said is a text in the language of the page. Spaces around it stay.
func (p *page) said(s string) string {
	text := strings.TrimSpace(s)
	if !p.zh || text == "" {
		return s
	}
	lead := s[:strings.Index(s, text)]
	return lead + dictionary().Say(text) + s[len(lead)+len(text):]
}

// outside are the leads of lines that hold nothing but what came from outside.
var outside = []string{"server", "model", "engine", "dataset", "client", "price", "said", "example"}

// saidOf is a line's lead and text, the lead as wide as it was if that has room.
func (p *page) saidOf(lead, text string) (string, string) {
	if !p.zh {
		return lead, text
	}
	term := strings.TrimSpace(lead)
	message := term == "" && len(lead) >= 12 // of a failed request, below its class
	if !slices.Contains(outside, term) && !message || text == absent {
		text = p.said(text)
	} else if zh, ok := dictionary().Sentence(text, true); ok {
		text = zh
	}
	if term == "" {
		return lead, text
	}
	indent := lead[:strings.Index(lead, term)]
	said := indent + dictionary().Say(term)
	if strings.HasSuffix(lead, " ") && !strings.HasSuffix(said, "：") { // which is as wide as two
		said += " "
	}
	return pad(said, columns.StringWidth(lead), false), text
}

// saidList is said of a text that is one sentence, or a list with commas of which some
// parts may be names.
func (p *page) saidList(text string) string {
	if zh := p.said(text); zh != text {
		return zh
	}
	parts := strings.Split(text, ", ")
	for i, part := range parts {
		parts[i] = p.said(part)
	}
	return strings.Join(parts, ", ")
}

// quote is hang for a text that stays as it is, also in Chinese.
func (p *page) quote(lead, text string, st style) {
	was := p.zh
	p.zh = false
	p.hang(lead, text, st)
	p.zh = was
}

// saidTable is a table whose heads, first cells and remarks are looked up.
func (p *page) saidTable(t table) table {
	if !p.zh {
		return t
	}
	out := table{head: slices.Clone(t.head)}
	for i, h := range out.head {
		out.head[i] = p.said(h)
	}
	for _, r := range t.rows {
		r.under, r.wide, r.cells = p.said(r.under), p.said(r.wide), slices.Clone(r.cells)
		for i, c := range r.cells {
			if i == 0 || c == absent {
				r.cells[i] = p.said(c)
			}
		}
		out.rows = append(out.rows, r)
	}
	return out
}

// saidSides is saidTable for windows side by side.
func (p *page) saidSides(tables []sideTable) []sideTable {
	if !p.zh {
		return tables
	}
	rows := func(rs []sideRow) (out []sideRow) {
		for _, r := range rs {
			r.label, r.cells = p.said(r.label), slices.Clone(r.cells)
			for i, c := range r.cells {
				if c.value == absent || c.value == "no rate" {
					r.cells[i].value = p.said(c.value)
				}
			}
			out = append(out, r)
		}
		return out
	}
	out := make([]sideTable, len(tables))
	for i, t := range tables {
		out[i] = sideTable{heads: rows(t.heads), rows: rows(t.rows)}
	}
	return out
}

// wrap breaks text into lines; Chinese breaks between characters too.
func (p *page) wrap(s string, width int) []string {
	if !p.zh {
		return wrap(s, width)
	}
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	for _, u := range units(s) {
		w := columns.StringWidth(u.text)
		gap := 0
		if u.space && used > 0 {
			gap = 1
		}
		switch {
		case used+gap+w <= width:
			line, used = line+strings.Repeat(" ", gap)+u.text, used+gap+w
			continue
		case used > 0:
			lines = append(lines, line)
		}
		for w > width {
			head := columns.Truncate(u.text, width, "")
			lines = append(lines, head)
			u.text = u.text[len(head):]
			w = columns.StringWidth(u.text)
		}
		line, used = u.text, w
	}
	if used > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// unit is what no line break may part.
type unit struct {
	text  string
	space bool // stands before it
}

// units are words, and single Chinese characters with the marks that may not begin or
// end a line.
func units(s string) (out []unit) {
	for _, word := range strings.Fields(s) {
		begun := false // the word has a unit that goes on
		for i, r := range word {
			stays := strings.ContainsRune("，。；：、）」》”％！？", r)
			opens := i > 0 && strings.ContainsRune("（「《“", lastRune(word[:i]))
			han := unicode.Is(unicode.Han, r) || strings.ContainsRune("（「《“", r)
			afterHan := i > 0 && (unicode.Is(unicode.Han, lastRune(word[:i])) || strings.ContainsRune("，。；：、）」》”", lastRune(word[:i])))
			if begun && (stays || opens || !han && !afterHan) {
				out[len(out)-1].text += string(r)
				continue
			}
			out = append(out, unit{string(r), i == 0})
			begun = true
		}
	}
	return out
}

func lastRune(s string) rune {
	rs := []rune(s[max(0, len(s)-4):])
	return rs[len(rs)-1]
}
