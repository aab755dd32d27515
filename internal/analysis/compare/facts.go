package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tokentape/internal/secret"
)

// flatten puts every leaf of a JSON text into out, by its path: "spec.load.rate",
// "spec.load.stages[0].rate". An empty list or object is a leaf, null is absent.
func flatten(out map[string]string, path string, text []byte) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // 0.1 stays 0.1, and no count loses digits
	var v any
	if d.Decode(&v) != nil {
		return
	}
	walk(out, path, v)
}

func walk(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[path] = "{}"
		}
		for k, e := range v {
			p := k
			if path != "" {
				p = path + "." + k
			}
			walk(out, p, e)
		}
	case []any:
		if len(v) == 0 {
			out[path] = "[]"
		}
		for i, e := range v {
			walk(out, fmt.Sprintf("%s[%d]", path, i), e)
		}
	case string:
		out[path] = masked(path, v)
	case nil:
	default:
		out[path] = fmt.Sprint(v)
		if _, number := v.(json.Number); number && userKey(path) {
			out[path] = mask
		}
	}
}

// A tape holds no secrets of the run that wrote it. One that another program wrote
// might, so what looks like one is not shown.
var (
	userinfo   = regexp.MustCompile(`(\w+://)[^\s/"'@]*@`)
	credential = regexp.MustCompile(`(?i)(auth|api_?-?key|password|passwd|secret|cookie|credential|signature)`)
)

const mask = secret.Mask

const headers = "spec.target.headers."

// bodies are the parts of a spec whose keys the user makes up.
var bodies = []string{"spec.workload.sampling.", "spec.workload.body.", "spec.target.custom.body.", "spec.workload.dataset.filter."}

// userKey reports whether a key that the user made up is that of a credential.
func userKey(path string) bool {
	for _, section := range bodies {
		if keys, ok := strings.CutPrefix(path, section); ok {
			return slices.ContainsFunc(strings.FieldsFunc(keys, func(r rune) bool { return r == '.' || r == '[' }), secret.Name)
		}
	}
	return false
}

func masked(path, v string) string {
	if name, ok := strings.CutPrefix(path, headers); ok {
		return secret.Mark(name, v)
	}
	if v != "" && userKey(path) {
		return mask
	}
	if last := path[strings.LastIndexByte(path, '.')+1:]; v != "" && credential.MatchString(last) {
		return mask
	}
	return userinfo.ReplaceAllString(v, "${1}"+mask+"@")
}

// fact is the value of a path on a side: one, or all of its runs where they differ.
func (s *side) fact(path string) string {
	var seen []string
	for _, r := range s.runs {
		if v := r.facts[path]; !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	if len(seen) == 1 {
		return seen[0]
	}
	for i, v := range seen {
		if v == "" {
			seen[i] = "–"
		}
	}
	return strings.Join(seen, " | ")
}

// paths are those of all sides, sorted.
func paths(sides ...*side) []string {
	all := map[string]bool{}
	for _, s := range sides {
		for _, r := range s.runs {
			for p := range r.facts {
				all[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// differences lists every fact that differs between two sides.
func differences(a, b *side) []Difference {
	out := []Difference{}
	for _, p := range paths(a, b) {
		if x, y := a.fact(p), b.fact(p); x != y {
			out = append(out, Difference{p, x, y})
		}
	}
	return out
}

// within lists the facts that differ between the runs of one side. A seed of the
// run may: repeats that were asked to be drawn anew have one each.
func (s *side) within() []string {
	var out []string
	for _, p := range paths(s) {
		if p == "spec.seeds.run" || p == "plan.sha256" {
			continue
		}
		for _, r := range s.runs[1:] {
			if r.facts[p] != s.runs[0].facts[p] {
				out = append(out, p)
				break
			}
		}
	}
	return out
}
