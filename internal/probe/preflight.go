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
	Entry   Entry
	Steps   []tape.Step // by the clock of Look.Now; without it no step has a time
}

// Context is how long a request of the model may be.
type Context struct {
	Tokens int64  // prompt and answer together; 0: the server does not say
	From   string // who says it: "max_model_len of GET …/v1/models"
	Cuts   bool   // the server says that it cuts longer prompts instead of refusing them
}

// Entry is what was addressed, of a service whose prefill and decode may be apart.
type Entry struct {
	Kind string // tape.EntryUnified …; "": the server does not say
	From string // who says it: "disaggregation_mode of GET …/get_server_info"
}

// Look is how a server is looked at by GETs.
type Look struct {
	Get     Getter
	Base    spec.Base
	Header  http.Header
	Secrets *secret.Set
	Model   string // the one that the user named; "": the only one of the list
	Own     bool   // requests name models of their own, so that none is settled on
	// Now times the steps; nil: they have no times.
	Now func() int64
	// All asks every endpoint that might tell more, and goes on when one fails.
	All bool
}

// Preflight asks for the model list, which tells whether the address, the key
// and the model fit, and for the engine's version where it has such an endpoint.
// What the server wrote comes out masked of secrets and on one line each. The error
// is an *Error, or the context's.
func Preflight(ctx context.Context, g Getter, base spec.Base, header http.Header, secrets *secret.Set, model string, own bool) (*Result, error) {
	res, err := Look{Get: g, Base: base, Header: header, Secrets: secrets, Model: model, Own: own}.Do(ctx)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Do looks. The error is an *Error, the first thing that keeps the server from
// being measured as addressed, or the context's; with All there is a Result beside
// the first kind.
func (l Look) Do(ctx context.Context) (*Result, error) {
	s := &look{Look: l, res: &Result{}}
	err := s.look(ctx)
	res := s.res
	var e *Error
	if errors.As(err, &e) {
		for _, text := range []*string{&e.URL, &e.Why, &e.Hint} {
			*text = line(l.Secrets, *text, maxText)
		}
		head := e.Body[:min(len(e.Body), quotable)]
		e.Body = l.Secrets.Line(head, maxQuote)
	}
	for i, id := range res.Server.Models {
		res.Server.Models[i] = line(l.Secrets, id, maxName)
	}
	for i, n := range res.Notes {
		res.Notes[i] = line(l.Secrets, n, maxText)
	}
	res.Server.Version = line(l.Secrets, res.Server.Version, maxName)
	res.Context.From = line(l.Secrets, res.Context.From, maxText)
	res.Entry.From = line(l.Secrets, res.Entry.From, maxText)
	for i := range res.Steps {
		st := &res.Steps[i]
		st.Seen = strings.ReplaceAll(st.Seen, "GET "+l.Base.Root, "GET ")
		for _, text := range []*string{&st.URL, &st.Seen, &st.Do} {
			*text = line(l.Secrets, *text, maxText)
		}
	}
	return res, err
}

// line is a whole text, fit to be shown.
func line(secrets *secret.Set, text string, limit int) string {
	if len(text) > limit {
		return secrets.Line(text, limit)
	}
	return secret.OneLine(secrets.Mask(text))
}

// look is a Look under way.
type look struct {
	Look
	res *Result
}

func (l *look) look(ctx context.Context) error {
	url := l.Base.Join("/v1/models")
	got, at, err := l.get(ctx, url, listLimit)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := &Error{URL: url, Why: err.Error(), Hint: unreachable(err, l.Base)}
		if errors.Is(err, context.DeadlineExceeded) {
			e = &Error{URL: url, Why: fmt.Sprintf("no answer within %s", listLimit), Hint: "the server accepts connections and does not answer: is it still loading its model?"}
		}
		reached := l.notReached(err, at, e)
		if l.All && reached {
			l.engine(ctx, nil)
		}
		return e
	}
	l.reached(got, at)
	l.res.Server.Remote = got.Remote
	if t := got.TLS; t != nil {
		l.res.Server.TLS = &tape.TLS{Version: t.Version, Cipher: t.Cipher, ALPN: t.ALPN}
	}
	list, err := l.list(url, got, at)
	if err != nil && !l.All {
		return err
	}
	l.res.Context = contextOf(list, url, l.res.Server.Model)
	l.engine(ctx, list)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// list reads the model list and settles on a model.
func (l *look) list(url string, got *client.Simple, at span) (list []card, err error) {
	res := l.res
	st := at.step("models", tape.StepOK)
	st.URL, st.Status, st.Headers = url, tape.Some(int64(got.Status)), headers(got.Header, l.Secrets)
	defer func() {
		var e *Error
		if errors.As(err, &e) {
			st.Result, st.Seen, st.Do = tape.StepFailed, e.Why, e.Hint
			if body := l.Secrets.Line(e.Body[:min(len(e.Body), quotable)], maxQuote); body != "" {
				st.Seen += ": " + body
			}
		}
		res.Steps = append(res.Steps, st)
	}()
	list, err = models(url, got)
	switch {
	case err == nil:
	case got.Status == http.StatusNotFound && (l.Own || l.Model != ""):
		note := fmt.Sprintf("the server has no model list (GET %s: 404); the model %q is taken as given", url, l.Model)
		if l.Own {
			note = fmt.Sprintf("the server has no model list (GET %s: 404); the request bodies name their own models", url)
		}
		res.Notes = append(res.Notes, note)
		st.Result, st.Seen, err = tape.StepNone, note, nil
	default:
		if l.All && l.Model != "" {
			res.Server.Model = l.Model // requests can be tried all the same
		}
		return nil, err
	}
	for _, c := range list {
		res.Server.Models = append(res.Server.Models, c.ID)
	}
	if !l.Own {
		if err := choose(res, url, got, l.Model); err != nil {
			return list, err
		}
	}
	if id := res.Server.Model; l.Model == "" && line(l.Secrets, id, maxName) != id {
		res.Server.Model = ""
		return list, &Error{URL: url, Status: got.Status, Why: fmt.Sprintf("the id of its only model is not fit to be used: %q", line(l.Secrets, id, maxName)),
			Hint: "it is overlong, or holds control characters, surplus spaces or a secret of the spec; name the model: --model NAME"}
	}
	if st.Result == tape.StepOK {
		st.Seen = listed(res.Server.Models)
		if n := len(res.Notes); n > 0 {
			st.Seen += "; " + res.Notes[n-1]
			if len(res.Server.Models) > 0 {
				st.Do = "name one that it lists, or none: --model " + res.Server.Models[0]
			}
		}
	}
	return list, nil
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
		return &Error{URL: url, Status: got.Status, Why: "the server lists several models: " + listed(ids), Hint: "name one: --model " + ids[0]}
	}
	res.Server.Model = model
	if len(ids) == 0 || slices.Contains(ids, model) || slices.Contains(ids, model+":latest") {
		return nil
	}
	// SGLang and vLLM name a LoRA adapter "base:adapter" or by an alias of its own.
	if base, _, ok := strings.Cut(model, ":"); ok && slices.Contains(ids, base) {
		return nil
	}
	res.Notes = append(res.Notes, fmt.Sprintf("the model %q is not among the server's ids (%s)", model, listed(ids)))
	return nil
}

// mostIDs is how many model ids a text names; the tape's header holds all.
const mostIDs = 8

// listed are the first of some ids, and how many more there are.
func listed(ids []string) string {
	if n := len(ids) - mostIDs; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:mostIDs], ", "), n)
	}
	return strings.Join(ids, ", ")
}
