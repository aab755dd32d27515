package aisbench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tokentape/tape"
)

// asked is the part of the spec on a tape that a config of AISBench has fields for.
type asked struct {
	Workload struct {
		Dataset struct {
			Format      string
			Skip, Limit int64
		}
		Template, System string
		Body             map[string]any
		Output           json.Number `json:"output_tokens"`
		Sampling         map[string]any
		Sessions         bool
		History          string
	}
	Load struct {
		Attempts   int64
		Burstiness float64
		Sessions   int64 `json:"session_concurrency"`
	}
}

// askedOf reads the spec of a header; of one that holds other types, as other tools'
// tapes may, as much as fits.
func askedOf(h *tape.Header) (q asked) {
	if h != nil {
		d := json.NewDecoder(bytes.NewReader(h.Spec))
		d.UseNumber()
		_ = d.Decode(&q) // what does not fit is left out of the config
	}
	return q
}

const benchmark = "ais_bench.benchmark."

// dataset writes the fields of a dataset after its abbr.
func (q asked) dataset(field func(name, value string), path string) {
	w := q.Workload
	class := map[string]string{"sharegpt": "sharegpt.ShareGPTDataset", "mooncake": "mooncake_trace.MooncakeTraceDataset"}[w.Dataset.Format]
	if class == "" {
		class = "custom.CustomDataset"
	}
	field("type", pyString(benchmark+"datasets."+class))
	if path != "" {
		if abs, err := filepath.Abs(path); err == nil {
			if _, err := os.Stat(abs); err == nil { // else it is of another machine
				path = abs
			}
		}
		field("path", pyString(path))
	}
	infer := "GenInferencer"
	mode := ""
	if w.Sessions {
		infer, mode = "MultiTurnGenInferencer", `, infer_mode="every"`
		if w.History == "recorded" {
			mode = `, infer_mode="every_with_gt"`
		}
	}
	inferencer := fmt.Sprintf("inferencer=dict(type=%s%s)", pyString(benchmark+"openicl.icl_inferencer."+infer), mode)
	retriever := "retriever=dict(type=" + pyString(benchmark+"openicl.icl_retriever.ZeroRetriever") + ")"
	reader := []string{}
	template, columns, known := q.template()
	if known {
		reader = append(reader, "input_columns="+columns, `output_column=""`)
	}
	switch d := w.Dataset; {
	case d.Limit > 0:
		reader = append(reader, fmt.Sprintf(`test_range="[%d:%d]"`, d.Skip, d.Skip+d.Limit))
	case d.Skip > 0:
		reader = append(reader, fmt.Sprintf(`test_range="[%d:]"`, d.Skip))
	}
	if len(reader) > 0 {
		field("reader_cfg", "dict("+strings.Join(reader, ", ")+")")
	}
	if known {
		retriever = "prompt_template=dict(type=" + pyString(benchmark+"openicl.icl_prompt_template.PromptTemplate") + ", template=" + template + "), " + retriever
	}
	field("infer_cfg", "dict("+retriever+", "+inferencer+")")
}

var column = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

// template is the prompt in AISBench's form, and its columns; known is false where
// rows are whole requests.
func (q asked) template() (text, columns string, known bool) {
	w := q.Workload
	type message struct{ role, text string }
	var all []message
	if w.System != "" {
		all = append(all, message{"system", strings.NewReplacer("{", "{{", "}", "}}").Replace(w.System)})
	}
	list, _ := w.Body["messages"].([]any)
	for _, m := range list { // of few shots
		m, _ := m.(map[string]any)
		role, _ := m["role"].(string)
		content, _ := m["content"].(string)
		all = append(all, message{role, content})
	}
	if w.Template != "" {
		all = append(all, message{"user", w.Template})
	}
	if w.Template == "" && list == nil {
		return "", "", false
	}
	names := []string{}
	var parts []string
	plain := strings.NewReplacer("{{", "{", "}}", "}")
	for _, m := range all {
		bare := strings.NewReplacer("{{", "", "}}", "").Replace(m.text)
		for _, c := range column.FindAllStringSubmatch(bare, -1) {
			if !slices.Contains(names, c[1]) {
				names = append(names, c[1])
			}
		}
		role := map[string]string{"system": "SYSTEM", "assistant": "BOT"}[m.role]
		if role == "" {
			role = "HUMAN"
		}
		parts = append(parts, fmt.Sprintf("dict(role=%q, prompt=%s)", role, pyString(plain.Replace(m.text))))
	}
	if len(all) == 1 && all[0].role == "user" {
		return pyString(plain.Replace(all[0].text)), string(pyJSON(names)), true
	}
	return "dict(round=[" + strings.Join(parts, ", ") + "])", string(pyJSON(names)), true
}

// pyValue is a value of JSON as Python has it. What the tape hides is read from the
// environment, by the name that the import of configs gives such a field.
func pyValue(name string, v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return pyBool(v)
	case string:
		if strings.HasPrefix(v, "***") {
			return "os.environ.get(" + pyString("AISBENCH_BODY_"+strings.ToUpper(odd.ReplaceAllString(name, "_"))) + `, "")`
		}
		return pyString(v)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, pyValue(name, e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		if len(v) == 0 {
			return "dict()"
		}
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, pyString(k)+": "+pyValue(k, v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return string(pyJSON(v))
}

var odd = regexp.MustCompile(`[^A-Za-z0-9]`)
