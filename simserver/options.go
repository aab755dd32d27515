package simserver

import (
	"fmt"
	"io"
	"slices"
	"time"

	"tokentape/internal/sim"
)

// Role says when a chat stream's role-only chunk is sent.
type Role string

// The values of Options.RoleChunk.
const (
	RoleToken Role = "token" // together with the first token, as SGLang
	RoleEarly Role = "early" // with the headers, before prefill: a trap for a TTFT taken at the first event
	RoleNone  Role = "none"
)

// CacheReport says when usage tells cached tokens.
type CacheReport string

// The values of Options.CacheReport.
const (
	CacheReportAboveZero CacheReport = "above-zero" // left out at 0, as SGLang's OpenAI routes with --enable-cache-report
	CacheReportOn        CacheReport = "on"         // at 0 too
	CacheReportOff       CacheReport = "off"        // never
)

// Options are all knobs. The zero value is not useful: begin with Defaults or
// Instant. Durations are 0 or more.
type Options struct {
	Model       string `json:"model"`        // the served id
	CheckModel  bool   `json:"check_model"`  // 404 for another id, as vLLM; SGLang accepts any
	APIKey      string `json:"api_key"`      // "": none asked for
	Context     int64  `json:"context"`      // most tokens of prompt and answer together
	Version     string `json:"version"`      // told by /get_server_info
	EarlyHeader bool   `json:"early_header"` // headers go out on arrival, not with the first chunk

	Slots           int           `json:"slots"`                // requests in prefill or decode at once
	PrefillFixed    time.Duration `json:"prefill_fixed_ns"`     // of every prefill step
	PrefillPerToken time.Duration `json:"prefill_per_token_ns"` // of every uncached prompt token
	DecodeBase      time.Duration `json:"decode_base_ns"`       // of every decode step
	DecodePerSeq    time.Duration `json:"decode_per_seq_ns"`    // of every request in a decode step
	ChunkTokens     int           `json:"chunk_tokens"`         // prompt tokens a mixed step; 0: prefill alone, whole prompts
	Disaggregated   bool          `json:"disaggregated"`        // prefill and decode do not disturb each other
	Worker          Node          `json:"worker"`               // what is addressed is a worker of a disaggregated service, which takes no request but its router's; "": the entry

	Cache      bool `json:"cache"`       // prefix cache on
	PageSize   int  `json:"page_size"`   // tokens a page
	CachePages int  `json:"cache_pages"` // capacity
	// A hierarchical cache: what falls out of CachePages goes to the host's pages, then
	// to storage. Cached tokens are then split by tier where that is asked.
	HostPages    int         `json:"host_pages"`
	StoragePages int         `json:"storage_pages"`
	CacheReport  CacheReport `json:"cache_report"` // cached_tokens in usage; /generate, which has no such switch, always tells them

	OutputMean float64 `json:"output_mean"` // mean answer in tokens where ignore_eos is not set
	OutputCV   float64 `json:"output_cv"`   // coefficient of variation of the log-normal length; 0: always the mean

	TokensPerEvent int     `json:"tokens_per_event"` // most tokens a decode step yields (speculation when > 1)
	AcceptRate     float64 `json:"accept_rate"`      // chance that a drafted token is accepted, 0..1
	CopyAcceptRate float64 `json:"copy_accept_rate"` // the same where the prompt asks for a copy "word for word"; 0: as AcceptRate
	SpecUsage      bool    `json:"spec_usage"`       // accepted and rejected tokens, in completion_tokens_details and in SGLang's own fields
	SpecVerify     bool    `json:"spec_verify"`      // verify steps, in SGLang's own fields

	RoleChunk   Role `json:"role_chunk"`
	Incremental bool `json:"incremental"` // /generate streams only what is new (SGLang: --incremental-streaming-output)

	Seed    uint64        `json:"seed"`     // of lengths, words, acceptance and faults
	Faults  []Fault       `json:"faults"`   // by their shares; at most one a request
	FaultAt map[int]Fault `json:"fault_at"` // by number of the generation request, from 0; wins over Faults

	Nodes         map[Node]string `json:"nodes"`          // addresses of metrics pages: of prefill and decode servers, so that the entry has none, and of exporters of their devices (npu, dcgm)
	MetricsFaults []MetricsFault  `json:"metrics_faults"` // of metrics pages

	Scripts []Script `json:"scripts"` // timelines that answer every generation request instead of the engine

	OnTruth func(Truth) `json:"-"` // called once a generation request, from its goroutine, before the response ends
	Trace   io.Writer   `json:"-"` // gets each Truth as a JSON line, unbuffered; writes are serialised
	Keep    int         `json:"-"` // newest truths that Server.Trace returns
}

