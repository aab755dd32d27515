package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"

	"tokentape/tape"
)

// wholeEvery is how many readings apart whole ones are: what a torn tape loses ends
// there.
const wholeEvery = 300

// page follows one source from reading to reading. A line that was on the page before
// is found by its bytes, and a value that is as it was is not even read: so a page of
// thousands of series costs little more than the search for its line ends.
type page struct {
	keeps chooser
	kind  string              // as the source gives it; "" or auto: by the names on the page
	mask  func(string) string // for names of series; nil: nothing to hide

	turn     uint64               // of the reading in hand
	names    map[string]*name     // by sample name
	byLine   map[lineHash]*series // by name and labels as they stand on the page
	byKey    map[string]*series   // by name on the tape
	declared map[string]*typeLine // by name of the TYPE line

	// What is on the tape.
	nr      int64
	since   int // readings since the last whole one
	started float64
	types   map[string]string
	said    string // kind

	// Of the reading in hand.
	retyped         bool
	best            int // rank of the kind
	kept, left      int64
	notFinite, more int64
}

// lineHash stands for the bytes of name and labels of a line: to keep them would double
// the memory of a page. Two seeds of the process's own, so no page can make two alike.
type lineHash [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashOf(line []byte) lineHash {
	return lineHash{maphash.Bytes(seeds[0], line), maphash.Bytes(seeds[1], line)}
}

type name struct {
	text, family, typ string
	keep              bool
	rank              int
	turn              uint64
}

type typeLine struct {
	typ  string
	turn uint64
}

type series struct {
	key  string
	name *name

	raw   []byte // value as it was read last
	value float64
	turn  uint64 // of the reading that it was on last

	written bool // the tape has it, with
	last    float64
}

func newPage(src Source, mask func(string) string) *page {
	p := &page{keeps: choose(src.Kind, src.All, src.Families), kind: src.Kind, mask: mask, started: math.NaN(), types: map[string]string{}}
	p.forget()
	return p
}

// forget drops what was learned of lines, not what is on the tape.
func (p *page) forget() {
	old := p.byKey
	p.names, p.byLine, p.byKey = map[string]*name{}, map[lineHash]*series{}, map[string]*series{}
	if p.declared == nil {
		p.declared = map[string]*typeLine{}
	}
	for key, s := range old {
		if s.written { // it may be gone
			s.raw, s.name = nil, nil
			p.byKey[key] = s
		}
	}
}

// badLine is a line that breaks the format.
type badLine struct {
	nr   int
	why  error
	text []byte
}

func (e *badLine) Error() string { return fmt.Sprintf("line %d: %v", e.nr, e.why) }

var (
	errEmpty = errors.New("no series on the page")
	errCut   = errors.New("cut off: an OpenMetrics page ends with # EOF")
)

// read understands a page, whole or not at all: after an error it is as if it had not
// been read. A page of OpenMetrics must end as such do.
func (p *page) read(body []byte, openMetrics bool) error {
	err := p.lines(body, openMetrics)
	if p.retyped { // names on the tape depend on types
		p.forget()
		p.since = wholeEvery
		if err == nil {
			err = p.lines(body, openMetrics)
		}
	}
	return err
}

func (p *page) lines(body []byte, openMetrics bool) error {
	p.turn++
	p.retyped, p.best = false, len(kinds)
	p.kept, p.left, p.notFinite, p.more = 0, 0, 0, 0
	ended := false
	var last *name // of the line before: series of a family stand together
	for nr := 1; len(body) > 0 && !ended; nr++ {
		line := body
		if n := bytes.IndexByte(body, '\n'); n >= 0 {
			line, body = body[:n], body[n+1:]
		} else {
			body = nil
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if line = skipBlanks(line); len(line) == 0 {
			continue
		}
		var err error
		if line[0] == '#' {
			ended, err = p.comment(line)
		} else {
			last, err = p.line(line, last)
		}
		if err != nil {
			return &badLine{nr, err, line}
		}
	}
	for name, d := range p.declared {
		if d.turn != p.turn && d.typ != "untyped" { // the page says it no more
			d.typ = "untyped"
			p.retyped = p.retyped || p.knows(name)
		}
	}
	switch {
	case openMetrics && !ended:
		return errCut
	case p.kept+p.left == 0:
		return errEmpty
	}
	return nil
}

// comment takes the type out of a TYPE line. # EOF ends the page.
func (p *page) comment(line []byte) (eof bool, err error) {
	rest := skipBlanks(line[1:])
	if !bytes.HasPrefix(rest, []byte("TYPE")) || len(rest) == 4 || !isBlank(rest[4]) {
		return bytes.Equal(line, []byte("# EOF")), nil
	}
	rest = skipBlanks(rest[4:])
	name, rest := rest, []byte(nil)
	if len(name) > 0 && name[0] == '"' {
		text, after, err := unquote(name)
		if err != nil {
			return false, err
		}
		name, rest = []byte(text), after
	} else if n := bytes.IndexAny(name, " \t"); n >= 0 {
		name, rest = name[:n], name[n:]
	}
	typ := "untyped"
	switch t := string(bytes.ToLower(bytes.Trim(rest, " \t"))); t {
	case "counter", "gauge", "histogram", "summary", "gaugehistogram", "info", "stateset":
		typ = t
	}
	d := p.declared[string(name)]
	switch {
	case d == nil:
		d = &typeLine{"untyped", p.turn}
		p.declared[string(name)] = d
	case d.turn == p.turn:
		return false, nil // the first one counts
	}
	if d.turn = p.turn; d.typ != typ {
		d.typ = typ
		p.retyped = p.retyped || p.knows(string(name))
	}
	return false, nil
}

// ends are those that names of a family's samples may have behind its own.
var ends = []string{"", "_bucket", "_sum", "_count", "_total", "_created", "_info", "_gsum", "_gcount"}

// knows reports whether samples of a family were taken for what they then were.
func (p *page) knows(family string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return p.names[family+end] != nil })
}

