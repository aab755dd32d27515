package tape

import (
	"bytes"
	"encoding/json"
)

// Schema names the line format this package writes. Readers accept any minor
// addition (unknown fields are ignored) and refuse a newer major by name.
const Schema = "tokentape.tape/1"

// Opt is a value that may be absent. The zero Opt is absent, is left out of JSON
// when the field is tagged omitzero, and reads from null. Absent is never 0.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some is a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// IsZero reports absence; encoding/json's omitzero uses it.
func (o Opt[T]) IsZero() bool { return !o.OK }

// Or is the value, or def when it is absent.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}

// MarshalJSON writes the value, or null when it is absent.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON reads the value; null is absent.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*o = Opt[T]{}
		return nil
	}
	if err := json.Unmarshal(b, &o.V); err != nil {
		return err
	}
	o.OK = true
	return nil
}

// Header is the first line of a tape: what was asked, of whom, from where.
type Header struct {
	Type   string          `json:"type"` // "header"
	Schema string          `json:"schema"`
	Run    string          `json:"run"` // unique id of the run, sortable by time
	Name   string          `json:"name,omitempty"`
	Tool   Tool            `json:"tool"`
	Anchor Anchor          `json:"anchor"`
	Spec   json.RawMessage `json:"spec"` // resolved, secrets as "***"
	// SpecSHA256 is that of spec.yaml as it was written beside the tape, hex.
	SpecSHA256 string     `json:"spec_sha256,omitempty"`
	Plan       PlanRef    `json:"plan"`
	Data       DataRef    `json:"dataset"`
	Parts      []DataRef  `json:"datasets,omitempty"` // the datasets that dataset stands for, when there are several
	Tok        *FileRef   `json:"tokenizer,omitempty"`
	Host       Host       `json:"host"`
	Server     Server     `json:"server"`
	Notes      []string   `json:"notes,omitempty"` // said before the first request: model not in the list, rows repeated …
	Cache      *CachePlan `json:"cache,omitempty"` // what the server's prefix cache was expected to serve
	Import     *Import    `json:"import,omitempty"`
	Merged     *Merged    `json:"merged,omitempty"` // the tape was made of other tapes: see Merge
	// Command is the command line as it was given, the program first, secrets masked.
	Command []string `json:"command,omitempty"`
	Source  *Source  `json:"source,omitempty"` // state of the source folder that provenance.source names
	// Envelope is what tokentape doctor had measured that the client's host can carry.
	Envelope *Envelope `json:"envelope,omitempty"`
	// Runtime is how the client's own process was set while it sent the load.
	Runtime *Runtime `json:"runtime,omitempty"`
}

// Runtime are the settings of the Go runtime that were in force during a run.
type Runtime struct {
	MaxProcs int64 `json:"gomaxprocs"`           // threads that run Go code at once
	GC       int64 `json:"gogc"`                 // heap growth before a collection, percent; -1: off
	MemLimit int64 `json:"gomemlimit,omitempty"` // soft limit of memory, bytes; 0: none
}

// Envelope is up to which load a client's stamps are true on its host: within Limit of
// what a server on the same host really did, for 99 % of the events.
type Envelope struct {
	Measured string          `json:"measured"` // RFC 3339, UTC
	Limit    int64           `json:"limit_ns"` // of the 99th percentile of a stamp's error
	Points   []EnvelopePoint `json:"points"`   // that were tried, in order of rate and streams
}

// EnvelopePoint is one load of streams that are independent of each other.
type EnvelopePoint struct {
	Streams int64   `json:"streams"`      // at once
	Rate    float64 `json:"tokens_per_s"` // of each, one token an event
	Events  float64 `json:"events_per_s"` // that were read, of all of them
	Error   int64   `json:"error_p99_ns"` // stamp less truth, 99th percentile over events
	Held    bool    `json:"held"`         // within the limit
}

// Import says that a tape was made of another tool's results. What that tool never
// recorded is absent, as everything that was not observed.
type Import struct {
	Tool string `json:"tool"` // whose results: "aisbench", "vllm" …
	Path string `json:"path"` // as the user gave it
	// Untimed: that tool did not keep when requests were sent. Each one's times count
	// from its own start, so that nothing can be said of the time between requests.
	Untimed bool `json:"untimed,omitempty"`
}

// Who said what the prefix cache would serve.
const (
	CacheBySpec     = "spec"     // workload.cache
	CacheByManifest = "manifest" // of a built set
)