// Defaults resemble a small model on one accelerator: TTFT some tens of
// milliseconds, 10 ms a token alone, more in company.
func Defaults() Options {
	return Options{
		Model: "sim-7b", Context: 32768, Version: "0.5.2",
		Slots: 64, PrefillFixed: 5 * time.Millisecond, PrefillPerToken: 50 * time.Microsecond,
		DecodeBase: 10 * time.Millisecond, DecodePerSeq: 50 * time.Microsecond,
		Cache: true, PageSize: 16, CachePages: 16384, CacheReport: CacheReportAboveZero,
		OutputMean: 128, OutputCV: 0.5, TokensPerEvent: 1, AcceptRate: 1, SpecVerify: true,
		RoleChunk: RoleToken, Seed: 1, Keep: 10000,
	}
}

// Instant answers at once: all costs are 0 and slots plenty.
func Instant() Options {
	o := Defaults()
	o.Slots = 1 << 16
	o.PrefillFixed, o.PrefillPerToken, o.DecodeBase, o.DecodePerSeq = 0, 0, 0, 0
	o.OutputMean, o.OutputCV = 16, 0
	return o
}

// Profiles are the presets by name: "sglang" and "instant".
var Profiles = map[string]func() Options{"sglang": Defaults, "instant": Instant}

func (o *Options) engine() sim.Config {
	return sim.Config{
		Slots: o.Slots, PrefillFixed: int64(o.PrefillFixed), PrefillPerToken: int64(o.PrefillPerToken),
		DecodeBase: int64(o.DecodeBase), DecodePerSeq: int64(o.DecodePerSeq),
		ChunkTokens: o.ChunkTokens, Disaggregated: o.Disaggregated,
		Cache: o.Cache, PageSize: o.PageSize, CachePages: o.CachePages, HostPages: o.HostPages, StoragePages: o.StoragePages,
		OutputMean: o.OutputMean, OutputCV: o.OutputCV,
		TokensPerEvent: o.TokensPerEvent, AcceptRate: o.AcceptRate, Seed: o.Seed,
	}
}

// Validate names the first option that is out of range.
func (o *Options) Validate() error {
	c := o.engine()
	if err := c.Validate(); err != nil {
		return err
	}
	switch {
	case !(o.CopyAcceptRate >= 0 && o.CopyAcceptRate <= 1):
		return fmt.Errorf("simulated server: CopyAcceptRate must be from 0 to 1")
	case o.Worker != "" && o.Worker != NodePrefill && o.Worker != NodeDecode:
		return fmt.Errorf("simulated server: Worker must be empty, %q or %q, not %q", NodePrefill, NodeDecode, o.Worker)
	case o.Model == "":
		return fmt.Errorf("simulated server: Model must not be empty")
	case o.Context < 2:
		return fmt.Errorf("simulated server: Context must be at least 2 tokens")
	case o.CacheReport != CacheReportOn && o.CacheReport != CacheReportAboveZero && o.CacheReport != CacheReportOff:
		return fmt.Errorf("simulated server: CacheReport must be %q, %q or %q, not %q", CacheReportOn, CacheReportAboveZero, CacheReportOff, o.CacheReport)
	case o.RoleChunk != RoleToken && o.RoleChunk != RoleEarly && o.RoleChunk != RoleNone:
		return fmt.Errorf("simulated server: RoleChunk must be %q, %q or %q, not %q", RoleToken, RoleEarly, RoleNone, o.RoleChunk)
	}
	sum := 0.0
	for i, f := range o.Faults {
		if err := f.validate(); err != nil {
			return fmt.Errorf("simulated server: fault %d: %w", i+1, err)
		}
		sum += f.Share
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("simulated server: the shares of the faults add up to %g, more than 1", sum)
	}
	for n, f := range o.FaultAt {
		if err := f.validate(); err != nil {
			return fmt.Errorf("simulated server: fault at request %d: %w", n, err)
		}
	}
	for node := range o.Nodes {
		if !slices.Contains(nodes, node) {
			return fmt.Errorf("simulated server: a node must be one of %v, not %q", nodes, node)
		}
	}
	if o.paired() && !o.Disaggregated {
		return fmt.Errorf("simulated server: nodes prefill and decode need Disaggregated")
	}
	for i := range o.MetricsFaults {
		if err := o.MetricsFaults[i].validate(); err != nil {
			return fmt.Errorf("simulated server: metrics fault %d: %w", i+1, err)
		}
	}
	if len(o.Scripts) > 0 {
		if len(o.Faults)+len(o.FaultAt) > 0 {
			return fmt.Errorf("simulated server: a script says all of an answer: faults and scripts cannot go together")
		}
		if _, err := o.rotation(); err != nil {
			return fmt.Errorf("simulated server: %w", err)
		}
	}
	return nil
}
