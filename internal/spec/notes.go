package spec

import (
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"tokentape/internal/secret"
)

// Bounds of notes: they are for a page, not for a book.
const (
	maxNotes     = 100
	maxNoteName  = 100  // characters
	maxNoteValue = 1000 // characters
)

// setNote assigns one note; what it replaces leaves no trace.
func (d *decoder) setNote(at place, name, value string) {
	notes := map[string]string{}
	maps.Copy(notes, d.spec.Notes)
	notes[name] = value
	d.spec.Notes = notes
	d.from["notes."+name] = at
}

// maskNotes hides the values under credentials' names, and the secrets of URLs in the
// others.
func maskNotes(notes map[string]string) map[string]string {
	if notes == nil {
		return nil
	}
	out := make(map[string]string, len(notes))
	for name, v := range notes {
		if out[name] = maskText(v); v != "" && secret.Name(name) {
			out[name] = mask
		}
	}
	return out
}

// noteSecrets are what maskNotes hides.
func noteSecrets(notes map[string]string, add func(string)) {
	for name, v := range notes {
		if secret.Name(name) {
			add(v)
		}
		textSecrets(v, add)
	}
}

func (c *checker) notes() {
	if n := len(c.s.Notes); n > maxNotes {
		c.bad("notes", "keep what tells runs apart", "%d notes are more than %d", n, maxNotes)
	}
	for _, name := range sorted(c.s.Notes) {
		path := "notes." + name
		switch v := c.s.Notes[name]; {
		case !printable(name) || strings.TrimSpace(name) != name || utf8.RuneCountInString(name) > maxNoteName:
			c.bad("notes", "a word, such as server_commit", "%q cannot be the name of a note", clip(name))
		case !printable(v):
			c.bad(path, "one line of text", "the value holds a line end, or characters that cannot be printed")
		case utf8.RuneCountInString(v) > maxNoteValue:
			c.bad(path, "put it into a file beside the run, and its name here", "%d characters are more than the %d of a note", utf8.RuneCountInString(v), maxNoteValue)
		}
	}
}

// printable reports whether a text is one line that cannot steer a terminal.
func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0
}
