package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/tape"
)

// maxBody bounds what a preflight answer may hold, in bytes.
const maxBody = 4 << 20

// Limits of what is shown or kept of a server's texts, in bytes.
const (
	maxQuote = 200 // beginning of an answer
	maxName  = 200 // a model id, a version
	maxText  = 1000
)

// quotable is how much of a body is looked at for a quote: enough for the longest
// key in the longest spelling.
const quotable = 64 << 10

// Limits of one preflight GET. The model list decides whether a run begins; what
// else is asked only fills in the engine's version.
const (
	listLimit   = 15 * time.Second
	engineLimit = 3 * time.Second
)

// Getter sends one GET; *client.Client is one.
type Getter interface {
	Get(ctx context.Context, url string, header http.Header, limit int64) (*client.Simple, error)
}

// Error is a server that cannot be measured as addressed.
type Error struct {
	URL    string
	Status int    // 0: no answer came
	Body   string // first bytes of the answer, secrets masked
	Why    string
	Hint   string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s: ", e.URL)
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d: ", e.Status)
	}
	b.WriteString(e.Why)
	if e.Body != "" {
		fmt.Fprintf(&b, "\n  it answered: %s", e.Body)
	}
	return b.String()
}

// Result is what preflight found out.
type Result struct {
	Server  tape.Server // URL is left to the caller
	Notes   []string
	Context Context
}

// Context is how long a request of the model may be.
type Context struct {
	Tokens int64  // prompt and answer together; 0: the server does not say
	From   string // who says it: "max_model_len of GET …/v1/models"
	Cuts   bool   // the server says that it cuts longer prompts instead of refusing them
}

// Preflight asks for the model list, which tells whether the address, the key
// and the model fit, and for the engine's version where it has such an endpoint.
// model is the one the user named; empty: the only one of the list. own: requests
// name models of their own, so that none is settled on. What the server
// wrote comes out masked of secrets and on one line each. The error is an *Error, or
// the context's.
func Preflight(ctx context.Context, g Getter, base spec.Base, header http.Header, secrets *secret.Set, model string, own bool) (*Result, error) {
	res, err := preflight(ctx, g, base, header, secrets, model, own)
	var e *Error
	if errors.As(err, &e) {
		for _, text := range []*string{&e.URL, &e.Why, &e.Hint} {
			*text = line(secrets, *text, maxText)
		}
		head := e.Body[:min(len(e.Body), quotable)]
		e.Body = secrets.Line(head, maxQuote)
	}
	if err != nil {
		return nil, err
	}
	for i, id := range res.Server.Models {
		res.Server.Models[i] = line(secrets, id, maxName)
	}
	for i, n := range res.Notes {
		res.Notes[i] = line(secrets, n, maxText)
	}
	res.Server.Version = line(secrets, res.Server.Version, maxName)
	res.Context.From = line(secrets, res.Context.From, maxText)
	return res, nil
}

// line is a whole text, fit to be shown.
func line(secrets *secret.Set, text string, limit int) string {
	if len(text) > limit {
		return secrets.Line(text, limit)
	}
	return secret.OneLine(secrets.Mask(text))
}

func preflight(ctx context.Context, g Getter, base spec.Base, header http.Header, secrets *secret.Set, model string, own bool) (*Result, error) {
	res := &Result{}
	url := base.Join("/v1/models")
	got, err := get(ctx, g, url, header, listLimit)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, &Error{URL: url, Why: fmt.Sprintf("no answer within %s", listLimit), Hint: "the server accepts connections and does not answer: is it still loading its model?"}
		}
		return nil, &Error{URL: url, Why: err.Error(), Hint: unreachable(err, base)}
	}
	res.Server.Remote = got.Remote
	if t := got.TLS; t != nil {
		res.Server.TLS = &tape.TLS{Version: t.Version, Cipher: t.Cipher, ALPN: t.ALPN}
	}
	list, err := models(url, got)
	switch {
	case err == nil:
	case got.Status == http.StatusNotFound && own:
		res.Notes = append(res.Notes, fmt.Sprintf("the server has no model list (GET %s: 404); the request bodies name their own models", url))
	case got.Status == http.StatusNotFound && model != "":
		res.Notes = append(res.Notes, fmt.Sprintf("the server has no model list (GET %s: 404); the model %q is taken as given", url, model))
	default:
		return nil, err
	}
	for _, c := range list {
		res.Server.Models = append(res.Server.Models, c.ID)
	}
	if !own {
		if err := choose(res, url, got, model); err != nil {
			return nil, err
		}
	}
	if id := res.Server.Model; model == "" && line(secrets, id, maxName) != id {
		return nil, &Error{URL: url, Status: got.Status, Why: fmt.Sprintf("the id of its only model is not fit to be used: %q", line(secrets, id, maxName)),
			Hint: "it is overlong, or holds control characters, surplus spaces or a secret of the spec; name the model: --model NAME"}
	}
	res.Context = contextOf(list, url, res.Server.Model)
	engine(ctx, g, base, header, list, res)
	return res, nil
}

// get is one GET with a limit of its own.
func get(ctx context.Context, g Getter, url string, header http.Header, limit time.Duration) (*client.Simple, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got, err := g.Get(ctx, url, header, maxBody)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return got, err
}

// wantsTLS knows what Go, nginx, Apache and others say to plain HTTP on a TLS port.
var wantsTLS = regexp.MustCompile(`(?i)http request (was sent )?to (an )?https (server|port)|plain http to an ssl-enabled`)

