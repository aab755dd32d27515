package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tokentape/internal/secret"
)

// Masked is a deep copy in which every secret is "***": the API key, every header
// that is not known to be harmless (secret.Mark), fields of request bodies with a
// credential's name, and in URLs userinfo and the values of such parameters; also where
// another text of the spec repeats one (Own).
func (s *Spec) Masked() *Spec {
	m := *s
	m.from = maps.Clone(s.from)
	for p, at := range m.from {
		at.text, at.lines = maskLine(at.text), nil
		m.from[p] = at
	}
	if m.Target.APIKey != "" {
		m.Target.APIKey = mask
	}
	m.Target.URLs = slices.Clone(s.Target.URLs)
	m.Target.Headers = maps.Clone(s.Target.Headers)
	for name, v := range m.Target.Headers {
		m.Target.Headers[name] = secret.Mark(name, v)
	}
	m.Workload.Dataset = s.Workload.Dataset.clone()
	for name, column := range m.Workload.Dataset.Columns {
		if secret.Name(name) {
			m.Workload.Dataset.Columns[name] = secret.Mark(name, column)
		}
	}
	for _, b := range m.bodies() {
		*b = maskBody(*b, nil)
	}
	m.Workload.Mix = slices.Clone(s.Workload.Mix)
	m.Sweep = s.Sweep.clone()
	m.Sweep.eachValue(maskText)
	m.Search.SLO = slices.Clone(s.Search.SLO)
	m.Seeds.Mix = cloneInt(s.Seeds.Mix)
	m.Load.Stages = slices.Clone(s.Load.Stages)
	m.Seeds.Think = cloneInt(s.Seeds.Think)
	m.Load.Retry.On = slices.Clone(s.Load.Retry.On)
	m.Report.Windows = slices.Clone(s.Report.Windows)
	m.Report.Strict = slices.Clone(s.Report.Strict)
	m.Expect = slices.Clone(s.Expect)
	m.Notes = maskNotes(s.Notes)
	m.Telemetry.Metrics = slices.Clone(s.Telemetry.Metrics)
	for i := range m.Telemetry.Metrics {
		m.Telemetry.Metrics[i] = m.Telemetry.Metrics[i].clone().masked()
	}
	for _, f := range m.urls() {
		*f.value = maskURL(*f.value)
	}
	m.Seeds.Arrivals, m.Seeds.Order = cloneInt(s.Seeds.Arrivals), cloneInt(s.Seeds.Order)
	m.Seeds.Retry, m.Seeds.Abandon = cloneInt(s.Seeds.Retry), cloneInt(s.Seeds.Abandon)
	m.maskOwn(s.Secrets())
	return &m
}

func cloneInt(p *int64) *int64 {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneAny(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneAny(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneAny(e)
		}
		return out
	}
	return v
}

