package curve

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Expected is what was expected beside what was measured.
type Expected struct {
	Path string        `json:"path"`
	Line string        `json:"line"`
	Rows []ExpectedRow `json:"rows"`
}

// ExpectedRow is one expected value of one point.
type ExpectedRow struct {
	Point    int         `json:"point"` // index into Curves.Points
	Metric   string      `json:"metric"`
	Unit     string      `json:"unit,omitempty"`
	Expected float64     `json:"expected"`
	Measured *float64    `json:"measured"`
	CI       [2]*float64 `json:"ci"`
	Ratio    *float64    `json:"ratio"`  // measured ÷ expected; null where either is not there or 0 is expected
	Inside   *bool       `json:"inside"` // expected lies in the interval of what was measured; null without one
	Why      string      `json:"why,omitempty"`
}

// ExpectedError says what is wrong with a file of expected values, and where.
type ExpectedError struct {
	Path string
	Line int // 0: of the file as a whole
	Msg  string
	Hint string
}

func (e *ExpectedError) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Msg)
}

// mostExpected is the largest file of expected values that is read.
const mostExpected = 8 << 20

// cell is one key and value of a row.
type cell struct {
	key, value string
	line       int
}

// readExpected reads the rows of a file of expected values: CSV with a head, else a
// list of objects in JSON or YAML. Errors are *ExpectedError, or those of the file.
func readExpected(path string) (rows [][]cell, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostExpected+1))
	switch {
	case err != nil:
		return nil, fileError(path, err)
	case len(text) > mostExpected:
		return nil, &ExpectedError{Path: path, Msg: fmt.Sprintf("larger than %d MiB: no file of expected values", mostExpected>>20)}
	}
	var bad *ExpectedError
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		rows, bad = csvRows(text)
	case ".json", ".yaml", ".yml":
		rows, bad = yamlRows(text)
	default:
		bad = &ExpectedError{Msg: "which format is it?", Hint: "name it .csv, .json or .yaml"}
	}
	if bad == nil && len(rows) == 0 {
		bad = &ExpectedError{Msg: "no expected values", Hint: expectedForm}
	}
	if bad != nil {
		bad.Path = path
		return nil, bad
	}
	return rows, nil
}

// fileError is why a file of expected values cannot be read; its path is said once.
func fileError(path string, err error) *ExpectedError {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &ExpectedError{Path: path, Msg: "the file of expected values cannot be read: " + err.Error(), Hint: "its path, as --expected FILE or sweep.expected; " + expectedForm}
}

const expectedForm = "CSV: a head such as load.concurrency,output_tokens_per_s,ttft_ms.p95 and a line a point; JSON or YAML: a list of objects with the same names"

