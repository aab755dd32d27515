package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/exchange"
	"tokentape/internal/secret"
	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// What a Prober asks.
const (
	Short = "short" // one answer in one piece, one stream
	Cache = "cache" // those, and a long prompt twice
	Full  = "full"  // all that needs no hit in the prefix cache
	Whole = "whole" // Full and Cache
)

// Bounds of a probe. A request's own limits are the user's where those are shorter.
const (
	maxOutput  = 32 // output tokens that a request asks for
	maxRequest = 60 * time.Second
	maxSilence = 30 * time.Second
	maxProbe   = 5 * time.Minute
	maxWire    = 256 << 10 // bytes of an answer that are looked at
	beyond     = 4         // token events past the output asked for, after which a stream is closed
	maxListed  = 20        // names in a list of capabilities
)

// ErrBound is why a probe that took too long ended.
var ErrBound = fmt.Errorf("the probe took longer than %s", maxProbe)

// Prober sends a probe's requests, one at a time.
type Prober struct {
	Clock *clock.Clock
	// Exchange is how answers are asked for. Dialect, URL and Options are set for each
	// request; URLs, KeepText and the like must be empty.
	Exchange exchange.Config
	Base     spec.Base
	Whole    dialect.Dialect // for answers in one piece
	Stream   dialect.Dialect // for streams; may be the same
	Model    string
	// LengthField and Sampling are the user's: requests carry them as the load's would,
	// but for fields that change how long an answer is.
	LengthField string
	Sampling    map[string]any
	// RunID begins the ids of the requests. Nonce makes the prompts of Cache unlike those
	// of any other probe, so that the first of them finds nothing in the cache.
	RunID, Nonce string
	Server       tape.Opt[int64] // index into server.urls of Base; absent: there is one server
	First        int64           // requests that probes of other servers have sent before
	Look         *Result         // what GETs told; nil: nothing
	// Content counts the tokens of a text by the model's own tokenizer; nil: there is none.
	Content func(text string) (int64, error)
	// Book takes each request that was sent, Emit each step; both in order. Keep, where
	// there is one, takes an example of each class of failures with its bytes.
	Book func(*tape.Request)
	Emit func(tape.Step)
	Keep func(*tape.Example)
}

// FailedError is a request of the probe that did not end well.
type FailedError struct {
	Step    string
	Request *tape.Request
	Do      string
}

func (e *FailedError) Error() string {
	r := e.Request
	s := fmt.Sprintf("probe %q: %s", e.Step, r.Outcome)
	if r.Message != "" {
		s += ": " + r.Message
	}
	return s
}

// Run asks, and returns what the answers proved. The error is the first
// *FailedError, or the context's cause; the capabilities hold what was proved all the
// same. Only a failure of the first two requests ends Short and Cache early.
func (p *Prober) Run(ctx context.Context, what string) (*tape.Capabilities, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxProbe, ErrBound)
	defer cancel()
	b := &battery{Prober: p, ctx: ctx, found: newFindings(p.Look), kept: map[tape.Class]bool{}, n: p.First}
	b.found.root = p.Base.Root
	b.run(what)
	caps := b.found.capabilities()
	caps.URL = p.Server
	tidy(caps, secret.New(p.Exchange.Secrets))
	if b.failed == nil && ctx.Err() != nil {
		return caps, context.Cause(ctx)
	}
	if b.failed == nil {
		return caps, nil
	}
	return caps, b.failed
}

// tidy makes what servers wrote fit to be kept: bounded, secrets masked, on one line.
func tidy(c *tape.Capabilities, secrets *secret.Set) {
	for _, text := range []*string{&c.Model, &c.ReasoningField} {
		*text = line(secrets, strings.ToValidUTF8(*text, ""), maxName)
	}
	for _, list := range []*[]string{&c.Finish, &c.CachedFields, &c.Speculation} {
		*list = slices.Clip((*list)[:min(len(*list), maxListed)])
		for i, s := range *list {
			(*list)[i] = line(secrets, strings.ToValidUTF8(s, ""), maxName)
		}
	}
	for name, s := range c.How {
		c.How[name] = line(secrets, s, maxText)
	}
}

// question is one request of a probe.
type question struct {
	step   string
	stream bool
	prompt string
	output int64
	field  string         // of the output length, in place of the user's
	extra  map[string]any // sampling beside the user's
	// may: a refusal of the request is an answer to what it tries, and no failure.
	may bool
}