// Secrets are the texts that no message, file or log may hold, longest first:
// what Masked hides, and the credential inside "Bearer …" and "user:password".
func (s *Spec) Secrets() []string {
	var out []string
	add := func(v string) {
		if v != "" && v != mask {
			out = append(out, v)
		}
	}
	add(s.Target.APIKey)
	headerSecrets(s.Target.Headers, s.Target.Model, add)
	for _, m := range s.Telemetry.Metrics {
		add(m.APIKey)
		headerSecrets(m.Headers, s.Target.Model, add)
	}
	for _, b := range s.bodies() {
		maskBody(*b, add)
	}
	noteSecrets(s.Notes, add)
	s.Sweep.clone().eachValue(func(v string) string { textSecrets(v, add); return v })
	for _, f := range s.urls() {
		urlSecrets(*f.value, add)
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}

// MarshalJSON writes the masked Spec, so that no way of writing one shows a
// secret.
func (s Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	return json.Marshal((*plain)(s.Masked()))
}

// JSON is the masked, resolved Spec with every field, for the tape's header.
func (s *Spec) JSON() json.RawMessage {
	b, err := json.Marshal(*s)
	if err != nil { // only a value that Validate refuses
		b, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return b
}

// YAML is the masked, resolved Spec. It reads back as the same Spec but for the
// secrets: fields that have no effect beside the others, and empty ones, are left
// out, and paths are absolute, so that it means the same from any folder.
func (s *Spec) YAML() []byte {
	m := s.Masked()
	for _, p := range m.paths() {
		if *p != "" {
			if abs, err := filepath.Abs(*p); err == nil {
				*p = abs
			}
		}
	}
	skip := map[string]bool{}
	if m.Sweep.IsZero() && m.Search.IsZero() {
		for _, e := range m.withoutEffect() {
			skip[e.path] = true
		}
		skip["sweep"], skip["search"] = true, true
	} else {
		skip = m.notOfSweep()
		m.sweepPaths(func(p string) string {
			if abs, err := filepath.Abs(p); err == nil {
				return abs
			}
			return p
		})
	}
	if m.Devices.Prefill > 0 && m.Devices.Decode > 0 {
		skip["devices.total"] = true
	}
	for _, p := range []string{"load.requests", "load.concurrency", "load.rate", "load.sessions", "load.session_concurrency"} {
		if v, _ := reach(reflect.ValueOf(m).Elem(), p); v.IsZero() {
			skip[p] = true
		}
	}
	var b bytes.Buffer
	writeStruct(&b, reflect.ValueOf(m).Elem(), reflect.ValueOf(Default()).Elem(), "", skip)
	return b.Bytes()
}

// writeStruct writes the fields of v that are not what is left out.
func writeStruct(b *bytes.Buffer, v, def reflect.Value, path string, skip map[string]bool) {
	indent := ""
	if path != "" {
		indent = strings.Repeat("  ", strings.Count(path, ".")+1)
	}
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if !sf.IsExported() {
			continue
		}
		f, full := v.Field(i), join(path, jsonName(sf))
		if skip[full] || f.IsZero() && def.Field(i).IsZero() {
			continue
		}
		fmt.Fprintf(b, "%s%s:", indent, jsonName(sf))
		switch f.Kind() {
		case reflect.Struct:
			mark := b.Len()
			b.WriteByte('\n')
			before := b.Len()
			writeStruct(b, f, def.Field(i), full, skip)
			if b.Len() == before { // nothing of it has an effect
				b.Truncate(mark - len(indent) - len(jsonName(sf)) - 1)
			}
		case reflect.Map:
			b.WriteByte('\n')
			keys := f.MapKeys()
			slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
			wrote := false
			for _, k := range keys {
				if skip[join(full, k.String())] {
					continue
				}
				wrote = true
				fmt.Fprintf(b, "%s  %s: %s\n", indent, text(k.String()), flow(f.MapIndex(k).Interface()))
			}
			if !wrote {
				b.Truncate(b.Len() - len(indent) - len(jsonName(sf)) - 2)
			}
		case reflect.Float64:
			fmt.Fprintf(b, " %s\n", strings.TrimSuffix(flow(f.Interface()), ".0"))
		default:
			fmt.Fprintf(b, " %s\n", flow(f.Interface()))
		}
	}
}

// flow writes one value on one line.
func flow(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return text(v)
	case Duration:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *int64:
		return strconv.FormatInt(*v, 10)
	case int:
		return strconv.Itoa(v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".IN") { // stays a float when it is read back
			mantissa, exp, ok := strings.Cut(s, "e")
			if s = mantissa + ".0"; ok {
				s += "e" + exp
			}
		}
		return s
	case MetricsSource:
		return v.flow()
	case Part:
		what := "{dataset: " + text(v.Dataset) + ", weight: " + strings.TrimSuffix(flow(v.Weight), ".0")
		if v.Template != "" {
			what += ", template: " + text(v.Template)
		}
		if v.OutputTokens != 0 {
			what += ", output_tokens: " + flow(v.OutputTokens)
		}
		return what + "}"
	case Axis:
		return v.flow()
	case Stage:
		what := "rate: " + strings.TrimSuffix(flow(v.Rate), ".0")
		if v.Concurrency > 0 {
			what = "concurrency: " + flow(v.Concurrency)
		}
		return "{" + what + ", duration: " + v.Duration.String() + "}"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range sorted(v) {
			parts = append(parts, text(k)+": "+flow(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice {
		parts := make([]string, r.Len())
		for i := range parts {
			parts[i] = flow(r.Index(i).Interface())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return text(fmt.Sprint(v))
}

var (
	bareText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)
	notBare  = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n|nan|inf|infinity)$`)
)

// text writes a string: bare when it can be, else in double quotes as JSON,
// which YAML reads too; ${ is escaped so that it stays what it is.
func text(s string) string {
	if bareText.MatchString(s) && !notBare.MatchString(s) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ReplaceAll(s, "${", "$${")) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// differs reports whether the value at a path is not the default's.
func differs(a, b *Spec, path string) bool {
	if rest, ok := strings.CutPrefix(path, "workload.sampling."); ok {
		_, set := a.Workload.Sampling[rest]
		return set
	}
	x, okx := reach(reflect.ValueOf(a).Elem(), path)
	y, oky := reach(reflect.ValueOf(b).Elem(), path)
	return okx && oky && !reflect.DeepEqual(x.Interface(), y.Interface())
}
