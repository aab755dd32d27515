package words

import (
	"embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed *.json
var files embed.FS

// console are the files of sentences, by the views that say them first.
var console = []string{"console.json", "checks.json", "compare.json", "live.json", "why.json", "report.json", "probe.json", "show.json", "curve.json"}

// languages are those of the views; the first is what they are written in.
var languages = [2]string{"en", "zh"}

// Languages are what a view can be asked for: "en", "zh".
func Languages() []string { return languages[:] }

// Page are the words of the page by key, one in each of Languages.
var Page = sync.OnceValue(func() (d map[string][2]string) { load("page.json", &d); return d })

func load(name string, into any) {
	text, err := files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(err) // it is part of the program
	}
}

// Dictionary turns English texts into Chinese.
type Dictionary struct {
	exact    map[string]string
	patterns []pattern
}

// pattern is a sentence with places: "{0} rows" for what stays as it is and is no
// sentence, "{0:n}" for a number, "{0:w}" for one word, "{0:any}" for what stays and may be a sentence,
// "{0:say}" for what is itself looked up, "{0:list}" for several of these with commas
// between; "row(s)" is row or rows.
type pattern struct {
	lead    string   // what the text begins with, before the first place
	tail    string   // what it ends with, after the last
	holds   []string // what it holds between them, in this order
	any     bool     // has a place for a text of any length
	literal int      // characters outside of places
	re      *regexp.Regexp
	kinds   []string
	places  []int
	zh      string
}

var placeholder = regexp.MustCompile(`\{(\d)(?::(say|list|any|n|w))?\}`)

// New makes the dictionary of the console: the files of sentences, and more, English to
// Chinese, which counts where they have no entry.
func New(more map[string]string) *Dictionary { return build(more, console...) }

// Live is the dictionary of the live view, which asks for some texts five times a
// second: of all files what has no place, and of live.json the rest.
func Live() *Dictionary { return build(nil, "live.json") }

func build(more map[string]string, places ...string) *Dictionary {
	all := map[string]string{}
	for _, name := range console {
		var one map[string]string
		load(name, &one)
		for en, zh := range one {
			if slices.Contains(places, name) || !placeholder.MatchString(en) {
				all[en] = zh
			}
		}
	}
	d := &Dictionary{exact: map[string]string{}}
	for en, zh := range more {
		if _, ok := all[en]; !ok {
			d.exact[en] = zh
		}
	}
	for en, zh := range all {
		if !placeholder.MatchString(en) {
			d.exact[en] = zh
			continue
		}
		d.patterns = append(d.patterns, newPattern(en, zh))
	}
	// The more a sentence says itself, the surer is it the one that is meant.
	slices.SortFunc(d.patterns, func(a, b pattern) int {
		if a.literal != b.literal {
			return b.literal - a.literal
		}
		return strings.Compare(a.re.String(), b.re.String())
	})
	return d
}

// English are the texts of the dictionary that have no place.
func (d *Dictionary) English() []string { return slices.Collect(maps.Keys(d.exact)) }

func newPattern(en, zh string) pattern {
	p := pattern{zh: zh}
	var re strings.Builder
	re.WriteString("^")
	last := 0
	put := func(s string) {
		p.literal += len(s)
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(s), `\(s\)`, "s?"))
	}
	for k, m := range placeholder.FindAllStringSubmatchIndex(en, -1) {
		if k == 0 {
			p.lead, _, _ = strings.Cut(en[:m[0]], "(s)")
		}
		put(en[last:m[0]])
		if k > 0 {
			p.holds = append(p.holds, strings.Split(en[last:m[0]], "(s)")...)
		}
		p.places = append(p.places, int(en[m[2]]-'0'))
		kind := ""
		if m[4] >= 0 {
			kind = en[m[4]:m[5]]
		}
		switch kind {
		case "n":
			re.WriteString(`([-+]?[0-9][0-9.,]*)`)
		case "w":
			re.WriteString(`(\S+)`)
		default:
			re.WriteString("(.+?)")
		}
		p.kinds = append(p.kinds, kind)
		p.any = p.any || kind == "any"
		last = m[1]
	}
	put(en[last:])
	if tail := en[last:]; !strings.Contains(tail, "(s)") {
		p.tail = tail
	}
	re.WriteString("$")
	p.re = regexp.MustCompile(re.String())
	return p
}

// longest is more than any text of ours has bytes: what is longer holds a message from
// outside, and is no sentence but one with a place for such.
const longest = 4000

// check is the name of a check, metrics, or a side of a comparison before what is said
// of them.
var check = regexp.MustCompile(`^([A-Z]|S[0-9]+|failures|repeats|attempts|bursts|speculation|[a-z][a-z0-9]*(?:_[a-z0-9]+)+|(?:TTFT|TTFO|TPOT|ITL|E2E)(?:, [A-Z0-9]+)*)((?: \([^)]*\))?): (.+)$`)