// CachePlan says where asked.cached of the requests comes from.
type CachePlan struct {
	By   string   `json:"by"`             // CacheBySpec or CacheByManifest
	Zero bool     `json:"zero"`           // no prompt was to begin as another
	From *FileRef `json:"from,omitempty"` // the manifest; of several datasets the first one's
}

// Tool is the program that wrote the tape.
type Tool struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	VCS     string `json:"vcs,omitempty"`

	Modified Opt[bool] `json:"modified,omitzero"`    // built from source with changes that are not in VCS
	VCSTime  string    `json:"vcs_time,omitempty"`   // when VCS was committed, RFC 3339
	Built    string    `json:"built,omitempty"`      // when the program's file was written, RFC 3339
	Platform string    `json:"platform,omitempty"`   // what it was built for: "linux/amd64"
	Sum      string    `json:"module_sum,omitempty"` // of its module, when it was built from a released one
}

// Anchor ties the run's monotonic epoch (t = 0) to the world.
type Anchor struct {
	Wall      string `json:"wall"`       // RFC 3339 with nanoseconds, UTC, at the epoch
	Clock     string `json:"clock"`      // "monotonic"
	Machine   int64  `json:"machine_ns"` // CLOCK_MONOTONIC of this machine at the epoch
	ReadStamp string `json:"read_stamp"` // "conn" below net/http, "body" for HTTP/2, "import": as the tool stamped that was imported from
}

// PlanRef names the plan by content. Kind "rows": all rows were made before the
// first request. Kind "generator": rows were drawn while running, Rows is 0 and
// SHA256 is that of the generator's parameters.
type PlanRef struct {
	SHA256 string `json:"sha256"`
	Rows   int64  `json:"rows"`
	Warmup int64  `json:"warmup,omitempty"` // of these, warm-up
	Kind   string `json:"kind"`
}

// DataRef names the dataset by content.
type DataRef struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

// FileRef names a file by content.
type FileRef struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Content: there was no chat template, so that asked.input counts the messages'
	// texts alone, a lower bound of the prompt.
	Content bool `json:"content,omitempty"`
}

// Host is the machine of the client.
type Host struct {
	Name   string `json:"name,omitempty"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"` // that the process may use
	Kernel string `json:"kernel,omitempty"`
	NoFile int64  `json:"nofile,omitempty"` // descriptor limit
	Ports  int64  `json:"ports,omitempty"`  // ephemeral ports

	Distribution string       `json:"distribution,omitempty"` // "Ubuntu 24.04.1 LTS"
	CPUModel     string       `json:"cpu_model,omitempty"`
	Cores        int64        `json:"cores,omitempty"`            // physical ones of the machine
	Logical      int64        `json:"logical,omitempty"`          // processors of the machine that are online
	Quota        Opt[float64] `json:"cpu_quota,omitzero"`         // cores that the control group may use
	Memory       int64        `json:"memory,omitempty"`           // of the machine, bytes
	MemoryLimit  int64        `json:"memory_limit,omitempty"`     // of the control group, bytes
	ClockSource  string       `json:"clock_source,omitempty"`     // "tsc"
	Governor     string       `json:"governor,omitempty"`         // of the processors' frequency
	Container    string       `json:"container,omitempty"`        // "docker", "podman", "kubernetes" …
	Hypervisor   string       `json:"hypervisor,omitempty"`       // the machine is virtual: "KVM", or "unknown"
	Zone         string       `json:"zone,omitempty"`             // of the local time: "UTC +00:00"
	NTP          Opt[bool]    `json:"ntp,omitzero"`               // the kernel's clock is kept in step
	MaxProcs     int64        `json:"gomaxprocs,omitempty"`       // threads that run Go code at once
	GC           string       `json:"gogc,omitempty"`             // GOGC of the environment, "default" for none
	Load         []float64    `json:"load,omitempty"`             // load averages of 1, 5 and 15 minutes, before the first request
	Available    int64        `json:"memory_available,omitempty"` // before the first request, bytes
	Steal        Opt[float64] `json:"steal,omitzero"`             // share of the processors' time that the hypervisor gave to others, since the machine started
}

// Source is the state of a folder of source, as git has it.
type Source struct {
	Path      string     `json:"path"` // as the user gave it
	Commit    string     `json:"commit,omitempty"`
	Branch    string     `json:"branch,omitempty"`      // absent: none is checked out
	Describe  string     `json:"describe,omitempty"`    // git describe --tags --always
	Changed   Opt[int64] `json:"changed,omitzero"`      // tracked files that differ from the commit; 0: clean
	Untracked Opt[int64] `json:"untracked,omitzero"`    // files and folders beside them, without ignored ones
	Diff      string     `json:"diff_sha256,omitempty"` // of git diff --binary HEAD; absent: clean, or not observed
	By        string     `json:"by,omitempty"`          // "git", or "files": read without git, which says nothing of changes
	Why       string     `json:"why,omitempty"`         // what was not observed, and why
}

