package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// column is one of a table; Key names its values in JSON.
type column struct {
	Key  string `json:"key"`
	Head string `json:"head"` // with the unit
}

// record is a row by the keys of the columns: strings, whole numbers, float64, or a
// ratio. What was not measured is not there.
type record map[string]any

// table is what a case measured.
type table struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Columns []column `json:"columns"`
	Rows    []record `json:"rows"`
	Notes   []string `json:"notes,omitempty"`
}

// columns makes columns of "key|head" texts.
func columns(texts ...string) (all []column) {
	for _, t := range texts {
		key, head, _ := strings.Cut(t, "|")
		all = append(all, column{key, head})
	}
	return all
}

// MarshalJSON leaves out numbers that JSON cannot hold.
func (r record) MarshalJSON() ([]byte, error) {
	clean := map[string]any{}
	for k, v := range r {
		switch v := v.(type) {
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
		case ratio:
			if !v.sound() {
				continue
			}
		}
		clean[k] = v
	}
	return json.Marshal(clean)
}

// cell is a value as text; "–" for none.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return v
	case float64:
		return digits(v)
	case ratio:
		return digits(v.OfMedians)
	default:
		return fmt.Sprint(v)
	}
}

// digits is a number to three digits, never in powers of ten.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a >= 100:
		return thousands(int64(math.Round(v)))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// print writes the table with aligned columns: texts left, numbers right.
func (t table) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s · %s\n", t.Name, t.Title)
	var cells [][]string
	widths := make([]int, len(t.Columns))
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Head
	}
	cells = append(cells, line)
	text := make([]bool, len(t.Columns))
	for _, r := range t.Rows {
		line := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			line[i] = cell(r[c.Key])
			if _, is := r[c.Key].(string); is {
				text[i] = true
			}
		}
		cells = append(cells, line)
	}
	for _, line := range cells {
		for i, s := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(s))
		}
	}
	for _, line := range cells {
		var b strings.Builder
		for i, s := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s))
			if text[i] {
				b.WriteString(s + pad + "  ")
			} else {
				b.WriteString(pad + s + "  ")
			}
		}
		fmt.Fprintln(w, "  "+strings.TrimRight(b.String(), " "))
	}
	for _, n := range t.Notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
}

// keepTable takes a table when its case ends, also in the middle: what was measured before a
// load beyond the machine stays.
func (b *bench) keepTable(t *table) {
	if len(t.Rows) > 0 || len(t.Notes) > 0 {
		b.tables = append(b.tables, *t)
	}
}