// separators part a text into sentences of their own, the widest first. Commas do so
// only where all that they part is known.
var separators = []struct{ en, zh string }{{" → ", " → "}, {" · ", " · "}, {". ", "。"}, {"; ", "；"}, {", ", "，"}}

// ends are what lies between two sentences, which a place of a pattern never reaches
// over; one that is looked up itself, not over the first.
var ends = []string{" · ", " → ", "; ", ". ", ": "}

// Sentence is a text that is in the dictionary as a whole, in Chinese. places: only by
// a sentence that has some.
func (d *Dictionary) Sentence(s string, places bool) (zh string, ok bool) {
	if zh, ok = d.exact[s]; ok && !places {
		return zh, true
	}
	for i := range d.patterns {
		p := &d.patterns[i]
		if !p.mayBe(s) {
			continue
		}
		if m := p.re.FindStringSubmatch(s); m != nil && p.bears(m[1:]) {
			return d.fill(p, m[1:]), true
		}
	}
	return "", false
}

// mayBe is what every match of the pattern has, and quick to see.
func (p *pattern) mayBe(s string) bool {
	if !strings.HasPrefix(s, p.lead) || !strings.HasSuffix(s, p.tail) || len(s) > longest && !p.any {
		return false
	}
	s = s[len(p.lead):]
	for _, part := range p.holds {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// bears reports whether what was found in the places can stand there.
func (p *pattern) bears(found []string) bool {
	for i, text := range found {
		over := ends
		switch p.kinds[i] {
		case "any":
			continue
		case "say":
			over = ends[:1]
		}
		for _, end := range over {
			if strings.Contains(text, end) {
				return false
			}
		}
	}
	return true
}

// Say is a text in Chinese. Of a text that is not in the dictionary as a whole its
// parts are; what is in no part of it stays as it is.
func (d *Dictionary) Say(s string) string {
	if zh, ok := d.exact[s]; ok {
		return zh
	}
	m := check.FindStringSubmatch(s)
	if m != nil {
		if zh := d.Say(m[3]); zh != m[3] {
			return m[1] + m[2] + "：" + zh
		}
	}
	if zh, ok := d.Sentence(s, false); ok {
		return zh
	}
	if m != nil {
		return m[1] + m[2] + "：" + m[3]
	}
	if len(s) > longest {
		return s
	}
	for _, sep := range separators {
		parts := strings.Split(s, sep.en)
		if len(parts) < 2 {
			continue
		}
		said, known := d.parts(parts, sep.en)
		switch {
		case known || sep.en == sep.zh:
			return strings.Join(said, sep.zh)
		case sep.en == ", ":
			return s
		}
		return strings.Join(said, sep.en)
	}
	return s
}

// mostParts bounds the search for sentences that a separator is part of.
const mostParts = 12

// parts says each part of a text, several together where they are one sentence. known:
// all of them are in the dictionary.
func (d *Dictionary) parts(parts []string, sep string) (said []string, known bool) {
	known = true
	for len(parts) > 0 {
		took := 0
		for n := min(len(parts), mostParts); n > 1 && took == 0; n-- {
			if zh, ok := d.Sentence(strings.Join(parts[:n], sep), false); ok {
				said, took = append(said, zh), n
			}
		}
		if took == 0 {
			zh := d.Say(parts[0])
			said, known, took = append(said, zh), known && zh != parts[0], 1
		}
		parts = parts[took:]
	}
	return said, known
}

// fill puts what stood in the places of a pattern into its Chinese.
func (d *Dictionary) fill(p *pattern, found []string) string {
	var texts [10]string
	for i, text := range found {
		switch p.kinds[i] {
		case "say":
			text = d.Say(text)
		case "list":
			var items []string
			for _, item := range strings.Split(text, ", ") {
				items = append(items, d.Say(item))
			}
			text = strings.Join(items, "、")
		}
		texts[p.places[i]] = text
	}
	out, last := "", 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(p.zh, -1) {
		out = spaced(spaced(out, p.zh[last:m[0]]), texts[p.zh[m[2]]-'0'])
		last = m[1]
	}
	return spaced(out, p.zh[last:])
}

// spaced is a then b, with a space between a Chinese character and a Latin letter or
// digit, and none between two Chinese ones: which of them fills a place is not known
// where the sentence is written.
func spaced(a, b string) string {
	left, right := strings.TrimSuffix(a, " "), strings.TrimPrefix(b, " ")
	l, _ := utf8.DecodeLastRuneInString(left)
	r, _ := utf8.DecodeRuneInString(right)
	switch lh, rh := unicode.Is(unicode.Han, l), unicode.Is(unicode.Han, r); {
	case lh && rh:
		return left + right
	case (lh && latin(r) || rh && latin(l)) && left == a && right == b:
		return a + " " + b
	}
	return a + b
}

// latin: a letter or digit of ASCII.
func latin(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
