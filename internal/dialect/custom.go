package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/dialect/frame"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// Custom describes an API that is none of ours. Fields of an answer are named by
// paths such as choices[0].text; "" is a thing that the server does not say.
type Custom struct {
	Path    string // of the endpoint, "{model}" stands for the model's id
	Framing string // sse (also ""), ndjson, json
	// Body is the request body. In its texts {prompt}, {system}, {model},
	// {max_tokens} and {stream} are filled in; a text that is {messages},
	// {max_tokens} or {stream} alone becomes the list, number or boolean.
	Body map[string]any

	Text, Reasoning, ToolCall string
	Cumulative                bool // texts hold all that came before
	Finish                    string
	Error                     string // "": error
	Usage                     CustomUsage
	Done                      string // a payload that ends the stream, such as [DONE]
	DonePath                  string // a field that is true in the last event
}

// CustomUsage are the paths of token counts.
type CustomUsage struct {
	Input, Output, Cached, Reasoning, Accepted, Rejected, Verify string
}

// customPaths are the parsed paths of a Custom.
type customPaths struct {
	text, reasoning, tool, finish, err, done                    path
	input, output, cached, thoughts, accepted, rejected, verify path
	doneText                                                    []byte
	cumulative                                                  bool
}

type custom struct {
	api
	template map[string]any
}

func newCustom(s Setup) (Dialect, error) {
	c := s.Custom
	if !strings.HasPrefix(c.Path, "/") {
		return nil, fmt.Errorf("target.custom.path: %q is no path of an endpoint; it begins with /", c.Path)
	}
	at, err := pathOf(c.Path, s.Model, "target.custom")
	if err != nil {
		return nil, err
	}
	framing, ok := map[string]frame.Kind{"": frame.SSE, "sse": frame.SSE, "ndjson": frame.NDJSON, "json": frame.JSON}[c.Framing]
	if !ok {
		return nil, fmt.Errorf("target.custom.framing: %q is none of sse, ndjson, json", c.Framing)
	}
	if len(c.Body) == 0 {
		return nil, errors.New("target.custom.body: there is no body to send")
	}
	p := &customPaths{doneText: []byte(c.Done), cumulative: c.Cumulative}
	if c.Error == "" {
		c.Error = "error"
	}
	for _, f := range []struct {
		name, path string
		to         *path
	}{
		{"text", c.Text, &p.text}, {"reasoning", c.Reasoning, &p.reasoning}, {"tool_call", c.ToolCall, &p.tool},
		{"finish", c.Finish, &p.finish}, {"error", c.Error, &p.err}, {"done_path", c.DonePath, &p.done},
		{"usage.input", c.Usage.Input, &p.input}, {"usage.output", c.Usage.Output, &p.output}, {"usage.cached", c.Usage.Cached, &p.cached},
		{"usage.reasoning", c.Usage.Reasoning, &p.thoughts}, {"usage.accepted", c.Usage.Accepted, &p.accepted},
		{"usage.rejected", c.Usage.Rejected, &p.rejected}, {"usage.verify", c.Usage.Verify, &p.verify},
	} {
		if *f.to, err = parsePath("target.custom."+f.name, f.path); err != nil {
			return nil, err
		}
	}
	if p.text == nil && p.reasoning == nil && p.tool == nil {
		return nil, errors.New("target.custom.text: a path to the generated text is needed")
	}
	own := map[string]string{}
	for name := range c.Body {
		own[name] = "it is set by target.custom.body"
	}
	return custom{api{
		name: "custom", path: at, framing: framing, own: own,
		decoder: func() Decoder { return &customDecoder{paths: p} },
	}, c.Body}, nil
}

// Asked is 0 when the body has no place for it.
func (d custom) Asked(item workload.Item, o Options) int64 {
	if !mentions(d.template, "{max_tokens}") {
		return 0
	}
	return outputLen(item, o)
}

// mentions reports whether a text somewhere in v holds the placeholder.
func mentions(v any, placeholder string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, placeholder)
	case map[string]any:
		for _, e := range v {
			if mentions(e, placeholder) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, placeholder) })
	}
	return false
}

// Body is target.custom.body with its placeholders filled in.
func (d custom) Body(item workload.Item, o Options) ([]byte, error) {
	if item.Body != nil {
		return wholeBody(item, o)
	}
	fill, err := d.filler(item, o)
	if err != nil {
		return nil, err
	}
	return d.body(item, o, func(f, _ *fields) error {
		for _, name := range slices.Sorted(maps.Keys(d.template)) {
			v, ok := fill.in(d.template[name])
			if !ok {
				continue
			}
			raw, err := encode(v)
			if err != nil {
				return fmt.Errorf("target.custom.body.%s cannot be sent as JSON: %w", name, err)
			}
			f.set(name, raw)
		}
		return nil
	})
}

type filler struct {
	alone map[string]any // for a text that is the placeholder alone; nil: left out
	part  *strings.Replacer
}

