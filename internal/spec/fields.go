package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// choices are the values of fields that take one of a few.
func choices() map[string][]string {
	apis := make([]string, len(APIs))
	for i, a := range APIs {
		apis[i] = a.Name
	}
	return map[string][]string{
		"target.api":                  apis,
		"target.custom.framing":       {"sse", "ndjson", "json"},
		"target.http":                 {"1.1", "2"},
		"target.resolve":              {"per_connection", "once"},
		"workload.dataset.format":     Formats,
		"workload.dataset.on_bad_row": {"fail", "skip"},
		"workload.dataset.turns":      {"first", "all"},
		"workload.dataset.time_unit":  {"auto", "ns", "us", "ms", "s"},
		"workload.dataset.override":   {"model", "stream"},
		"workload.repeat":             {"none", "cycle"},
		"workload.order":              {"file", "shuffle"},
		"workload.cache":              {"auto", "zero"},
		"load.arrivals":               {"constant", "poisson", "gamma", "replay"},
		"workload.history":            {"server", "recorded"},
		"load.think.kind":             {"fixed", "uniform", "exponential"},
		"load.ramp.shape":             {"linear", "exponential"},
		"load.tail":                   {"none", "auto"},
		"probe":                       {"off", "short", "cache"},
		"record.output":               {"hash", "full", "none"},
		"report.windows":              {"whole", "stable", "steady"},
		"telemetry.kernel_stamps":     {"off", "sample", "all"},
		"telemetry.metrics.role":      {"prefill", "decode", "entry", "node", "device"},
		"sweep.order":                 {"up", "down", "shuffled", "interleaved"},
		"sweep.prompts":               {"distinct", "same"},
		"sweep.over.scale":            {"linear", "log"},
		"sweep.until.metric":          untilMetrics(),
		"search.for":                  {"rate", "concurrency"},
		"search.goal":                 {"highest", "goodput"},
		"search.prompts":              {"distinct", "same"},
		"telemetry.metrics.kind":      {"auto", "sglang", "vllm", "tgi", "dynamo", "llamacpp", "node", "dcgm", "npu", "other"},
	}
}

// otherNames are what other tools call our fields.
var otherNames = map[string]string{
	"base_url": "target.url", "endpoint": "target.url", "host": "target.url", "backend": "target.api",
	"timeout": "limits.total", "num_prompts": "load.requests", "num_requests": "load.requests",
	"max_concurrency": "load.concurrency", "workers": "load.concurrency", "batch_size": "load.concurrency",
	"request_rate": "load.rate", "qps": "load.rate", "rps": "load.rate", "retries": "load.attempts",
	"num_warmups": "load.warmup", "max_tokens": "workload.output_tokens", "max_out_len": "workload.output_tokens",
	"output_len": "workload.output_tokens", "prompt": "workload.template", "system_prompt": "workload.system",
	"temperature": "workload.sampling.temperature", "top_p": "workload.sampling.top_p",
	"top_k": "workload.sampling.top_k", "ignore_eos": "workload.sampling.ignore_eos",
	"extra_body": "workload.sampling", "skip_bad_rows": "workload.dataset.on_bad_row", "dataset_filter": "workload.dataset.filter",
	"num_rows": "workload.dataset.limit", "offset": "workload.dataset.skip", "dataset_format": "workload.dataset.format", "seed": "seeds.run", "dataset_path": "workload.dataset.path",
}

func (d *decoder) unknownKey(at place, section, key string) {
	s := suggest(section, key)
	_, meant := split(s)
	at.secret = looksSecret(cmp.Or(meant, key))
	where := ""
	if s == "" {
		if keys := keysAt(section); len(keys) > 0 {
			where = "known here: " + strings.Join(keys, ", ")
		}
	} else if parent, last := split(s); parent == noIndex(section) && at.origin == "" {
		where = fmt.Sprintf("did you mean %s?", last)
	} else if last == key && at.origin == "" {
		where = fmt.Sprintf("it belongs under %s: %s", parent, s)
	} else {
		where = fmt.Sprintf("did you mean %s?", s)
	}
	d.add(at.issue(join(section, key), where, "unknown key"))
}

// noIndex drops a list's index: telemetry.metrics[0] is telemetry.metrics.
func noIndex(path string) string {
	path, _, _ = strings.Cut(path, "[")
	return path
}

func split(path string) (parent, last string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// suggest is the path that a mistyped key most likely meant, or "".
func suggest(section, key string) string {
	section = noIndex(section)
	norm := strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	paths := allPaths()
	for _, p := range paths {
		if parent, last := split(p); parent == section && last == norm {
			return p
		}
	}
	for _, p := range paths {
		if _, last := split(p); last == norm {
			return p
		}
	}
	if p := otherNames[norm]; p != "" {
		return p
	}
	for _, p := range paths {
		if parent, last := split(p); parent == section && len(norm) > 2 && strings.HasPrefix(last, norm+"_") {
			return p
		}
	}
	if p := nearest(paths, norm, func(parent string) bool { return parent == section }); p != "" {
		return p
	}
	return nearest(paths, norm, func(string) bool { return true })
}

// nearest is the path whose last key is closest to key.
func nearest(paths []string, key string, in func(parent string) bool) string {
	byKey := map[string]string{}
	var keys []string
	for _, p := range paths {
		if parent, last := split(p); in(parent) && byKey[last] == "" {
			byKey[last] = p
			keys = append(keys, last)
		}
	}
	return byKey[Nearest(keys, key)]
}

// allPaths are the paths of every field, sections included, in struct order.
func allPaths() []string {
	var out []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				p := join(path, jsonName(f))
				out = append(out, p)
				walk(f.Type, p)
			}
		}
	}
	walk(reflect.TypeFor[Spec](), "")
	return out
}

func keysOf(t reflect.Type) []string {
	var out []string
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				out = append(out, jsonName(f))
			}
		}
	}
	return out
}

// keysAt are the keys of a section.
func keysAt(section string) []string {
	section = noIndex(section)
	var out []string
	for _, p := range allPaths() {
		if parent, last := split(p); parent == section {
			out = append(out, last)
		}
	}
	return out
}

// unknownChoice is the message and hint for a value outside its choices.
func unknownChoice(value string, all []string) (message, hint string) {
	hint = "one of: " + strings.Join(all, ", ")
	if best := Nearest(all, value); best != "" {
		hint = fmt.Sprintf("did you mean %s? %s", best, hint)
	}
	return fmt.Sprintf("%q is unknown", clip(value)), hint
}
