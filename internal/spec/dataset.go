package spec

import (
	"fmt"
	"maps"
	"slices"
)

// Formats are the known values of workload.dataset.format, the default first:
// auto chooses; then how rows are laid out, and what they mean.
var Formats = []string{"auto", "jsonl", "json", "csv", "tsv", "text", "parquet",
	"messages", "sharegpt", "tokens", "bodies", "mooncake", "burstgpt", "azure"}

// datasetEffect names what the rows leave without effect.
func (s *Spec) datasetEffect(idle func(when bool, path, why, mend string)) {
	d, made := s.Workload.Dataset, len(s.Workload.Body) > 0
	bodies := d.Format == "bodies"
	const (
		whole = "the rows are whole request bodies (workload.dataset.format: bodies)"
		own   = "workload.body is the whole request body"
	)
	for _, path := range []string{"workload.system", "workload.output_tokens", "workload.sampling", "workload.template", "workload.dataset.extra"} {
		idle(bodies, path, whole, "put it into the bodies")
		idle(made, path, own, "put it into workload.body")
	}
	idle(made && bodies, "workload.body", whole, "keep one of the two")
	idle(!made && !bodies, "workload.dataset.override", "the rows are no request bodies", "workload.dataset.format: bodies, or remove it")
	idle(d.Format != "sharegpt" && d.Format != "auto", "workload.dataset.turns", "the rows are no ShareGPT conversations", "workload.dataset.format: sharegpt, or remove it")
}

// dataset checks how rows are read.
func (c *checker) dataset() {
	d := c.s.Workload.Dataset
	for _, name := range sorted(d.Columns) {
		if d.Columns[name] == "" {
			c.bad("workload.dataset.columns."+name, "name the field of the row", "is empty")
		}
	}
	for _, f := range []struct {
		path   string
		values []string
	}{{"workload.dataset.extra", d.Extra}, {"workload.dataset.override", d.Override}} {
		for i, v := range f.values {
			path := fmt.Sprintf("%s[%d]", f.path, i)
			if known := choices()[f.path]; known != nil && !slices.Contains(known, v) {
				message, hint := unknownChoice(v, known)
				c.bad(path, hint, "%s", message)
			} else if v == "" {
				c.bad(path, "name a field of the row", "is empty")
			} else if slices.Contains(f.values[:i], v) {
				c.bad(path, "keep one", "%s is given twice", v)
			}
		}
	}
	for _, name := range sorted(d.Filter) {
		switch d.Filter[name].(type) {
		case map[string]any, []any, nil:
			c.bad("workload.dataset.filter."+name, "a text, a number, true or false", "a row's field is compared with one value")
		}
	}
	for _, f := range []struct {
		path  string
		value int64
	}{{"workload.dataset.skip", d.Skip}, {"workload.dataset.limit", d.Limit}} {
		if f.value < 0 {
			c.bad(f.path, "", "%d is negative", f.value)
		}
	}
	for _, key := range sorted(c.s.Workload.Body) {
		if bad := notJSON(c.s.Workload.Body[key]); bad != "" {
			c.bad("workload.body."+key, "", "%s cannot be sent as JSON", bad)
		}
	}
}

// includeUsage refuses a text where servers need true or false: some refuse it,
// some take any text for true.
func (c *checker) includeUsage() {
	options, _ := c.s.Workload.Sampling["stream_options"].(map[string]any)
	if v, given := options["include_usage"]; given {
		if _, ok := v.(bool); !ok {
			c.bad("workload.sampling.stream_options.include_usage", "true or false, without quotes", "%q is neither true nor false", clip(fmt.Sprint(v)))
		}
	}
}

// clone is a deep copy.
func (d Dataset) clone() Dataset {
	d.Columns, d.Extra, d.Override = maps.Clone(d.Columns), slices.Clone(d.Extra), slices.Clone(d.Override)
	d.Filter, _ = cloneAny(d.Filter).(map[string]any)
	return d
}
