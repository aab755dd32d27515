package exchange

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/dialect"
	"tokentape/internal/dialect/frame"
	"tokentape/internal/secret"
	"tokentape/internal/workload"
	"tokentape/tape"
)

// Limits end a request that takes too long; 0 is no limit. Each one that fires
// makes the outcome timeout with its name as cause.
type Limits struct {
	// FirstToken runs from the start of Do (the release) to the first token
	// event; comments and role-only events do not stop it. For a request that
	// asks for no stream it runs to the first byte of the body.
	FirstToken time.Duration
	// Idle is silence of the wire between two reads of the body, from the first
	// one on; any byte, a comment too, starts it anew.
	Idle time.Duration
	// Total runs from the start of Do to the end of the answer.
	Total time.Duration
}

// Observer is told of the token events of one read: how many, and the read's
// stamp in nanoseconds of the clock. It is called on the read path, after
// stamping and decoding, and must be cheap.
type Observer func(events int, t int64)

// What record.output may be.
const (
	OutputHash = "hash"
	OutputFull = "full"
	OutputNone = "none"
)

// Config is everything an Exchanger needs.
type Config struct {
	Client  *client.Client
	Dialect dialect.Dialect
	Clock   *clock.Clock
	URL     string // final URL of the endpoint
	// URLs are all of them when there are several, URL first: requests take them in
	// turn, by Prepared.Turn or else tape.Request.Seq, and each further attempt the
	// next one.
	URLs    []string
	Header  http.Header // sent as given
	Options dialect.Options
	Limits  Limits
	// Connect is the client's own limit, for messages; 0: none.
	Connect time.Duration
	Output  string   // OutputHash (also ""), OutputFull, OutputNone
	Secrets []string // masked in every message and in recorded output
	// KeepText makes Do return the generated text, for a tokenizer that counts
	// afterwards; unknown output counts then stay absent.
	KeepText bool
	// KeepReply makes Do return the answer's visible text, for the next turn of a
	// conversation.
	KeepReply bool
	// SessionHeader carries tape.Request.Session; "": none is sent.
	SessionHeader string
	MaxEvent      int      // limit of one event (or one-shot body) in bytes; 0: frame.Max
	OnTokens      Observer // optional
	// IDHeader is the header that carries tape.Request.ID; "": X-Request-Id, which
	// SGLang, vLLM and most gateways log. NoID sends none.
	IDHeader string
	NoID     bool
	// KeepWire makes Do return the answer's header and so many bytes of its body as
	// they came: for a look at the names of fields.
	KeepWire int
}

// Exchanger sends items and understands the answers. It is safe for concurrent
// use.
type Exchanger struct {
	cfg     Config
	secrets *secret.Set
	header  http.Header
	echoes  bool // the server may repeat the prompt
	bounds  bounds
	flights sync.Pool // of *flight
	seen    classes   // of failures that have an example
}

// New makes an Exchanger. cfg is not to be changed afterwards.
func New(cfg Config) *Exchanger {
	if cfg.MaxEvent <= 0 {
		cfg.MaxEvent = frame.Max
	}
	if cfg.Output == "" {
		cfg.Output = OutputHash
	}
	e := &Exchanger{cfg: cfg, secrets: secret.New(cfg.Secrets), header: Header(cfg.Header, cfg.Dialect), bounds: bounds{maxEvents, maxForeign}}
	if e.header.Get("Content-Type") == "" {
		e.header.Set("Content-Type", "application/json")
	}
	if e.cfg.IDHeader == "" {
		e.cfg.IDHeader = "X-Request-Id"
	}
	if has(e.header, e.cfg.IDHeader) {
		e.cfg.NoID = true // the user sends an id of their own
	}
	_, e.echoes = cfg.Dialect.NewDecoder().(dialect.Prompted)
	e.flights.New = func() any { return newFlight(e) }
	return e
}

// Header is the user's header with the fields that the API wants, for every
// request to the server; the user's own win.
func Header(given http.Header, d dialect.Dialect) http.Header {
	h := given.Clone()
	if h == nil {
		h = http.Header{}
	}
	for name, v := range d.Header() {
		if !has(h, name) {
			h[name] = []string{v} // spelt as the API's own documents spell it
		}
	}
	return h
}

// has reports whether h has the field in any spelling.
func has(h http.Header, name string) bool {
	for k := range h {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

// Prepared is a request that was made ahead of its time. It is read-only and may
// be sent more than once.
type Prepared struct {
	Body  []byte
	Asked int64 // output tokens asked for; 0: none
	// Abandon closes the stream in the middle; the zero Abandon reads to the end.
	Abandon Abandon
	// Turn chooses among Config.URLs in place of the request's Seq: one for all
	// requests that belong on one server.
	Turn tape.Opt[int64]

	prompt  string // kept when the server may repeat it
	model   string // that is asked for
	choices int    // asked for; more than a decoder tells apart count as so many
}

// Size is how many bytes p keeps.
func (p *Prepared) Size() int64 { return int64(len(p.Body) + len(p.prompt)) }

// Prepare encodes the body of an item. Its error names the field that cannot be
// sent.
func (e *Exchanger) Prepare(item workload.Item) (*Prepared, error) {
	body, err := e.cfg.Dialect.Body(item, e.cfg.Options)
	if err != nil {
		return nil, err
	}
	p := &Prepared{Body: body, Asked: e.cfg.Dialect.Asked(item, e.cfg.Options), model: e.modelOf(item, body)}
	if d, ok := e.cfg.Dialect.(dialect.Choosing); ok {
		p.choices = int(min(d.Choices(item, e.cfg.Options), dialect.MaxChoices))
	}
	if e.echoes {
		p.prompt = item.Prompt
	}
	return p, nil
}

// URL is where requests go.
func (e *Exchanger) URL() string { return e.cfg.URL }

// Show is what Do would send as the request with this id and session ("": none),
// for people: header values and fields of the body that may be secret are masked.
func (e *Exchanger) Show(p *Prepared, id, session string) (method, url string, header http.Header, body []byte) {
	return http.MethodPost, e.mask(e.cfg.URL), e.shown(e.headerFor(id, session)), e.show(p.Body)
}

// show is a body for people. What is not masked keeps its bytes.
func (e *Exchanger) show(body []byte) []byte {
	text := e.mask(string(body))
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return []byte(text)
	}
	var own []string
	secret.Fields(v, func(s string) { own = append(own, s) })
	return []byte(secret.New(own).Mask(text))
}
