package chattmpl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// ErrNone: the folder has no chat template. Its model has none, or keeps it
// somewhere else.
var ErrNone = errors.New("no chat template")

// maxFile is the largest file that is read, in bytes. Configurations with large
// vocabularies of added tokens have a few MB.
const maxFile = 64 << 20

// Template is a model's chat template. It never changes after Load and is safe
// for concurrent use.
type Template struct {
	file   string
	named  map[string]*compiled
	tokens map[string]jinja.Value // bos_token, eos_token …
	now    time.Time
}

// compiled is a template that is ready for rendering.
type compiled struct {
	*jinja.Template
	knowsNull bool // it asks whether a message's content is none
}

// Message is one message of a conversation.
type Message struct {
	Role    string
	Content string
	// Raw, when not nil, is the whole message as a JSON object in place of the
	// two: content in parts, tool_calls, reasoning_content …, in its own order.
	Raw json.RawMessage
}

// Load reads the chat template of a model folder: chat_template.jinja, else
// chat_template.json, else the chat_template of tokenizer_config.json (one
// template or a list of named ones). The error is ErrNone if there is none, and
// names the file and the line of one that does not compile.
func Load(folder string) (*Template, error) {
	t := &Template{named: map[string]*compiled{}, tokens: map[string]jinja.Value{}}
	config, err := readObject(filepath.Join(folder, "tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	legacy, err := readObject(filepath.Join(folder, "special_tokens_map.json"))
	if err != nil {
		return nil, err
	}
	for _, c := range []object{legacy, config} { // the latter wins
		if err := t.readTokens(c); err != nil {
			return nil, err
		}
	}
	sources, err := t.sources(folder, config)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%s: %w in chat_template.jinja, chat_template.json or tokenizer_config.json", folder, ErrNone)
	}
	for name, src := range sources {
		c, err := compile(src)
		if err != nil {
			return nil, fmt.Errorf("%s: chat template %q does not compile: %w", t.file, name, err)
		}
		t.named[name] = c
	}
	return t, nil
}

// sources are the templates of a folder by name.
func (t *Template) sources(folder string, config object) (map[string]string, error) {
	t.file = filepath.Join(folder, "chat_template.jinja")
	if b, err := read(t.file); err == nil {
		return map[string]string{"default": string(b)}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	processor, err := readObject(filepath.Join(folder, "chat_template.json"))
	if err != nil {
		return nil, err
	}
	for _, c := range []object{processor, config} {
		raw, ok := c.get("chat_template")
		if !ok || string(raw) == "null" {
			continue
		}
		t.file = c.file
		var one string
		if json.Unmarshal(raw, &one) == nil {
			return map[string]string{"default": one}, nil
		}
		var list []struct{ Name, Template *string }
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("%s: chat_template must be a string or a list of {name, template}", c.file)
		}
		out := map[string]string{}
		for i, x := range list {
			if x.Name == nil || x.Template == nil {
				return nil, fmt.Errorf("%s: chat_template[%d] needs a name and a template", c.file, i)
			}
			out[*x.Name] = *x.Template
		}
		return out, nil
	}
	return nil, nil
}

var asksNull = regexp.MustCompile(`\bcontent\b['"\])]*\s*(is|==|!=)\s*(not\s+)?none\b`)

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// compile refuses what the engine cannot read, instead of panicking.
func compile(src string) (t *compiled, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("the template engine failed: %v", p)
		}
	}()
	if src, err = prepare(src); err != nil {
		return nil, err
	}
	c, err := jinja.Compile(src)
	return &compiled{c, asksNull.MatchString(src)}, err
}

// readTokens takes the special tokens that templates may write.
func (t *Template) readTokens(c object) error {
	for _, m := range c.members {
		switch {
		case m.key == "additional_special_tokens":
			var list []json.RawMessage
			if json.Unmarshal(m.raw, &list) != nil {
				continue // null
			}
			var vs []jinja.Value
			for _, raw := range list {
				if s, ok := token(raw); ok {
					vs = append(vs, jinja.NewString(s))
				}
			}
			t.tokens[m.key] = jinja.NewList(vs)
		case m.key == "extra_special_tokens":
			o, err := parseObject(m.raw)
			if err != nil {
				continue // a list of names in newer files
			}
			for _, m := range o.members {
				if s, ok := token(m.raw); ok {
					t.tokens[m.key] = jinja.NewString(s)
				}
			}
		case slices.Contains([]string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}, m.key):
			if s, ok := token(m.raw); ok {
				t.tokens[m.key] = jinja.NewString(s)
			} else if string(m.raw) == "null" {
				delete(t.tokens, m.key)
			} else {
				return fmt.Errorf("%s: %s must be a string, or an object with its content", c.file, m.key)
			}
		}
	}
	return nil
}

