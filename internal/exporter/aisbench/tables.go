package aisbench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tokentape/internal/analysis/as"
)

// The stages of AISBench's tables.
const (
	Total  = "total"
	Stable = "stable"
)

// stage picks the two tables of a stage: per request, and common. Error: the run
// has no such stage, in AISBench's words.
func stage(t *as.Table, name string) (each, common as.Section, err error) {
	for _, s := range t.Sections {
		switch s.Title {
		case name:
			return each, common, errors.New(s.Rows[0][0])
		case name + ": per request":
			each = s
		case name + ": common":
			common = known(s)
		}
	}
	if each.Title == "" || common.Title == "" {
		return each, common, fmt.Errorf("no tables of the stage %q", name)
	}
	return each, common, nil
}

// known is the common table without a Max Concurrency of 0, which says that there was
// no cap, or that nobody knows it: the cell is empty. AISBench always has one.
func known(s as.Section) as.Section {
	s.Rows = slices.Clone(s.Rows)
	for i, row := range s.Rows {
		if row[0] == "Max Concurrency" && row[2] == "0" {
			s.Rows[i] = []string{row[0], row[1], ""}
		}
	}
	return s
}

// Tables writes the tables of a stage as NAME.csv and NAME.json, NAME being the
// dataset's and each of suffixes in turn, and returns the paths. A file that holds
// the same already is left as it is, one that holds something else is kept, and the
// new one gets a number. Errors: the run has no such stage, and those of the files.
func (l *Layout) Tables(t *as.Table, name string, suffixes ...string) (paths []string, err error) {
	each, common, err := stage(t, name)
	if err != nil {
		return nil, err
	}
	table, err := eachCSV(each)
	if err != nil {
		return nil, err
	}
	if len(suffixes) == 0 {
		suffixes = []string{""}
	}
	for _, suffix := range suffixes {
		for ext, b := range map[string][]byte{".csv": table, ".json": commonJSON(common)} {
			path, err := l.keep(suffix, ext, b)
			if err != nil {
				return nil, err
			}
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// keep writes b beside whatever else is there.
func (l *Layout) keep(suffix, ext string, b []byte) (string, error) {
	for i := 1; i < 1000; i++ {
		path := l.file(suffix + ext)
		if i > 1 {
			path = l.file(fmt.Sprintf("%s_%d%s", suffix, i, ext))
		}
		have, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(have, b):
			return path, nil
		case err == nil:
			continue
		case !errors.Is(err, os.ErrNotExist):
			return "", err
		}
		return path, create(path, func(f *os.File) error {
			_, err := f.Write(b)
			return err
		})
	}
	return "", fmt.Errorf("%s: a thousand tables are there already", l.file(suffix+ext))
}

// eachCSV is the table per request as Python's csv module writes it.
func eachCSV(s as.Section) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	if err := w.WriteAll(append([][]string{s.Columns}, s.Rows...)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// commonJSON is the common table as json.dump writes it with an indent of four:
// numbers where the cell is one, else texts; nothing where the cell is empty.
func commonJSON(s as.Section) []byte {
	var b bytes.Buffer
	b.WriteString("{\n")
	for i, row := range s.Rows {
		fmt.Fprintf(&b, "    %s: {", pyJSON(row[0]))
		if cell := row[2]; cell != "" {
			var value json.RawMessage = []byte(cell)
			if !json.Valid(value) {
				value = pyJSON(cell)
			}
			fmt.Fprintf(&b, "\n        %s: %s\n    ", pyJSON(row[1]), value)
		}
		b.WriteByte('}')
		if i < len(s.Rows)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("}")
	return b.Bytes()
}

// Console is what AISBench prints of a stage: column for column, since scripts cut
// it by position. Error: the run has no such stage.
func (l *Layout) Console(t *as.Table, name string) (string, error) {
	each, common, err := stage(t, name)
	if err != nil {
		return "", err
	}
	common.Rows = slices.DeleteFunc(slices.Clone(common.Rows), func(row []string) bool { return row[2] == "" })
	return fmt.Sprintf("Performance Results of task [%s/%s]: \n%s%s", l.Model, l.Dataset, grid(each), grid(common)), nil
}

// grid draws a table as Python's tabulate does with its format fancy_grid: texts to
// the left, a column of whole numbers in the middle, each at least two wider than
// its name.
func grid(s as.Section) string {
	widths, numbers := make([]int, len(s.Columns)), make([]bool, len(s.Columns))
	for i, name := range s.Columns {
		widths[i], numbers[i] = len(name)+2, len(s.Rows) > 0
		for _, row := range s.Rows {
			widths[i] = max(widths[i], len(row[i]))
			numbers[i] = numbers[i] && row[i] != "" && strings.Trim(row[i], "0123456789") == ""
		}
	}
	var b strings.Builder
	rule := func(left, mid, right, line string) {
		for _, w := range widths {
			b.WriteString(left + strings.Repeat(line, w+2))
			left = mid
		}
		b.WriteString(right + "\n")
	}
	cells := func(row []string) {
		for i, c := range row {
			before, after := 0, widths[i]-len(c)
			if numbers[i] {
				before = after / 2
				after -= before
			}
			b.WriteString("│ " + strings.Repeat(" ", before) + c + strings.Repeat(" ", after) + " ")
		}
		b.WriteString("│\n")
	}
	rule("╒", "╤", "╕", "═")
	cells(s.Columns)
	for i, row := range s.Rows {
		if i == 0 {
			rule("╞", "╪", "╡", "═")
		} else {
			rule("├", "┼", "┤", "─")
		}
		cells(row)
	}
	rule("╘", "╧", "╛", "═")
	return b.String()
}
