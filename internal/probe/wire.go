package probe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"tokentape/internal/dialect"
	"tokentape/internal/dialect/frame"
)

// Bounds of what is looked at in an answer.
const (
	maxPaths = 2000
	maxDepth = 12
	maxPath  = 200 // bytes
)

// wire are the fields of an answer's JSON, by path: "choices[].delta.content".
type wire struct {
	fields map[string]leaf
}

// leaf is what was seen of a field in all payloads together.
type leaf struct {
	number bool   // a number
	text   string // the first text that is not empty
}

// fieldsOf takes the fields out of the first bytes of a body, however they were framed
// and wherever they are cut.
func fieldsOf(d dialect.Dialect, body []byte) *wire {
	w := &wire{fields: map[string]leaf{}}
	if trimmed := bytes.TrimLeft(body, "\xEF\xBB\xBF \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && d.Framing() == frame.SSE {
		w.payload(trimmed)
		return w
	}
	f := frame.New(d.Framing(), frame.Max)
	f.Feed(body)
	for {
		ev, ok, err := f.Next()
		if err != nil || !ok {
			break
		}
		w.payload(ev.Payload)
	}
	return w
}

// payload takes the fields of one JSON value; anything else has none.
func (w *wire) payload(b []byte) {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) == nil {
		w.walk("", v, 0)
	}
}

func (w *wire) walk(path string, v any, depth int) {
	if depth > maxDepth || len(path) > maxPath {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			w.walk(strings.TrimPrefix(path+"."+k, "."), x, depth+1)
		}
	case []any:
		for _, x := range v {
			w.walk(path+"[]", x, depth+1)
		}
	default:
		l, known := w.fields[path]
		if !known && len(w.fields) >= maxPaths {
			return
		}
		switch v := v.(type) {
		case json.Number:
			l.number = true
		case string:
			if l.text == "" {
				l.text = v[:min(len(v), maxName)]
			}
		}
		w.fields[path] = l
	}
}

// last is the last name of a path.
func last(path string) string {
	return strings.TrimSuffix(path[strings.LastIndexByte(path, '.')+1:], "[]")
}

// named are the paths whose last name fits, sorted.
func (w *wire) named(fits func(name string, l leaf) bool) []string {
	if w == nil {
		return nil
	}
	var out []string
	for path, l := range w.fields {
		if fits(last(path), l) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Names under which engines report what has no one name.
var (
	cachedNames    = []string{"cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens", "cache_n", "tokens_cached"}
	reasoningNames = []string{"reasoning_content", "reasoning", "thinking", "reasoning_text"}
)

func (w *wire) cached() []string {
	return w.named(func(name string, l leaf) bool { return l.number && slices.Contains(cachedNames, name) })
}

// speculation are the counters of drafts and verify steps. Some APIs have them in
// every answer, as 0.
func (w *wire) speculation() []string {
	return w.named(func(name string, l leaf) bool {
		return l.number && (strings.HasPrefix(name, "spec_") || strings.HasPrefix(name, "draft_") || strings.HasPrefix(name, "drafted_") ||
			name == "accepted_prediction_tokens" || name == "rejected_prediction_tokens")
	})
}

// reasoning is the field that carried reasoning; only there, and empty: not filled.
func (w *wire) reasoning() (name string, filled bool) {
	text := func(filled bool) []string {
		return w.named(func(n string, l leaf) bool {
			return slices.Contains(reasoningNames, n) && !l.number && (l.text != "") == filled
		})
	}
	if p := text(true); len(p) > 0 {
		return last(p[0]), true
	}
	if p := text(false); len(p) > 0 {
		return last(p[0]), false
	}
	return "", false
}

// model is the id that the answer names.
func (w *wire) model() string {
	if w == nil {
		return ""
	}
	for _, path := range []string{"model", "message.model", "response.model"} {
		if m := w.fields[path].text; m != "" {
			return m
		}
	}
	return ""
}