// Server is what preflight learned with GETs only.
type Server struct {
	URL     string   `json:"url"` // final URL of the requests
	Engine  string   `json:"engine,omitempty"`
	Version string   `json:"version,omitempty"`
	Model   string   `json:"model,omitempty"` // the id that requests carry
	Models  []string `json:"models,omitempty"`
	Remote  string   `json:"remote,omitempty"` // address of the first connection

	URLs      []string `json:"urls,omitempty"`      // all final URLs, when there are several; the first is URL
	Addresses []string `json:"addresses,omitempty"` // what the names stood for, when they were looked up once before the run
	Proxy     string   `json:"proxy,omitempty"`     // that requests go through; never with credentials
	HTTP      string   `json:"http,omitempty"`      // the protocol that was asked for: "1.1", "2"
	TLS       *TLS     `json:"tls,omitempty"`       // of the first connection
}

// TLS is what a handshake agreed on.
type TLS struct {
	Version  string `json:"version"`        // "TLS 1.3"
	Cipher   string `json:"cipher"`         // "TLS_AES_128_GCM_SHA256"
	ALPN     string `json:"alpn,omitempty"` // "h2", "http/1.1"
	Unproved bool   `json:"unproved"`       // the server's certificate was not checked
}

// Capabilities is what the server was proved to report in this run. Empty
// strings and absent values mean "not known". Later lines add to earlier ones.
type Capabilities struct {
	Type           string       `json:"type"`            // "capabilities"
	Usage          string       `json:"usage,omitempty"` // of streams: UsageEnd …
	CachedTokens   string       `json:"cached_tokens,omitempty"`
	ReasoningField string       `json:"reasoning_field,omitempty"`
	TokensPerEvent Opt[float64] `json:"tokens_per_event,omitzero"`
	RoleFirst      Opt[bool]    `json:"role_first,omitzero"`
	MaxTokensField string       `json:"max_tokens_field,omitempty"`
	By             []string     `json:"by,omitempty"`  // "probe-0": the request of seq ProbeSeq + 0; "GET /path": an answer
	Part           Opt[int64]   `json:"part,omitzero"` // as of a request
	URL            Opt[int64]   `json:"url,omitzero"`  // index into server.urls of the one that was asked; absent: the first

	UsageWhole   Opt[bool]         `json:"usage_whole,omitzero"`    // an answer that was not streamed carried usage
	RoleChunk    string            `json:"role_chunk,omitempty"`    // when the role-only first chunk comes: RoleBefore, RoleWith
	Honoured     map[string]bool   `json:"honoured,omitempty"`      // by field of the request: ignore_eos, min_tokens, max_tokens …
	Finish       []string          `json:"finish,omitempty"`        // finish reasons that were seen, verbatim, sorted
	CachedFields []string          `json:"cached_fields,omitempty"` // paths of the answer that carried the count: "usage.prompt_tokens_details.cached_tokens"
	Speculation  []string          `json:"speculation,omitempty"`   // paths that carried counters of speculation
	ChatOverhead Opt[int64]        `json:"chat_overhead,omitzero"`  // prompt tokens that the chat template adds to one user message
	Context      Opt[int64]        `json:"context,omitzero"`        // tokens of prompt and answer together, as the server says
	Entry        string            `json:"entry,omitempty"`         // what was addressed: EntryUnified …
	Model        string            `json:"model,omitempty"`         // the model id that answers carried
	CachedBy     []string          `json:"cached_by,omitempty"`     // those of By that proved CachedTokens
	How          map[string]string `json:"how,omitempty"`           // by field of this line: from what it is known, or why it is not
	Inferred     []string          `json:"inferred,omitempty"`      // fields of this line that were concluded, not seen
}

// When a stream's token usage comes (Capabilities.Usage).
const (
	UsageEnd   = "end"
	UsageEvery = "every" // with every token event, or nearly
	UsageNever = "never"
)

// When the count of cached tokens is reported (Capabilities.CachedTokens). All but
// CachedNever and CachedUnknown prove that it is, so that a missing count is a 0.
const (
	CachedAlways = "always"     // also when it is 0
	CachedAbove  = "above_zero" // left out when it is 0
	CachedSome   = "reported"   // a count above 0 came; whether a 0 is reported was not seen
	// CachedNever: not even of a prompt that the cache served, concluded from the wait
	// for its first token (in Inferred). Not in Inferred it is CachedUnknown, as earlier
	// versions wrote that.
	CachedNever   = "never"
	CachedUnknown = "unknown" // a prompt was sent twice, and no count came: not reported, or none was served and 0 is left out
)