// reply is what came of it.
type reply struct {
	question
	name string // "probe-0"
	req  *tape.Request
	seen *wire
	note string // why it could not be sent
	// doubt are the counts that req, which findings are made of, lacks.
	doubt doubts
}

// ok reports an answer that facts can be taken of.
func (r *reply) ok() bool { return r != nil && r.req != nil && r.req.Outcome == tape.OutcomeOK }

// ended reports one that was at least read as far as was wanted.
func (r *reply) ended() bool {
	return r.ok() || r != nil && r.req != nil && r.req.Outcome == tape.OutcomeAbandoned
}

// output is how many output tokens came, at least.
func (r *reply) output() (int64, bool) {
	if !r.ended() {
		return 0, false
	}
	return r.req.Tokens.Output.V, r.req.Tokens.Output.OK
}

// refused reports a request that the server would not take as it was.
func (r *reply) refused() bool {
	if r == nil || r.req == nil {
		return false
	}
	s := r.req.HTTP.Status
	return r.req.Outcome == tape.OutcomeStatus && (s == http.StatusBadRequest || s == http.StatusUnprocessableEntity)
}

// battery is a probe under way.
type battery struct {
	*Prober
	ctx    context.Context
	n      int64 // requests sent, with those of other servers
	asked  int   // prompts made by fresh
	failed *FailedError
	found  *findings
	kept   map[tape.Class]bool // classes of failures that Keep has had
}

// lengthens are sampling fields that the probe leaves out: they change how long
// answers are, or how many.
var lengthens = []string{"ignore_eos", "min_tokens", "min_new_tokens", "n", "stop", "stop_token_ids", "max_tokens", "max_completion_tokens", "max_new_tokens", "num_predict", "n_predict", "best_of", "logprobs", "top_logprobs", "tools", "response_format", "stream_options"}

// send sends one request, books it and notes its step.
func (b *battery) send(a question) *reply {
	if b.ctx.Err() != nil {
		b.Emit(tape.Step{Type: "step", Name: a.step, Result: tape.StepNone, Seen: "not tried: " + context.Cause(b.ctx).Error()})
		return &reply{question: a, note: "not tried"}
	}
	d := b.Whole
	if a.stream {
		d = b.Stream
	}
	cfg := b.Exchange
	cfg.Dialect, cfg.URL, cfg.URLs = d, b.Base.Join(d.Path()), nil
	cfg.KeepWire, cfg.Limits = maxWire, bounded(cfg.Limits)
	sampling := maps.Clone(b.Sampling)
	if sampling == nil {
		sampling = map[string]any{}
	}
	for _, name := range lengthens {
		if name != "stream_options" || !a.stream {
			delete(sampling, name)
		}
	}
	maps.Copy(sampling, a.extra)
	cfg.Options = dialect.Options{Model: b.Model, Stream: a.stream, LengthField: b.LengthField, Sampling: sampling}
	if a.field != "" {
		cfg.Options.LengthField = a.field
	}
	x := exchange.New(cfg)
	sum := sha256.Sum256([]byte(a.prompt))
	item := workload.Item{Prompt: a.prompt, OutputLen: a.output, Ref: workload.Ref{SHA256: hex.EncodeToString(sum[:])}}
	ready, err := x.Prepare(item)
	if err != nil {
		r := &reply{question: a, note: secret.New(cfg.Secrets).Line(err.Error(), maxText)}
		b.Emit(tape.Step{Type: "step", Name: a.step, Result: tape.StepNone, Seen: "cannot be asked: " + r.note})
		return r
	}
	if a.stream {
		ready.Abandon.Tokens = int(a.output) + beyond // a server that ignores the length goes on and on
	}
	seq := tape.ProbeSeq + b.n
	req := &tape.Request{
		Type: "request", Seq: seq, ID: b.RunID + "-" + strconv.FormatInt(seq, 10), Phase: tape.PhaseProbe, URL: b.Server,
		Ref: tape.Ref{SHA256: item.Ref.SHA256}, Attempts: 1,
	}
	r := &reply{question: a, name: "probe-" + strconv.FormatInt(b.n, 10), req: req}
	b.n++
	t := b.Clock.Now()
	req.TReady, req.TReleased = tape.Some(t), tape.Some(t)
	answer := x.Do(b.ctx, ready, req)
	if req.Outcome == tape.OutcomeCancelled && errors.Is(context.Cause(b.ctx), ErrBound) {
		req.Outcome, req.Cause, req.Message = tape.OutcomeTimeout, exchange.LimitTotal, ErrBound.Error()
	}
	r.seen = fieldsOf(d, answer.Wire)
	b.Book(req)
	if ex := answer.Example; ex != nil && b.Keep != nil && !b.kept[ex.Class()] {
		b.kept[ex.Class()] = true
		b.Keep(ex)
	}
	b.note(r, x.URL(), headers(answer.Header, secret.New(cfg.Secrets)))
	r.doubt = doubtful(req)
	r.req = r.doubt.without(req)
	return r
}

