package analysis

import (
	"encoding/json"
	"fmt"
	"strings"

	"tokentape/tape"
)

// Provenance is where a run comes from, as its tape has it: sections of facts, each a
// name and a text. A fact that was not observed is null.
type Provenance struct {
	Run      string          `json:"run"`
	Sections []Section       `json:"sections"`
	Spec     json.RawMessage `json:"spec"`            // resolved, secrets masked
	Parts    []Provenance    `json:"parts,omitempty"` // of a merged tape
}

// Section is the facts of one thing.
type Section struct {
	Name  string `json:"name"`
	Facts []Fact `json:"facts"`
	// Long: a view may leave facts out of a short page, and has to say so.
	Long bool `json:"long,omitempty"`
}

// Fact is one value as text, with its unit.
type Fact struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
	// After is the value after the run, of what a server says of itself, when it differs.
	After string `json:"after,omitempty"`
}

// sheet collects the facts of a section. Empty texts are not observed.
type sheet struct{ Section }

func (s *sheet) text(name, v string) {
	f := Fact{Name: name}
	if v != "" {
		f.Value = &v
	}
	s.Facts = append(s.Facts, f)
}

// textIf adds a fact only where there is one: of what most runs have none of.
func (s *sheet) textIf(name, v string) {
	if v != "" {
		s.text(name, v)
	}
}

func (s *sheet) count(name string, n int64, unit string) {
	if n == 0 {
		s.text(name, "")
		return
	}
	s.text(name, strings.TrimSpace(thousands(n)+" "+unit))
}

// bytes are written so that both people and programs can use them.
func (s *sheet) bytes(name string, n int64) {
	switch {
	case n <= 0:
		s.text(name, "")
	case n < 1<<20:
		s.count(name, n, "bytes")
	default:
		s.text(name, fmt.Sprintf("%s bytes (%.3g GiB)", thousands(n), float64(n)/(1<<30)))
	}
}

func whether(o tape.Opt[bool]) string {
	if !o.OK {
		return ""
	}
	return yesNo(o.V)
}

// provenance is that of the tape, and of its parts.
func (r *run) provenance() *Provenance {
	p := r.provenanceOf(r.header, r.footer, 0, len(r.parts()) > 0)
	for i := range r.parts() {
		part := &r.parts()[i]
		p.Parts = append(p.Parts, *r.provenanceOf(&part.Header, part.Footer, int64(i), false))
	}
	return p
}

// provenanceOf is that of a header. Of a merged tape it says what holds for all parts,
// which have their machines and servers themselves.
func (r *run) provenanceOf(h *tape.Header, footer *tape.Footer, part int64, merged bool) *Provenance {
	p := &Provenance{Run: h.Run, Spec: h.Spec}
	add := func(s sheet) {
		if len(s.Facts) > 0 {
			p.Sections = append(p.Sections, s.Section)
		}
	}
	add(r.runSheet(h, footer))
	add(notesSheet(h.Spec))
	add(toolSheet(h.Tool))
	add(planSheet(h))
	if !merged {
		add(hostSheet(h.Host))
	}
	if h.Source != nil {
		add(sourceSheet(h.Source))
	}
	add(serverSheet(&h.Server))
	if merged {
		return p
	}
	add(r.pagesSheet(part))
	add(r.repliesSheet(part))
	for _, t := range r.testimonies() {
		if t.part == part {
			add(t.sheet())
		}
	}
	return p
}
