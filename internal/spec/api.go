package spec

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// API is one value of target.api and the endpoint that it stands for. {model} in
// a path is the model's id.
type API struct {
	Name  string
	Path  string // endpoint; under the API root when it begins with "/v1/"
	Whole string // the same for answers that are not streamed; "": Path
	Chat  bool   // takes messages, so that a system message has a place
}

// custom is the API that target.custom describes.
const custom = "custom"

// APIs are the known values of target.api, the default first.
var APIs = []API{
	{Name: "openai-chat", Path: "/v1/chat/completions", Chat: true},
	{Name: "openai-completions", Path: "/v1/completions"},
	{Name: "openai-responses", Path: "/v1/responses", Chat: true},
	{Name: "anthropic-messages", Path: "/v1/messages", Chat: true},
	{Name: "sglang-generate", Path: "/generate"},
	{Name: "tgi", Path: "/generate_stream", Whole: "/generate"},
	{Name: "ollama", Path: "/api/chat", Chat: true},
	{Name: "llamacpp", Path: "/completion"},
	{Name: "triton-generate", Path: "/v2/models/{model}/generate_stream", Whole: "/v2/models/{model}/generate"},
	{Name: custom},
}

// FindAPI is the API of that name.
func FindAPI(name string) (API, bool) {
	for _, a := range APIs {
		if a.Name == name {
			return a, true
		}
	}
	return API{}, false
}

// rawPath is the endpoint as it is written down, with {model}; "" for an API
// that is not known.
func (s *Spec) rawPath() string {
	api, _ := FindAPI(s.Target.API)
	switch {
	case s.Target.API == custom:
		return s.Target.Custom.Path
	case !s.Workload.Stream && api.Whole != "":
		return api.Whole
	}
	return api.Path
}

// endpoint is rawPath with the model's id filled in.
func (s *Spec) endpoint() string {
	return strings.ReplaceAll(s.rawPath(), "{model}", url.PathEscape(s.Target.Model))
}

// hasSystem reports whether requests have a place for a system message.
func (s *Spec) hasSystem() bool {
	if s.Target.API == custom {
		return mentions(s.Target.Custom.Body, "{messages}") || mentions(s.Target.Custom.Body, "{system}")
	}
	api, known := FindAPI(s.Target.API)
	return api.Chat || !known
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
		for _, e := range v {
			if mentions(e, placeholder) {
				return true
			}
		}
	}
	return false
}

// fieldPath is the syntax of a path into a JSON value: keys joined by dots,
// numbers in brackets.
var fieldPath = regexp.MustCompile(`^([^.\[\]\s]+|\[[0-9]{1,9}\])(\.[^.\[\]\s]+|\[[0-9]{1,9}\])*$`)

// api checks what the chosen API needs.
func (c *checker) api() {
	t := c.s.Target
	if strings.Contains(c.s.rawPath(), "{model}") && t.Model == "" {
		c.bad("target.model", "name the model: --model NAME", "it is needed: the path of %s names it (%s)", t.API, c.s.rawPath())
	}
	if t.API != custom {
		return
	}
	k := t.Custom
	if !strings.HasPrefix(k.Path, "/") || strings.ContainsAny(k.Path, " ?#") {
		c.bad("target.custom.path", "such as /v1/ask; a path begins with /", "%q is no path of an endpoint", clip(maskURL(k.Path)))
	}
	if len(k.Body) == 0 {
		c.bad("target.custom.body", `such as {inputs: "{prompt}", max: "{max_tokens}"}`, "there is no body to send")
	}
	for _, key := range sorted(k.Body) {
		if bad := notJSON(k.Body[key]); bad != "" {
			c.bad("target.custom.body."+key, "", "%s cannot be sent as JSON", bad)
		}
	}
	if all := choices()["target.custom.framing"]; k.Framing != "" {
		known := false
		for _, f := range all {
			known = known || f == k.Framing
		}
		if !known {
			message, hint := unknownChoice(k.Framing, all)
			c.bad("target.custom.framing", hint, "%s", message)
		}
	}
	if k.Text == "" && k.Reasoning == "" && k.ToolCall == "" {
		c.bad("target.custom.text", "the path of the generated text in an answer, such as choices[0].text", "is not given, so that no output could be seen")
	}
	for _, f := range []struct{ name, path string }{
		{"text", k.Text}, {"reasoning", k.Reasoning}, {"tool_call", k.ToolCall}, {"finish", k.Finish}, {"error", k.Error}, {"done_path", k.DonePath},
		{"usage.input", k.Usage.Input}, {"usage.output", k.Usage.Output}, {"usage.cached", k.Usage.Cached}, {"usage.reasoning", k.Usage.Reasoning},
		{"usage.accepted", k.Usage.Accepted}, {"usage.rejected", k.Usage.Rejected}, {"usage.verify", k.Usage.Verify},
	} {
		if f.path != "" && !fieldPath.MatchString(f.path) {
			c.bad("target.custom."+f.name, "keys joined by dots and numbers in brackets, such as choices[0].text", "%q is no field path", clip(f.path))
		}
	}
}

// apiEffect lists what changes nothing with the chosen API.
func (s *Spec) apiEffect(idle func(when bool, path, why, mend string)) {
	t, k := s.Target, s.Target.Custom
	idle(!s.hasSystem(), "workload.system", t.API+" has no place for a system message", "put it into workload.template, or use a chat API")
	idle(t.API != custom, "target.custom", fmt.Sprintf("target.api is %s", t.API), "target.api: custom, or remove it")
	idle(t.API == custom && !mentions(k.Body, "{max_tokens}"), "workload.output_tokens", "target.custom.body has no {max_tokens}", "add it to the body, or remove it")
	idle(t.API == custom, "target.max_tokens_field", "target.custom.body names the field itself", "put {max_tokens} where it belongs in the body, or remove it")
	idle(t.API == custom && k.Framing == "json" && s.Workload.Stream, "target.custom.framing", "workload.stream is true, and json is for whole answers", "workload.stream: false, or another framing")
	idle(!s.Workload.Stream, "target.custom.done", "workload.stream is false", "remove it")
	idle(!s.Workload.Stream, "target.custom.done_path", "workload.stream is false", "remove it")
	idle(!s.Workload.Stream, "target.custom.cumulative", "workload.stream is false", "remove it")
}