// When a stream's role-only first chunk comes (Capabilities.RoleChunk).
const (
	RoleBefore = "before_prefill"
	RoleWith   = "with_first_token"
)

// NoteNotEntry begins the note of a header (Header.Notes) that a worker of a
// disaggregated service was addressed.
const NoteNotEntry = "this is not the unified entry"

// What was addressed (Capabilities.Entry).
const (
	EntryUnified = "unified" // prefill and decode behind one address
	EntryPrefill = "prefill" // a prefill worker of a disaggregated service
	EntryDecode  = "decode"  // a decode worker of one
	EntryWorker  = "worker"  // one of the two; which is not known
)

// Step is one step of finding out what a server is and can report, whatever its
// verdict: before the load, or of a probe by itself.
type Step struct {
	Type    string     `json:"type"`       // "step"
	Name    string     `json:"name"`       // "resolve", "connect", "tls", "models", "engine" …; of requests what they try
	T       Opt[int64] `json:"t,omitzero"` // it began; absent: it took no time of its own
	Took    Opt[int64] `json:"took_ns,omitzero"`
	Result  string     `json:"result"`            // StepOK, StepFailed, StepNone
	Seen    string     `json:"seen,omitempty"`    // what was seen, for people; bounded in length, secrets masked
	Do      string     `json:"do,omitempty"`      // what mends it
	URL     string     `json:"url,omitempty"`     // secrets masked
	Status  Opt[int64] `json:"status,omitzero"`   // of the answer
	Headers []string   `json:"headers,omitempty"` // "Name: value" of the answer, those worth showing; secrets masked
	Request Opt[int64] `json:"request,omitzero"`  // seq of the probe request that it is about
	Part    Opt[int64] `json:"part,omitzero"`     // as of a request
}

// The verdicts of a Step.
const (
	StepOK     = "ok"
	StepFailed = "failed"
	StepNone   = "not_observed" // it was not tried, or told nothing
)

// Phase says what a request was for. Only PhaseMeasure enters statistics.
type Phase string

// The phases of a run.
const (
	PhaseProbe   Phase = "probe"
	PhasePrepare Phase = "prepare"
	PhaseWarmup  Phase = "warmup"
	PhaseMeasure Phase = "measure"
	PhaseTail    Phase = "tail"
)

// PrepareSeq is the Seq of the first request of PhasePrepare: these are no rows of
// the plan, and count from beyond any.
const PrepareSeq = int64(1) << 40

// ProbeSeq is the same of PhaseProbe.
const ProbeSeq = int64(1) << 41

// Outcome is the class of a request's end. Only OutcomeOK enters latency and
// token statistics.
type Outcome string

// The outcome classes; docs and exit codes use these words.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeStatus    Outcome = "http_status"
	OutcomeConnect   Outcome = "connect"
	OutcomeTimeout   Outcome = "timeout" // Cause names the limit: connect, first_token, idle, total
	OutcomeReset     Outcome = "reset"
	OutcomeTruncated Outcome = "truncated_stream"
	OutcomeServer    Outcome = "server_error" // an error inside a 200
	OutcomeMalformed Outcome = "malformed_stream"
	OutcomeTooLarge  Outcome = "event_too_large"
	OutcomeNotStream Outcome = "not_a_stream"
	OutcomeRedirect  Outcome = "redirect"
	OutcomeEmpty     Outcome = "empty_response"
	OutcomeFiltered  Outcome = "filtered"
	OutcomeAborted   Outcome = "aborted"
	OutcomeCancelled Outcome = "cancelled" // by the user or by a stop rule; neither success nor failure
	OutcomeClient    Outcome = "client_limit"
	OutcomeUnknown   Outcome = "unknown"   // failed, and the tool that was imported from does not say how
	OutcomeAbandoned Outcome = "abandoned" // the load asked for it: the client closed the stream in the middle; Cause names the rule
)

// Ref names a row of the dataset; prompts themselves are never on the tape.
type Ref struct {
	Row    int64  `json:"row"`    // 0-based
	Offset int64  `json:"offset"` // bytes from the start of the file
	SHA256 string `json:"sha256,omitempty"`
	Data   int64  `json:"dataset,omitempty"` // index into the header's datasets, when there are several
}