func csvRows(text []byte) ([][]cell, *ExpectedError) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.Comment, r.TrimLeadingSpace = '#', true
	head, err := r.Read()
	if err != nil {
		return nil, csvError(err)
	}
	line, _ := r.FieldPos(0)
	for i, h := range head {
		head[i] = strings.TrimSpace(h)
		if slices.Contains(head[:i], head[i]) {
			return nil, &ExpectedError{Line: line, Msg: fmt.Sprintf("the column %q stands twice", head[i])}
		}
	}
	var rows [][]cell
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		var row []cell
		for i, v := range fields {
			line, _ := r.FieldPos(i)
			if v = strings.TrimSpace(v); v != "" {
				row = append(row, cell{head[i], v, line})
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
}

func csvError(err error) *ExpectedError {
	var at *csv.ParseError
	if errors.As(err, &at) {
		return &ExpectedError{Line: at.Line, Msg: at.Err.Error()}
	}
	if errors.Is(err, io.EOF) {
		return &ExpectedError{Msg: "no expected values", Hint: expectedForm}
	}
	return &ExpectedError{Msg: err.Error()}
}

// yamlRows reads YAML, and so JSON. The parser is not ours: a panic inside is a syntax
// error here.
func yamlRows(text []byte) (rows [][]cell, bad *ExpectedError) {
	defer func() {
		if recover() != nil {
			rows, bad = nil, &ExpectedError{Msg: "it cannot be read"}
		}
	}()
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		bad = &ExpectedError{Msg: err.Error()}
		var ye yaml.Error
		if errors.As(err, &ye) {
			bad.Msg = ye.GetMessage()
			if tk := ye.GetToken(); tk != nil && tk.Position != nil {
				bad.Line = tk.Position.Line
			}
		}
		return nil, bad
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, nil
	}
	list, ok := f.Docs[0].Body.(*ast.SequenceNode)
	if !ok {
		return nil, &ExpectedError{Line: 1, Msg: "a list of objects is needed here", Hint: expectedForm}
	}
	for _, item := range list.Values {
		m, ok := item.(ast.MapNode)
		if !ok {
			return nil, &ExpectedError{Line: lineOf(item), Msg: "an object is needed here: the settings of a point, and expected values", Hint: expectedForm}
		}
		var row []cell
		for it := m.MapRange(); it.Next(); {
			c := cell{key: it.Key().GetToken().Value, line: lineOf(it.Key())}
			switch v := it.Value().(type) {
			case *ast.NullNode:
				continue
			case *ast.StringNode:
				c.value = v.Value
			case ast.ScalarNode:
				c.value = v.GetToken().Value
			default:
				return nil, &ExpectedError{Line: c.line, Msg: c.key + ": one value is needed, no list and no object"}
			}
			if slices.ContainsFunc(row, func(o cell) bool { return o.key == c.key }) {
				return nil, &ExpectedError{Line: c.line, Msg: fmt.Sprintf("%q stands twice", c.key)}
			}
			row = append(row, c)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func lineOf(n ast.Node) int {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position.Line
	}
	return 0
}

// expect holds a file of expected values against the points.
func (c *Curves) expect(path string) (*Expected, error) {
	rows, err := readExpected(path)
	if err != nil {
		return nil, err
	}
	e := &Expected{Path: path, Rows: []ExpectedRow{}}
	type seen struct {
		point  int
		metric string
	}
	lines := map[seen]int{}
	for _, row := range rows {
		at, bad := c.pointOf(row)
		if bad != nil {
			bad.Path = path
			return nil, bad
		}
		n := 0
		for _, k := range row {
			if k.key == "point" || slices.Contains(c.Fields, k.key) {
				continue
			}
			n++
			r, bad := c.expectOne(at, k)
			if bad == nil {
				if before, twice := lines[seen{at, k.key}]; twice {
					bad = &ExpectedError{Line: k.line, Msg: fmt.Sprintf("%s of %s is expected in line %d already", k.key, c.Points[at].Label, before)}
				}
			}
			if bad != nil {
				bad.Path = path
				return nil, bad
			}
			lines[seen{at, k.key}] = k.line
			e.Rows = append(e.Rows, r)
		}
		if n == 0 {
			return nil, &ExpectedError{Path: path, Line: row[0].line, Msg: "no value is expected of " + c.Points[at].Label, Hint: expectedForm}
		}
	}
	e.say()
	return e, nil
}

// pointOf is the point that a row is of: by its name, or by the fields that it gives.
func (c *Curves) pointOf(row []cell) (int, *ExpectedError) {
	if len(row) == 0 {
		return 0, &ExpectedError{Msg: "an empty object", Hint: expectedForm}
	}
	var found []int
	given := false
	for i := range c.Points {
		p := &c.Points[i]
		all := true
		for _, k := range row {
			if k.key == "point" {
				given, all = true, all && (k.value == p.Name || k.value == p.Label)
			} else if n := slices.Index(c.Fields, k.key); n >= 0 {
				given, all = true, all && same(p.At[n], k.value)
			}
		}
		if all {
			found = append(found, i)
		}
	}
	labels := make([]string, len(c.Points))
	for i, p := range c.Points {
		labels[i] = p.Label
	}
	switch {
	case !given:
		return 0, &ExpectedError{Line: row[0].line, Msg: "it does not say which point it is of", Hint: "give " + strings.Join(c.Fields, ", ") + ", or point: its name"}
	case len(found) == 0:
		return 0, &ExpectedError{Line: row[0].line, Msg: "the sweep has no such point", Hint: "its points: " + list(labels)}
	case len(found) > 1:
		return 0, &ExpectedError{Line: row[0].line, Msg: fmt.Sprintf("%d points of the sweep are such", len(found)), Hint: "give all of " + strings.Join(c.Fields, ", ")}
	}
	return found[0], nil
}

// same reports whether a value of a field is the one that a file names.
func same(v any, word string) bool {
	if f, ok := v.(float64); ok {
		w, err := strconv.ParseFloat(word, 64)
		return err == nil && w == f
	}
	return text(v) == word
}

func (c *Curves) expectOne(at int, k cell) (ExpectedRow, *ExpectedError) {
	p := &c.Points[at]
	if !c.known(k.key) {
		return ExpectedRow{}, &ExpectedError{Line: k.line, Msg: fmt.Sprintf("%q is neither a field of the sweep nor a value of its points", k.key), Hint: "values: " + strings.Join(Names(), ", ") + "; fields: " + strings.Join(c.Fields, ", ")}
	}
	v, err := strconv.ParseFloat(k.value, 64)
	if err != nil || v-v != 0 {
		return ExpectedRow{}, &ExpectedError{Line: k.line, Msg: fmt.Sprintf("%s: %q is no number", k.key, k.value), Hint: "one number, without its unit (" + Unit(k.key) + ")"}
	}
	if v < 0 {
		return ExpectedRow{}, &ExpectedError{Line: k.line, Msg: fmt.Sprintf("%s: %s is below 0, which nothing measured here can be", k.key, k.value), Hint: "leave it empty where nothing is expected"}
	}
	got := p.Values[k.key]
	r := ExpectedRow{Point: at, Metric: k.key, Unit: Unit(k.key), Expected: v, Measured: got.Value, CI: got.CI, Why: got.Why}
	switch {
	case got.Value == nil:
		if p.State != Measured {
			r.Why = strings.ReplaceAll(p.State, "_", " ")
		} else if r.Why == "" {
			r.Why = "not observed"
		}
		return r, nil
	case v != 0:
		r.Ratio = ref(*got.Value / v)
	}
	if got.CI[0] != nil && got.CI[1] != nil {
		in := *got.CI[0] <= v && v <= *got.CI[1]
		r.Inside = &in
	}
	return r, nil
}

// Names are the values that points have, without those of statistics of every metric:
// metrics of requests have .mean, .p50, .p95 and .p99.
func Names() []string {
	out := slices.Concat(system, []string{
		"output_tokens_per_s_per_device", "output_tokens_per_s_per_user", "offered_per_s", "kept_up_per_s", "backlog_slope_per_s", "backlog_end",
		"server_queue", "failed_share", "cached_ratio", "slo_good_share", "slo_good_requests_per_s", "slo_good_output_tokens_per_s", "throughput_per_latency",
	})
	for _, m := range metrics {
		out = append(out, m+".p95")
	}
	return out
}

func (c *Curves) known(name string) bool {
	key, stat := split(name)
	return slices.Contains(Names(), name) || stat != "" && slices.Contains(metrics, key)
}

func (e *Expected) say() {
	in, out, open, none := 0, 0, 0, 0
	for _, r := range e.Rows {
		switch {
		case r.Measured == nil:
			none++
		case r.Inside == nil:
			open++
		case *r.Inside:
			in++
		default:
			out++
		}
	}
	e.Line = fmt.Sprintf("%d expected values: %d lie in the interval of what was measured, %d outside", len(e.Rows), in, out)
	if open > 0 {
		e.Line += fmt.Sprintf(", of %d there is no interval", open)
	}
	if none > 0 {
		e.Line += fmt.Sprintf(", %d were not measured", none)
	}
}