func (d custom) filler(item workload.Item, o Options) (*filler, error) {
	fill := &filler{alone: map[string]any{"{stream}": o.Stream, "{max_tokens}": nil}}
	length := ""
	if n := outputLen(item, o); n > 0 {
		fill.alone["{max_tokens}"], length = n, fmt.Sprint(n)
	}
	prompt, system := item.Prompt, ""
	if mentions(d.template, "{messages}") || mentions(d.template, "{system}") || prompt == "" {
		list, err := messagesOf(item)
		if err != nil {
			return nil, err
		}
		raw, err := encodeMessages(list, "")
		if err != nil {
			return nil, err
		}
		fill.alone["{messages}"] = json.RawMessage(raw)
		if list[0].Role == "system" {
			system = list[0].Content
		}
	}
	if prompt == "" && mentions(d.template, "{prompt}") {
		return nil, errors.New("the prompt is empty: {prompt} of target.custom.body is the rendered template")
	}
	if _, err := text("the prompt", prompt); err != nil {
		return nil, err
	}
	if _, err := text("target.model", o.Model); err != nil {
		return nil, err
	}
	fill.part = strings.NewReplacer("{prompt}", prompt, "{system}", system, "{model}", o.Model, "{max_tokens}", length, "{stream}", fmt.Sprint(o.Stream))
	return fill, nil
}

// in is v with its placeholders filled in; false when there is nothing to send.
func (f *filler) in(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if to, ok := f.alone[v]; ok {
			return to, to != nil
		}
		return f.part.Replace(v), true
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			if to, ok := f.in(e); ok {
				out[name] = to
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			if to, ok := f.in(e); ok {
				out = append(out, to)
			}
		}
		return out, true
	}
	return v, true
}

type customDecoder struct {
	core
	paths          *customPaths
	soFar, thought grown
	running        int64
}

func (d *customDecoder) Reset() {
	d.core.Reset()
	p := d.paths
	d.facts.EndIsDone = len(p.doneText) == 0 && p.done == nil && p.finish == nil
	d.running = Unknown
	d.soFar, d.thought = grown{mode: modeDelta}, grown{mode: modeDelta}
	if p.cumulative {
		d.soFar.mode, d.thought.mode = modeCumulative, modeCumulative
	}
}

func (d *customDecoder) Event(name string, payload []byte, dst []Mark) []Mark {
	if p := d.paths; len(p.doneText) > 0 && bytes.Equal(bytes.Trim(payload, space), p.doneText) {
		d.facts.Done = true
		return append(dst, Mark{Kind: tape.KindDone, Tok: Unknown})
	}
	mark, ok := d.open(name, payload)
	if !ok {
		return append(dst, mark)
	}
	d.read(name == "error", &mark)
	return append(dst, mark)
}

func (d *customDecoder) read(named bool, mark *Mark) {
	p, v := d.paths, d.raw
	if d.failed(p.err.in(v), named) {
		*mark = errorMark(0)
		return
	}
	d.input(d.count("input", p.input.in(v)), tape.SourceUsage)
	output := d.count("output", p.output.in(v))
	d.output(output, tape.SourceUsage)
	set(&d.facts.Cached, d.count("cached", p.cached.in(v)))
	set(&d.facts.Reasoning, d.count("reasoning", p.thoughts.in(v)))
	set(&d.facts.Accepted, d.count("accepted", p.accepted.in(v)))
	set(&d.facts.Rejected, d.count("rejected", p.rejected.in(v)))
	set(&d.facts.Verify, d.count("verify", p.verify.in(v)))

	kind := d.give(0, tape.KindReasoning, 0, d.thought.next(d.str(p.reasoning.in(v)), false))
	kind = d.give(kind, tape.KindContent, 0, d.soFar.next(d.str(p.text.in(v)), false))
	if tool := p.tool.in(v); !tool.null() {
		kind = d.give(kind, tape.KindTool, 0, tool.word())
	}
	reason := p.finish.in(v)
	if reason.is('{') {
		reason = reason.get("type")
	}
	finish := !reason.null() && d.end(0, reason.word())
	if done := p.done.in(v); !done.null() && string(done) != "0" {
		d.facts.Done, finish = true, true
	}
	before := d.running
	set(&d.running, output)
	switch {
	case kind != 0:
		mark.Kind, mark.Tok = kind, output
	case finish:
		mark.Kind = tape.KindFinish
	case before != Unknown && output > before:
		mark.Kind, mark.Tok = tape.KindHidden, output
	case output != Unknown:
		mark.Kind = tape.KindUsage
	case p.text.in(v) != nil || p.reasoning.in(v) != nil:
		mark.Kind = tape.KindRole
	}
}

// Whole reads a one-shot answer with the same paths.
func (d *customDecoder) Whole(body []byte) {
	if d.whole(body) {
		d.read(false, &Mark{})
	}
}