// bounded are limits no longer than those of a probe.
func bounded(l exchange.Limits) exchange.Limits {
	least := func(own, most time.Duration) time.Duration {
		if own > 0 {
			return min(own, most)
		}
		return most
	}
	return exchange.Limits{FirstToken: least(l.FirstToken, maxRequest), Idle: least(l.Idle, maxSilence), Total: least(l.Total, maxRequest)}
}

// note emits the step of a request that was sent, and remembers its failure.
func (b *battery) note(r *reply, url string, head []string) {
	q := r.req
	mask := secret.New(b.Exchange.Secrets)
	st := tape.Step{
		Type: "step", Name: r.step, Result: tape.StepOK, URL: line(mask, url, maxText), Headers: head,
		T: q.TReleased, Request: tape.Some(q.Seq),
	}
	if q.TEnd.OK {
		st.Took = tape.Some(q.TEnd.V - q.TReleased.V)
	}
	if q.HTTP.Status != 0 {
		st.Status = tape.Some(int64(q.HTTP.Status))
	}
	switch {
	case q.Outcome == tape.OutcomeOK:
		st.Seen = heard(q)
	case q.Outcome == tape.OutcomeAbandoned:
		st.Seen = fmt.Sprintf("closed after %d token events: the server went on beyond the %d tokens that were asked for", r.question.output+beyond, r.question.output)
	case r.may && r.refused():
		st.Seen = "refused: " + q.Message
	case q.Outcome == tape.OutcomeCancelled:
		st.Result, st.Seen = tape.StepNone, "not ended: "+q.Message
	default:
		st.Result, st.Seen, st.Do = tape.StepFailed, string(q.Outcome)+": "+q.Message, mend(q)
		if b.failed == nil {
			b.failed = &FailedError{r.step, q, st.Do}
		}
	}
	b.Emit(st)
}

// heard is what an answer was, in few words.
func heard(q *tape.Request) string {
	parts := []string{q.HTTP.Proto}
	if n := q.Tokens.Output; n.OK {
		parts = append(parts, count(n.V, "output token")+" ("+q.Tokens.OutputSource+")")
	}
	if q.Finish != "" {
		parts = append(parts, "finish "+q.Finish)
	}
	if q.TFirstToken.OK && q.TWroteFirst.OK {
		parts = append(parts, fmt.Sprintf("first token after %.1f ms", float64(q.TFirstToken.V-q.TWroteFirst.V)/1e6))
	}
	parts = append(parts, q.Flags...)
	return join(", ", parts...)
}

// mend is what mends a request that failed.
func mend(q *tape.Request) string {
	switch {
	case noRoom(q):
		return "give the address of the router or load balancer before the workers as target.url"
	case q.HTTP.Status == http.StatusUnauthorized || q.HTTP.Status == http.StatusForbidden:
		return "set target.api_key, for example --api-key '${API_KEY}'"
	case q.HTTP.Status == http.StatusNotFound || q.HTTP.Status == http.StatusMethodNotAllowed:
		return "is the path right, and does the server serve the model that was asked for? (--url, --api, --model)"
	case q.Cause == exchange.CauseField:
		return "the server knows another field: target.max_tokens_field, or workload.sampling of the spec"
	case q.Outcome == tape.OutcomeNotStream:
		return "is this the endpoint of --api? A web page, or an answer of another API, came"
	case q.Outcome == tape.OutcomeTimeout:
		return "see what the server logs; a worker of a disaggregated service that was addressed without its router hangs like this"
	}
	return "see what the server logs"
}

// noRoom reports the refusal by which SGLang's workers of a disaggregated service
// answer whoever did not come through the router.
func noRoom(q *tape.Request) bool {
	return q.Outcome != tape.OutcomeOK && strings.Contains(strings.ToLower(q.Message), "bootstrap room")
}