// token is a special token: a string, or an object with its content.
func token(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) == nil {
		if s == nil {
			return "", false
		}
		return *s, true
	}
	var o struct{ Content *string }
	if json.Unmarshal(raw, &o) != nil || o.Content == nil {
		return "", false
	}
	return *o.Content, true
}

// File is the file that the template came from.
func (t *Template) File() string { return t.file }

// At is the template with a fixed date and time for templates that write it. The
// server's own date differs from day to day, and with it, rarely, the count.
func (t *Template) At(now time.Time) *Template {
	c := *t
	c.now = now
	return &c
}

// Render is the prompt of messages. With addGenerationPrompt it ends where the
// assistant's answer begins. Extra members, as JSON, are visible to the template
// by their names (tools, documents, enable_thinking …): the same that a request
// sends as its tools and chat_template_kwargs. With tools a template named
// tool_use is taken, if there is one.
//
// Errors: what the template itself raises (roles out of order, for one), JSON
// that cannot be read, and anything the engine cannot do.
func (t *Template) Render(messages []Message, addGenerationPrompt bool, extra map[string]json.RawMessage) (text string, err error) {
	data := map[string]jinja.Value{}
	for k, v := range t.tokens {
		data[k] = v
	}
	var list []jinja.Value
	for i, m := range messages {
		v, err := m.value()
		if err != nil {
			return "", fmt.Errorf("message %d: %w", i, err)
		}
		list = append(list, v)
	}
	data["messages"] = jinja.NewList(list)
	data["add_generation_prompt"] = jinja.NewBool(addGenerationPrompt)
	data["tools"], data["documents"] = jinja.None(), jinja.None()
	for k, raw := range extra {
		if data[k], err = value(raw); err != nil {
			return "", fmt.Errorf("%s: %w", k, err)
		}
	}
	data["strftime_now"] = jinja.NewCallable("strftime_now", t.strftime)
	data["_show"], data["_tojson"] = jinja.NewCallable("_show", show), jinja.NewCallable("_tojson", toJSON)
	tmpl := t.named["default"]
	if tools := data["tools"]; t.named["tool_use"] != nil && !tools.IsNone() {
		tmpl = t.named["tool_use"]
	}
	if tmpl == nil {
		return "", fmt.Errorf("%s: none of the chat templates (%s) is named default", t.file, strings.Join(t.names(), ", "))
	}
	for i, v := range list {
		if c, ok := v.AsDict().Get("content"); ok && c.IsNone() && !tmpl.knowsNull {
			return "", fmt.Errorf(`%s: message %d: content is null, which this chat template does not provide for; write "" instead, as vLLM and SGLang do`, t.file, i)
		}
	}
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("%s: the chat template cannot be rendered: the template engine failed: %v", t.file, p)
		}
	}()
	text, err = tmpl.RenderValues(data)
	if err != nil {
		return "", fmt.Errorf("%s: the chat template cannot be rendered with these messages: %w", t.file, err)
	}
	// Where Python raises an error, the engine writes a list as text.
	for i, v := range list {
		if c, ok := v.AsDict().Get("content"); ok && (c.IsList() || c.IsDict()) && strings.Contains(text, c.String()) {
			return "", fmt.Errorf("%s: message %d: this chat template does not provide for content in parts; write the text alone", t.file, i)
		}
	}
	return text, nil
}

func (t *Template) names() []string {
	var out []string
	for n := range t.named {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (m Message) value() (jinja.Value, error) {
	if m.Raw != nil {
		v, err := value(m.Raw)
		if err == nil && !v.IsDict() {
			err = errors.New("must be a JSON object")
		}
		return v, err
	}
	v := jinja.NewDict()
	v.AsDict().Set("role", jinja.NewString(m.Role))
	v.AsDict().Set("content", jinja.NewString(m.Content))
	return v, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("chat template: %s is not a regular file of at most %d bytes", path, maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return b, nil
}
