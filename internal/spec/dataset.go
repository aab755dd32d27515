package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Formats are the known values of workload.dataset.format, the default first:
// auto chooses; then how rows are laid out, and what they mean.
var Formats = []string{"auto", "jsonl", "json", "csv", "tsv", "text", "parquet",
	"messages", "sharegpt", "tokens", "bodies", "mooncake", "burstgpt", "azure"}

// MooncakeBlock is the number of tokens that a hash id of a Mooncake trace stands
// for by the trace's own rule.
const MooncakeBlock = 512

// maxBlock bounds workload.dataset.block_tokens.
const maxBlock = 1 << 20

// ownPrompts are the formats whose rows bring a prompt that no template makes.
var ownPrompts = []string{"messages", "sharegpt", "tokens", "mooncake", "burstgpt", "azure"}

// SendsModel reports whether the requests name the model that the spec does:
// whole bodies name their own unless workload.dataset.override says otherwise.
func (s *Spec) SendsModel() bool {
	w := s.Workload
	return w.Dataset.Format != "bodies" && len(w.Body) == 0 || slices.Contains(w.Dataset.Override, "model") ||
		strings.Contains(s.rawPath(), "{model}")
}

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
	why := whole
	if made {
		why = own
	}
	idle(!s.SendsModel(), "target.model", why, "--set workload.dataset.override=[model] puts it in place of the bodies' own; or remove it")
	api, _ := FindAPI(s.Target.API)
	idle((made || bodies) && !slices.Contains(d.Override, "stream") && api.Whole == "", "workload.stream", why,
		"--set workload.dataset.override=[stream] puts it in place of the bodies' own; or remove it")
	idle(slices.Contains(ownPrompts, d.Format), "workload.template", "the rows have prompts of their own (workload.dataset.format: "+d.Format+")", "remove it, or workload.dataset.format: auto")
	idle(made && slices.Contains(ownPrompts, d.Format), "workload.dataset.format", own, "remove it; how the file is laid out shows by itself")
	idle(d.Format != "mooncake" && d.Format != "auto", "workload.dataset.block_tokens", "the rows are no Mooncake trace", "workload.dataset.format: mooncake, or remove it")
	idle(d.Format == "azure" && d.Columns["timestamp"] == "", "workload.dataset.time_unit", "the times of an Azure trace are dates", "remove it")
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
	if b := d.BlockTokens; b < 0 || b > maxBlock || b == 0 && c.s.given("workload.dataset.block_tokens") {
		c.bad("workload.dataset.block_tokens", fmt.Sprintf("from 1 to %d; 512 when left out", maxBlock), "%d is no number of tokens", b)
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