// line takes one sample; last is the name of the one before.
func (p *page) line(line []byte, last *name) (*name, error) {
	text, err := nameOf(line)
	if err != nil {
		return last, err
	}
	var n *name
	switch {
	case text == nil: // in quotes
	case last != nil && string(text) == last.text:
		n = last
	default:
		n = p.name(text)
	}
	if n != nil && !n.keep {
		p.left++
		return n, nil
	}
	c, err := cut(line)
	if err != nil {
		return n, err
	}
	at := hashOf(c.key)
	s := p.byLine[at]
	if s == nil {
		if s, err = p.meet(c.key, at); err != nil {
			return n, err
		}
		if s == nil { // a quoted name that nobody asked for
			p.left++
			return n, nil
		}
	}
	if !bytes.Equal(s.raw, c.value) {
		v, err := float(c.value)
		if err != nil {
			return n, err
		}
		s.raw, s.value = append(s.raw[:0], c.value...), v
	}
	if s.turn == p.turn {
		p.more++
		return n, nil
	}
	s.turn, s.name.turn = p.turn, p.turn
	p.best = min(p.best, s.name.rank)
	p.kept++
	return n, nil
}

// name is what is known of a sample name, and notes that it is on the page.
func (p *page) name(text []byte) *name {
	n := p.names[string(text)]
	if n == nil {
		n = &name{text: string(text)}
		n.family, n.typ = p.family(n.text)
		n.keep = p.keeps.keeps(n.text)
		n.rank = rank(kindOf(n.text))
		p.names[n.text] = n
	}
	n.turn = p.turn
	p.best = min(p.best, n.rank)
	return n
}