// Failed reports an end that counts as a failure: not ok, and neither cut short
// by the user or a stop rule nor abandoned as the load asked.
func (o Outcome) Failed() bool {
	return o != OutcomeOK && o != OutcomeCancelled && o != OutcomeAbandoned
}

// Request is one request with all its stamps and events. Times (t_…) are
// nanoseconds since the run's epoch; a stamp that never happened is absent.
// Stamps and token facts are those of the last attempt, except TReleased, which
// is that of the first: latency spans all attempts.
type Request struct {
	Type    string      `json:"type"`         // "request"
	Seq     int64       `json:"seq"`          // row of the plan; PrepareSeq and up: of the preparation
	ID      string      `json:"id,omitempty"` // sent in a header (target.request_id_header), so that a server's log can be held beside the tape
	Phase   Phase       `json:"phase"`
	Worker  int         `json:"worker"`
	Part    Opt[int64]  `json:"part,omitzero"` // index into merged.parts; absent on a tape that is not merged
	Session Opt[string] `json:"session,omitzero"`
	Turn    int         `json:"turn"`
	Ref     Ref         `json:"ref"`

	// TDue is the planned send: of a later turn of a session the end of its
	// pause, else absent in a closed loop. TReady is when the
	// load rules first allowed the send: the due time, or the moment a slot (or
	// the session) became free, whichever is later. slot wait = t_ready − t_due;
	// pacer lag = t_wrote_first − t_ready.
	TDue      Opt[int64] `json:"t_due,omitzero"`
	TReady    Opt[int64] `json:"t_ready,omitzero"`
	TReleased Opt[int64] `json:"t_released,omitzero"`
	TConn     Opt[int64] `json:"t_conn,omitzero"`
	Conn      *Conn      `json:"conn,omitempty"`
	URL       Opt[int64] `json:"url,omitzero"` // index into server.urls; absent when there is one URL

	TWroteFirst   Opt[int64] `json:"t_wrote_first,omitzero"`
	TWrote        Opt[int64] `json:"t_wrote,omitzero"`
	THeaders      Opt[int64] `json:"t_headers,omitzero"`
	TFirstEvent   Opt[int64] `json:"t_first_event,omitzero"`
	TFirstToken   Opt[int64] `json:"t_first_token,omitzero"`
	TFirstVisible Opt[int64] `json:"t_first_visible,omitzero"`
	TLastToken    Opt[int64] `json:"t_last_token,omitzero"`
	TEnd          Opt[int64] `json:"t_end,omitzero"`

	Events Events `json:"events,omitzero"`
	Asked  Asked  `json:"asked,omitzero"`
	Tokens Tokens `json:"tokens,omitzero"`

	// StepsAccepting counts verify steps of speculation by the drafts that they
	// accepted: entry j those that accepted exactly j. As the server told it.
	StepsAccepting []int64 `json:"steps_accepting,omitempty"`

	Bytes Bytes `json:"bytes"`
	HTTP  HTTP  `json:"http,omitzero"`

	// RetryAfter is how long the answer asked to wait before another request
	// (Retry-After), counted from the answer.
	RetryAfter Opt[int64] `json:"retry_after_ns,omitzero"`

	// Engine is what the server says about its own work, by name and with the
	// unit in the name: prompt_ms, total_duration_ns. No metric is made of it.
	Engine map[string]float64 `json:"engine,omitempty"`

	// Model is the one that the reply named, the last one if it named several; empty:
	// the one that was asked for; absent: it named none.
	Model Opt[string] `json:"model,omitzero"`

	Finish     string    `json:"finish,omitempty"` // verbatim; empty: none seen
	Outcome    Outcome   `json:"outcome"`
	Cause      string    `json:"cause,omitempty"`
	Message    string    `json:"message,omitempty"` // bounded, secrets masked
	Flags      []string  `json:"flags,omitempty"`   // not_streamed, no_done, buffered, retry_cut …
	Attempts   int       `json:"attempts"`
	AttemptLog []Attempt `json:"attempt_log,omitempty"` // the attempts before the last
	Output     *Output   `json:"output,omitempty"`
	Src        *Src      `json:"src,omitempty"` // of an imported request
}

// Src holds an imported request's own numbers, verbatim: rounding them to
// nanoseconds would change what the tool printed of them.
type Src struct {
	// T are the tool's time points in seconds on a clock of its own. Of AISBench:
	// the start, then one for each event, or for a whole answer its end.
	T []float64 `json:"t"`
}