// card is a model of the list.
type card struct {
	ID      string          `json:"id"`
	OwnedBy string          `json:"owned_by"`
	MaxLen  json.RawMessage `json:"max_model_len"`  // vLLM, SGLang
	Length  json.RawMessage `json:"context_length"` // gateways
}

// contextOf is what the list says of a model; the entry of its base stands for an
// adapter.
func contextOf(list []card, url, model string) Context {
	if model == "" && len(list) == 1 {
		model = list[0].ID
	}
	base, _, _ := strings.Cut(model, ":")
	for _, id := range []string{model, model + ":latest", base} {
		for _, c := range list {
			if c.ID != id || id == "" {
				continue
			}
			for _, f := range []struct {
				name string
				raw  json.RawMessage
			}{{"max_model_len", c.MaxLen}, {"context_length", c.Length}} {
				if n := positive(f.raw); n > 0 {
					return Context{Tokens: n, From: f.name + " of GET " + url}
				}
			}
		}
	}
	return Context{}
}

// positive is a JSON number above 0, else 0.
func positive(raw json.RawMessage) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// models reads the answer of /v1/models.
func models(url string, got *client.Simple) ([]card, error) {
	e := &Error{URL: url, Status: got.Status, Body: string(got.Body)}
	switch s := got.Status; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Why = "the server refuses the key"
		e.Hint = "set target.api_key, for example --api-key '${API_KEY}' or api_key: ${API_KEY} in the spec"
		return nil, e
	case s == http.StatusNotFound:
		e.Why = "there is no such path"
		e.Hint = "check the path prefix of target.url; when the server has no model list, name the model: --model NAME"
		return nil, e
	case s == http.StatusBadRequest && strings.HasPrefix(url, "http://") && wantsTLS.Match(got.Body):
		e.Why = "that port speaks TLS"
		e.Hint = "use https:// in target.url"
		return nil, e
	case s >= 300 && s < 400:
		e.Why = fmt.Sprintf("it redirects to %q", got.Header.Get("Location"))
		e.Hint = "use the address it redirects to as target.url; redirects are not followed, since a POST does not survive them"
		return nil, e
	case s != http.StatusOK:
		e.Why = "the server is not ready"
		e.Hint = "wait until GET " + url + " answers 200"
		return nil, e
	}
	var list struct {
		Data []card `json:"data"`
	}
	if err := json.Unmarshal(got.Body, &list); err != nil {
		e.Why = fmt.Sprintf("the answer is no model list (content type %q)", got.Header.Get("Content-Type"))
		if coding := got.Header.Get("Content-Encoding"); coding != "" {
			e.Why = fmt.Sprintf("the answer is no model list (content type %q, content encoding %q although none was asked for)", got.Header.Get("Content-Type"), coding)
		}
		e.Hint = "is this an LLM server? A web page or a gateway's login page answers like this"
		return nil, e
	}
	return list.Data, nil
}

// choose settles the model id that requests will carry.
func choose(res *Result, url string, got *client.Simple, model string) error {
	ids := res.Server.Models
	if model == "" {
		switch len(ids) {
		case 1:
			res.Server.Model = ids[0]
			return nil
		case 0:
			return &Error{URL: url, Status: got.Status, Body: string(got.Body), Why: "the server lists no model", Hint: "name one: --model NAME"}
		}
		return &Error{URL: url, Status: got.Status, Why: "the server lists several models: " + strings.Join(ids, ", "), Hint: "name one: --model " + ids[0]}
	}
	res.Server.Model = model
	if len(ids) == 0 || slices.Contains(ids, model) || slices.Contains(ids, model+":latest") {
		return nil
	}
	// SGLang and vLLM name a LoRA adapter "base:adapter" or by an alias of its own.
	if base, _, ok := strings.Cut(model, ":"); ok && slices.Contains(ids, base) {
		return nil
	}
	res.Notes = append(res.Notes, fmt.Sprintf("the model %q is not among the server's ids (%s)", model, strings.Join(ids, ", ")))
	return nil
}

// engine finds out who serves, by endpoints that answer GET without side effect.
func engine(ctx context.Context, g Getter, base spec.Base, header http.Header, list []card, res *Result) {
	s := &res.Server
	ask := func(path string, into any) bool {
		got, err := get(ctx, g, base.Join(path), header, engineLimit)
		return err == nil && got.Status == http.StatusOK && json.Unmarshal(got.Body, into) == nil
	}
	if len(list) > 0 {
		switch owner := list[0].OwnedBy; owner {
		case "sglang", "vllm", "llamacpp":
			s.Engine = owner
		case "library":
			s.Engine = "ollama"
		}
	}
	switch s.Engine {
	case "", "sglang":
		var info struct {
			Version string          `json:"version"`
			Length  json.RawMessage `json:"context_length"` // null: the model's own
			Cuts    bool            `json:"allow_auto_truncate"`
		}
		for _, path := range []string{"/get_server_info", "/server_info"} {
			if !ask(path, &info) {
				continue
			}
			s.Engine, s.Version, res.Context.Cuts = "sglang", info.Version, info.Cuts
			if n := positive(info.Length); n > 0 && res.Context.Tokens == 0 {
				res.Context.Tokens, res.Context.From = n, "context_length of GET "+base.Join(path)
			}
			break
		}
	case "vllm":
		var v struct {
			Version string `json:"version"`
		}
		if ask("/version", &v) {
			s.Version = v.Version
		}
	case "ollama":
		var v struct {
			Version string `json:"version"`
		}
		if ask("/api/version", &v) {
			s.Version = v.Version
		}
	}
}