// meet learns a line that was not on the page before; nil: it is not kept.
func (p *page) meet(key []byte, at lineHash) (*series, error) {
	text, labels, err := split(key)
	if err != nil {
		return nil, err
	}
	n := p.name([]byte(text))
	if !n.keep {
		return nil, nil
	}
	k := canonical(text, labels, n.typ)
	if p.mask != nil {
		k = p.mask(k)
	}
	s := p.byKey[k]
	if s == nil {
		s = &series{key: k}
		p.byKey[k] = s
	}
	s.name = n
	if len(p.byLine) > 2*len(p.byKey)+1000 { // the page spells its lines in ever new ways
		clear(p.byLine)
	}
	p.byLine[at] = s
	return s, nil
}

// family is the family of a sample and its type, as the tape has them.
func (p *page) family(sample string) (family, typ string) {
	if d := p.declared[sample]; d != nil {
		return sample, d.typ
	}
	i := strings.LastIndexByte(sample, '_')
	if i < 0 {
		return sample, "untyped"
	}
	d := p.declared[sample[:i]]
	if d == nil {
		return sample, "untyped"
	}
	switch end := sample[i:]; {
	case end == "_total" && d.typ == "counter", end == "_info" && d.typ == "info":
		return sample, d.typ
	case end == "_created":
		return sample, "gauge"
	case end == "_bucket" || end == "_sum" || end == "_count" || end == "_gsum" || end == "_gcount":
		if d.typ == "histogram" || d.typ == "summary" || d.typ == "gaugehistogram" {
			return sample[:i], d.typ
		}
	}
	return sample, "untyped"
}

// write puts what was read last into a line of the tape: all of it at first, from time
// to time, and when the server started anew; else what changed.
func (p *page) write(out *tape.Scrape, role string) {
	p.nr++
	started := p.startTime()
	whole := p.nr == 1 || p.since >= wholeEvery || started != p.started && !(math.IsNaN(started) && math.IsNaN(p.started))
	p.started = started
	if p.since++; whole {
		p.since = 1
		clear(p.types)
	}
	out.Nr, out.Left, out.Repeated = p.nr, p.left, p.more
	out.Series = map[string]float64{}
	same := int64(0)
	for key, s := range p.byKey {
		finite := s.turn == p.turn && !math.IsNaN(s.value) && !math.IsInf(s.value, 0)
		switch {
		case s.turn == p.turn && !finite:
			out.NotFinite++
			fallthrough
		case !finite:
			if s.written && !whole {
				out.Gone = append(out.Gone, key)
			}
			if s.written = false; s.turn != p.turn {
				delete(p.byKey, key)
				s.key = ""
			}
		case whole || !s.written || s.last != s.value:
			out.Series[key] = s.value
			s.written, s.last = true, s.value
		default:
			same++
		}
	}
	if len(p.byLine) > len(p.byKey) {
		maps.DeleteFunc(p.byLine, func(_ lineHash, s *series) bool { return s.key == "" })
	}
	slices.Sort(out.Gone)
	if !whole {
		out.Same = tape.Some(same)
	}
	for _, n := range p.names {
		if n.keep && n.turn == p.turn && n.typ != "untyped" && p.types[n.family] != n.typ {
			if out.Types == nil {
				out.Types = map[string]string{}
			}
			p.types[n.family], out.Types[n.family] = n.typ, n.typ
		}
	}
	kind := p.kindNow()
	if whole {
		out.Role = role
	}
	if whole || kind != p.said {
		out.Kind, p.said = kind, kind
	}
}

// startTime is process_start_time_seconds, of the server or of its exporter; NaN: the
// page does not say.
func (p *page) startTime() float64 {
	if s := p.byKey["process_start_time_seconds"]; s != nil && s.turn == p.turn {
		return s.value
	}
	return math.NaN()
}

func (p *page) kindNow() string {
	switch {
	case p.kind != "" && p.kind != "auto":
		return p.kind
	case p.best < len(kinds):
		return kinds[p.best].kind
	}
	return KindOther
}