// Conn is the connection that carried the request. ID 0 (they count from 1) says
// that there is none: dialling Remote failed. The durations are those of making
// the connection, and absent when it was reused.
type Conn struct {
	ID     int64      `json:"id"`
	Reused bool       `json:"reused"`
	Remote string     `json:"remote,omitempty"`
	DNS    Opt[int64] `json:"dns_ns,omitzero"`  // looking the name up; absent when that was not needed
	Dial   Opt[int64] `json:"dial_ns,omitzero"` // connecting, through a proxy its CONNECT included
	TLS    Opt[int64] `json:"tls_ns,omitzero"`  // the handshake
}

// Letters of Events.Kind.
const (
	KindRole      = 'r' // role-only or empty delta
	KindContent   = 'c'
	KindReasoning = 's'
	KindTool      = 't'
	KindRefusal   = 'x'
	KindHidden    = 'h' // no text, but the server's running count grew: tokens hidden by a parser
	KindFinish    = 'f'
	KindUsage     = 'u'
	KindError     = 'e'
	KindDone      = 'd' // [DONE]
	KindOther     = 'o'
)

// IsToken reports whether an event of this kind carries generated output.
func IsToken(kind byte) bool {
	switch kind {
	case KindContent, KindReasoning, KindTool, KindRefusal, KindHidden:
		return true
	}
	return false
}

// Events is the stream as it arrived, one entry an event. DT[i] is the gap in
// nanoseconds to the event before (the first: to t_wrote_first; see EventsFrom). Kind is
// run-length coded, letters separated by spaces: "r c3 f u d". Tok holds the
// server's running output-token counts where it sent them (−1: none with that
// event) and is nil when it sent none; Choice is nil when all are choice 0.
type Events struct {
	DT     []int64 `json:"dt,omitempty"`
	Kind   string  `json:"kind,omitempty"`
	Tok    []int64 `json:"tok,omitempty"`
	Choice []int32 `json:"choice,omitempty"`
}

// IsZero reports that no event came.
func (e Events) IsZero() bool { return len(e.DT) == 0 }

// Asked is what the request demanded.
type Asked struct {
	Output Opt[int64] `json:"output,omitzero"` // max_tokens
	Input  Opt[int64] `json:"input,omitzero"`  // tokens of the prompt, counted by the model's tokenizer over the text that its chat template makes
	Cached Opt[int64] `json:"cached,omitzero"` // of these, tokens that the server's prefix cache was expected to have
	Group  string     `json:"group,omitempty"` // of prompts that begin alike: GroupManifest or GroupSystem and what names it there; "": none is known
}

// How Asked.Group begins: who says that prompts begin alike.
const (
	GroupManifest = "manifest:" // of a built set, and its number there: "manifest:3"; of dataset K of several "manifest:K/3"
	GroupSystem   = "system:"   // the prompts have the same system message; the first 8 bytes of its SHA-256, hex
)

// Token count sources.
const (
	SourceUsage     = "usage"     // the server's usage object
	SourceEngine    = "engine"    // counters of the engine's own fields
	SourceTokenizer = "tokenizer" // the model's tokenizer over the text
	SourceEvents    = "events"    // number of token events
	SourceTool      = "tool"      // the tool that was imported from, which does not say who counted
)

// Tokens are the counts of one request; what the server did not report is absent.
type Tokens struct {
	Input        Opt[int64] `json:"input,omitzero"`
	InputSource  string     `json:"input_source,omitempty"`
	Output       Opt[int64] `json:"output,omitzero"`
	OutputSource string     `json:"output_source,omitempty"`
	Recount      Opt[int64] `json:"recount,omitzero"` // the model's tokenizer over the generated text, beside the server's output count and never in its place
	Cached       Opt[int64] `json:"cached,omitzero"`
	Reasoning    Opt[int64] `json:"reasoning,omitzero"`
	Accepted     Opt[int64] `json:"accepted,omitzero"`
	Rejected     Opt[int64] `json:"rejected,omitzero"`
	Verify       Opt[int64] `json:"verify,omitzero"`
	Drafted      Opt[int64] `json:"drafted,omitzero"` // proposed drafts, where the server counts those; rejected is then drafted − accepted

	// Where the cached tokens lay, as the server splits them.
	CachedDevice  Opt[int64] `json:"cached_device,omitzero"`
	CachedHost    Opt[int64] `json:"cached_host,omitzero"`
	CachedStorage Opt[int64] `json:"cached_storage,omitzero"`
	CachedBackend string     `json:"cached_backend,omitempty"` // what that storage is, verbatim
	// Unread are counts that came and are no whole number from 0 to below 2^53, so that none
	// was taken: "cached=-3 output=2.5", by the names above, as they came; bounded.
	Unread string `json:"unread,omitempty"`
}

