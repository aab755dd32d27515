package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"tokentape/internal/analysis/curve"
)

// CurveJSON writes curve.json, indented, fields in order: equal curves are equal bytes.
func CurveJSON(w io.Writer, c *curve.Curves) error { return curveDocument(w, c, *c, "curves") }

// CurveCompareJSON writes the comparison of two sweeps as JSON.
func CurveCompareJSON(w io.Writer, c *curve.Comparison) error {
	return curveDocument(w, c, *c, "comparison")
}

func curveDocument(w io.Writer, doc, value any, name string) error {
	if err := finiteValue(reflect.ValueOf(value), name); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("writing the %s: %w", name, err)
	}
	return nil
}

// CurveSchema is the JSON Schema (draft 2020-12) of curve.json, open as that of
// results.json.
func CurveSchema() []byte {
	return schemaOf(reflect.TypeFor[curve.Curves](), "tokentape curves", curve.Schema,
		"The points of a sweep read together, off their tapes. null: not observed, never 0. Definitions: tokentape explain NAME, docs/metrics.md.")
}

// CurveCSV writes one line a point: its settings, its state, then every value with
// the ends of its 95 % interval, in full precision (RFC 4180). Columns of values that
// no point has are left out; an absent value is an empty cell.
func CurveCSV(w io.Writer, c *curve.Curves) error {
	if err := finiteValue(reflect.ValueOf(*c), "curves"); err != nil {
		return err
	}
	names := map[string]bool{}
	bounded := map[string]bool{}
	for _, p := range c.Points {
		for name, v := range p.Values {
			names[name] = names[name] || v.Value != nil
			bounded[name] = bounded[name] || v.CI[0] != nil && v.CI[1] != nil
		}
	}
	var columns []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			columns = append(columns, name)
		}
	}
	head := slices.Concat([]string{"point"}, c.Fields, []string{"state", "reason", "runs", "fit", "window", "requests", "ok", "failed", "cached_from", "load_state", "knee", "front"})
	for _, name := range columns {
		head = append(head, name)
		if bounded[name] {
			head = append(head, name+"_ci95_low", name+"_ci95_high")
		}
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	out.Write(head)
	float := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for i := range c.Points {
		p := &c.Points[i]
		line := []string{guard(p.Name)}
		for _, v := range p.At {
			line = append(line, curveSetting(v))
		}
		load := ""
		if p.Backlog != nil {
			load = p.Backlog.State
		}
		line = append(line, p.State, guard(p.Reason), strconv.Itoa(p.Pooled), strconv.FormatBool(p.Fit), p.Window, strconv.FormatInt(p.Requests, 10),
			strconv.FormatInt(p.OK, 10), strconv.FormatInt(p.Failures, 10), p.CachedFrom, load, strconv.FormatBool(p.Knee), CurveMarks(c, p))
		for _, name := range columns {
			v := p.Values[name]
			line = append(line, float(v.Value))
			if bounded[name] {
				line = append(line, float(v.CI[0]), float(v.CI[1]))
			}
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// curveSetting is a value of a field as it stands in the spec.
func curveSetting(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return guard(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return guard(string(b))
}
