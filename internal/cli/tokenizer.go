package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tokentape/internal/clock"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/chattmpl"
	"tokentape/internal/workload/tokenizer"
	"tokentape/tape"
)

// counting is what target.tokenizer gives a run: counts of outputs that the
// server did not count, and of prompts as the server will build them.
type counting struct {
	path     string
	tok      *tokenizer.Tokenizer
	template *chattmpl.Template // nil: none, or the API takes no messages
	plain    bool               // the API takes the prompt as it is
	content  bool               // there is no chat template: messages' texts are counted, a lower bound
	extra    map[string]json.RawMessage
}

// plainAPIs tokenise the prompt as it is, with the tokenizer's own tokens around
// it. What the other APIs without messages do is not said, so it is not guessed.
var plainAPIs = []string{"openai-completions", "sglang-generate", "tgi"}

// loadCounting loads target.tokenizer, nil when there is none. now is the date
// for chat templates that write it. The notes say what will not be counted.
func loadCounting(s *spec.Spec, now time.Time) (c *counting, notes []string, err error) {
	path := s.Target.Tokenizer
	if path == "" {
		return nil, nil, nil
	}
	c = &counting{path: path, plain: slices.Contains(plainAPIs, s.Target.API)}
	if c.tok, err = tokenizer.Load(path); err != nil {
		return nil, nil, usageError("target.tokenizer: "+err.Error(), "give the model's folder, or its tokenizer.json, tokenizer.model or .tiktoken file")
	}
	for _, n := range c.tok.Notes() {
		notes = append(notes, "tokenizer: "+n)
	}
	api, _ := spec.FindAPI(s.Target.API)
	switch {
	case c.plain:
	case !api.Chat:
		notes = append(notes, "prompts are not counted by the tokenizer: how a server of target.api "+s.Target.API+" wraps them is not known")
	default:
		folder := modelFolder(path)
		t, err := chattmpl.Load(folder)
		switch {
		case errors.Is(err, chattmpl.ErrNone):
			c.content = true
			notes = append(notes, "there is no chat template in "+folder+": only the texts of messages are counted, which is a lower bound of what the server counts; "+
				"the check input_off_plan says by how much, and whether it is always the same (put the model's chat_template.jinja or tokenizer_config.json beside the tokenizer to count whole prompts)")
		case err != nil:
			return nil, nil, usageError("target.tokenizer: "+err.Error(), "mend the chat template beside the tokenizer, or move it away to leave prompts uncounted")
		default:
			c.template = t.At(now)
		}
		if kw, ok := s.Workload.Sampling["chat_template_kwargs"].(map[string]any); ok {
			c.extra = map[string]json.RawMessage{}
			for name, v := range kw {
				if c.extra[name], err = json.Marshal(v); err != nil {
					return nil, nil, usageError("workload.sampling.chat_template_kwargs: " + err.Error())
				}
			}
		}
	}
	return c, notes, nil
}

// loadTokenizer makes j.count, and tries it on the first row.
func (j *job) loadTokenizer() error {
	c, notes, err := j.shared.counting(j.spec, clock.New().Wall())
	if err != nil {
		return err
	}
	j.count = c
	j.notes = append(j.notes, notes...)
	if !c.countsInput() || j.source.Len() == 0 {
		return nil
	}
	item, err := j.source.Item(0)
	if err != nil {
		return usageError(err.Error())
	}
	if _, err := c.input(item); err != nil {
		j.notes = append(j.notes, "the prompt of the first row cannot be counted, and others like it stay uncounted: "+err.Error())
	}
	return nil
}

// countsInput reports whether prompts are counted at all.
func (c *counting) countsInput() bool { return c != nil && (c.plain || c.content || c.template != nil) }

// ref names the tokenizer in the tape's header.
func (c *counting) ref() *tape.FileRef {
	if c == nil {
		return nil
	}
	path := c.path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return &tape.FileRef{Path: path, SHA256: c.tok.SHA256(), Content: c.content}
}

// input is the number of tokens that a server with the same files reads for an
// item, without a chat template that of the messages' texts. The error says why
// that cannot be known.
func (c *counting) input(item workload.Item) (int64, error) {
	if item.TokenIDs != nil {
		return int64(len(item.TokenIDs)), nil
	}
	var n int64
	texts, around, err := c.texts(item)
	for _, t := range texts {
		n += int64(c.tok.Count(t))
	}
	return n + around, err
}

// widest is how many bytes Unicode's normal forms make of one at most, which some
// tokenizers begin with (U+FDFA: 33 of 3).
const widest = 11

// most is a number that input does not exceed, found without the tokenizer: a
// token stands for a byte at least.
func (c *counting) most(item workload.Item) (int64, error) {
	texts, n, err := c.texts(item)
	for _, t := range texts {
		per := 1
		if strings.IndexFunc(t, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			per = widest
		}
		n += int64(len(t)*per) + 1 // some put a blank before a text
	}
	return n, err
}

// texts are what is to be counted of an item, and the tokens that come to them.
func (c *counting) texts(item workload.Item) (texts []string, around int64, err error) {
	switch {
	case item.Body != nil:
		return nil, 0, errors.New("it is a whole request body, which only the server takes apart")
	case c.plain:
		return []string{item.Prompt}, int64(c.tok.Around()), nil
	}
	messages, err := chatMessages(item.Messages)
	if err != nil {
		return nil, 0, err
	}
	if c.content {
		for _, m := range messages {
			texts = append(texts, m.Content)
		}
		return texts, 0, nil
	}
	text, err := c.template.Render(messages, true, c.with(item))
	return []string{text}, 0, err
}

// modelFolder is the folder of a model that is named by it or by a file in it.
func modelFolder(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// chatMessages are messages as a chat template takes them. The error says why
// their tokens cannot be known.
func chatMessages(messages []workload.Message) ([]chattmpl.Message, error) {
	out := make([]chattmpl.Message, len(messages))
	for i, m := range messages {
		out[i] = chattmpl.Message{Role: m.Role, Content: m.Content, Raw: m.Raw}
		if bytes.Contains(m.Raw, []byte(`"image_url"`)) {
			return nil, errors.New("it holds an image, which the tokenizer does not count")
		}
	}
	return out, nil
}

// with is what the template sees beside the messages.
func (c *counting) with(item workload.Item) map[string]json.RawMessage {
	extra := map[string]json.RawMessage{}
	for k, v := range c.extra {
		extra[k] = v
	}
	if tools, ok := item.Extra["tools"]; ok && !bytes.Equal(bytes.TrimSpace(tools), []byte("null")) {
		extra["tools"] = tools
	}
	var kw map[string]json.RawMessage
	if raw, ok := item.Extra["chat_template_kwargs"]; ok && json.Unmarshal(raw, &kw) == nil {
		for k, v := range kw {
			extra[k] = v
		}
	}
	return extra
}

// counter is input for the run.
func (c *counting) counter(item workload.Item) (int64, bool) {
	n, err := c.input(item)
	return n, err == nil
}

// line describes the counting for the statement.
func (c *counting) line() string {
	if c == nil {
		return "counted by the server alone (no target.tokenizer)"
	}
	what := fmt.Sprintf("counted by the server; outputs that it does not count by %s (sha256 %.12s…)", c.path, c.tok.SHA256())
	switch {
	case c.template != nil:
		what += ", prompts through " + c.template.File()
	case c.plain:
		what += ", prompts too"
	case c.content:
		what += ", messages' texts too: a lower bound of prompts"
	}
	return what
}