// Bytes counts what went over the wire.
type Bytes struct {
	Sent  int64 `json:"sent"` // request body
	Body  int64 `json:"body"` // response body as decoded from its transfer and content coding
	Reads int64 `json:"reads"`
}

// HTTP is the response line.
type HTTP struct {
	Status int    `json:"status,omitempty"`
	Proto  string `json:"proto,omitempty"`
}

// Attempt is an attempt that was followed by another.
type Attempt struct {
	TReleased Opt[int64] `json:"t_released,omitzero"`
	TEnd      Opt[int64] `json:"t_end,omitzero"`
	Status    int        `json:"status,omitempty"`
	Outcome   Outcome    `json:"outcome"`
	Cause     string     `json:"cause,omitempty"`
	Message   string     `json:"message,omitempty"`

	RetryAfter Opt[int64] `json:"retry_after_ns,omitzero"` // as of a request
	Wait       int64      `json:"wait_ns"`                 // from its end to the release of the next attempt
}

// Output is the generated text, as record.output asked: its hash, or the text.
type Output struct {
	SHA256    string `json:"sha256,omitempty"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Tools     string `json:"tools,omitempty"` // the tool calls, a line each: name and arguments, joined from their pieces
}

// ClientSample is the client's own health over the interval that ends at T.
type ClientSample struct {
	Type      string       `json:"type"` // "client"
	T         int64        `json:"t"`
	CPU       float64      `json:"cpu"` // cores used by this process over the interval
	GCPause   int64        `json:"gc_pause_ns"`
	SchedP99  int64        `json:"sched_p99_ns"` // goroutine scheduling latency
	RSS       int64        `json:"rss"`
	InFlight  int64        `json:"inflight"`
	Queue     int64        `json:"queue"` // records waiting for the tape
	PacerP99  Opt[int64]   `json:"pacer_lag_p99_ns,omitzero"`
	HostBusy  Opt[float64] `json:"host_cpu,omitzero"` // cores busy on the whole host
	Goroutine int64        `json:"goroutines,omitempty"`
	Part      Opt[int64]   `json:"part,omitzero"` // as of a request

	Wait     *ClientWait `json:"wait,omitempty"`        // absent: not observed, or nothing was read
	RunDelay Opt[int64]  `json:"run_delay_ns,omitzero"` // sum over the process's threads of the time that they were ready and had no processor
}

// Scrape is one reading of a server's metrics page. Most readings hold only what
// changed; Readings puts whole ones together again.
type Scrape struct {
	Type   string             `json:"type"` // "scrape"
	T      int64              `json:"t"`    // the reading was begun
	Source string             `json:"source"`
	OK     bool               `json:"ok"`
	Cause  string             `json:"cause,omitempty"` // why not, as a class: ScrapeConnect and its kin
	Error  string             `json:"error,omitempty"` // why not, for people
	Status int                `json:"status,omitempty"`
	Series map[string]float64 `json:"series,omitempty"`
	Part   Opt[int64]         `json:"part,omitzero"` // as of a request

	Role      string            `json:"role,omitempty"` // as the specification gives it
	Kind      string            `json:"kind,omitempty"` // what publishes the page: "sglang", "vllm", …
	Types     map[string]string `json:"types,omitempty"`
	Nr        int64             `json:"nr,omitempty"`  // of the source's readings that were OK, from 1
	Same      Opt[int64]        `json:"same,omitzero"` // series as in reading Nr−1; absent: Series is whole
	Gone      []string          `json:"gone,omitempty"`
	Left      int64             `json:"left,omitempty"`       // series of the page that are not kept
	NotFinite int64             `json:"not_finite,omitempty"` // kept series without a finite value now
	Repeated  int64             `json:"repeated,omitempty"`   // lines of a kept series that stood there before
	Missed    int64             `json:"missed,omitempty"`     // ticks without a reading since the one before
	Took      Opt[int64]        `json:"took_ns,omitzero"`     // from T until the page was there or had failed
	Parse     Opt[int64]        `json:"parse_ns,omitzero"`    // and then until it was understood
	Bytes     Opt[int64]        `json:"bytes,omitzero"`       // of the page
}

// Values of Scrape.Cause.
const (
	ScrapeConnect  = "connect"   // no connection, or it broke
	ScrapeTimeout  = "timeout"   // no answer in time
	ScrapeAuth     = "auth"      // status 401 or 403
	ScrapeStatus   = "status"    // another status than 200
	ScrapeTooLarge = "too_large" // more than a page may have
	ScrapeCoding   = "coding"    // compressed, though identity was asked for
	ScrapeBroken   = "broken"    // not the format
	ScrapeEmpty    = "empty"     // no series at all
)

// When the facts of a ServerFacts were asked for.
const (
	FactsBefore = "before" // the first request
	FactsAfter  = "after"  // the last one had ended
)

// ServerFacts is what a server says about itself, by GETs alone: once before the
// load and once after it, so that what changed in mid-run can be seen.
type ServerFacts struct {
	Type    string            `json:"type"` // "server"
	When    string            `json:"when"` // FactsBefore, FactsAfter
	T       int64             `json:"t"`    // it was asked, ns since the epoch
	URL     string            `json:"url"`  // root of the server, secrets masked
	OK      bool              `json:"ok"`   // some endpoint answered
	Engine  string            `json:"engine,omitempty"`
	Version string            `json:"version,omitempty"`
	Models  []string          `json:"models,omitempty"`   // ids of its list
	Facts   map[string]string `json:"facts,omitempty"`    // by endpoint and path: "/get_server_info tp_size"; values bounded, secrets masked
	Moving  []string          `json:"volatile,omitempty"` // names of facts that change by themselves, and are not kept
	Left    int64             `json:"left,omitempty"`     // further facts that were not kept
	Failed  map[string]string `json:"failed,omitempty"`   // endpoints that did not answer, and how; of those that answered before alone
	Part    Opt[int64]        `json:"part,omitzero"`      // as of a request
}

// Call is a request beside the load that asks for no generation, such as one that
// empties the server's cache.
type Call struct {
	Type    string     `json:"type"` // "call"
	What    string     `json:"what"` // CallFlush
	Phase   Phase      `json:"phase"`
	Method  string     `json:"method"`
	URL     string     `json:"url"` // secrets masked
	T       int64      `json:"t"`   // it began
	TEnd    int64      `json:"t_end"`
	Status  Opt[int64] `json:"status,omitzero"`
	OK      bool       `json:"ok"`                // it did what it was for
	Message string     `json:"message,omitempty"` // why not; bounded, secrets masked
	Part    Opt[int64] `json:"part,omitzero"`     // as of a request
}

// CallFlush is the Call that empties the prefix cache (prepare.flush).
const CallFlush = "flush"

// Stop reasons of a run.
const (
	ReasonCompleted   = "completed"   // every planned row was issued and ended
	ReasonDuration    = "duration"    // load.duration ended the issuing
	ReasonInterrupted = "interrupted" // the user
	ReasonRefused     = "refused"     // the first request was refused: configuration
	ReasonWarmup      = "warmup"      // every warm-up request failed
	ReasonRecorder    = "recorder"    // the tape could not keep up
	ReasonDisk        = "disk"        // writing the tape failed
	ReasonInternal    = "internal"    // a fault of ours
	ReasonDataset     = "dataset"     // a row could not be read or encoded in mid-run
	ReasonRows        = "rows"        // the dataset's rows ran out before load.duration
	ReasonPrepare     = "prepare"     // preparation failed: the cache is not in the state that was asked for
	ReasonProbe       = "probe"       // a probe failed: before the load, or by itself
	ReasonAbort       = "abort"       // too many requests failed: limits.abort
	ReasonEnough      = "enough"      // what was measured is as exact as was asked for
	ReasonMerged      = "merged"      // the parts of a merged tape ended for different reasons
	ReasonImported    = "imported"    // the tape was made of another tool's results, which do not say why they end
)

// Footer is the last line; a tape without one is incomplete. Counts are of the
// measured phase: Planned = OK + ΣFailed + Cancelled + Abandoned + NotIssued.
// Preparation counts all requests of other phases: Warmup and Tail of them are of
// the phases of that name, the others prepared or probed. Warmup and Tail are
// absent in tapes of before they were counted apart.
type Footer struct {
	Type        string           `json:"type"` // "footer"
	Reason      string           `json:"reason"`
	Message     string           `json:"message,omitempty"`
	Planned     int64            `json:"planned"`
	OK          int64            `json:"ok"`
	Failed      map[string]int64 `json:"failed"`
	Cancelled   int64            `json:"cancelled"`
	Abandoned   int64            `json:"abandoned,omitempty"`
	NotIssued   int64            `json:"not_issued"`
	Preparation int64            `json:"preparation"`
	Warmup      Opt[int64]       `json:"warmup,omitzero"`
	Tail        Opt[int64]       `json:"tail,omitzero"`
	TEnd        int64            `json:"t_end"`
	SHA256      string           `json:"sha256"` // of all lines before, newlines included
}
