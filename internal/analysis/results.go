package analysis

import "tokentape/tape"

// Schema names the format of results.json.
const Schema = "tokentape.results/1"

// Results are the numbers of one run. Field names carry their units and are
// frozen; later versions only add.
type Results struct {
	Schema     string   `json:"schema"`
	Run        string   `json:"run"`
	Name       string   `json:"name,omitempty"`
	TapeSHA256 string   `json:"tape_sha256"` // of the tape's lines as stored, decompressed
	Verdict    Verdict  `json:"verdict"`
	Counts     Counts   `json:"counts"`
	Load       Load     `json:"load"`
	Windows    []Window `json:"windows"`
	// Differences say why each window shows other numbers than the one before it.
	Differences []Difference  `json:"differences,omitempty"`
	Wave        *Wave         `json:"startup_wave,omitempty"`
	Notes       []string      `json:"notes,omitempty"`
	Expect      []Expectation `json:"expect,omitempty"`  // conditions of the spec, then those asked for beside it
	Remotes     []Remote      `json:"remotes,omitempty"` // by address, when the tape names any
	Parts       []Part        `json:"parts,omitempty"`   // of a merged tape
	Calls       []Call        `json:"calls,omitempty"`   // beside the load, such as the flush of a cache
	As          []AsTable     `json:"as,omitempty"`      // under the definitions of other tools, those of Options.As
	Server      *Server       `json:"server,omitempty"`  // its metrics pages
	Cache       *Cache        `json:"cache,omitempty"`   // of the server's prefix cache
	Speculation *Speculation  `json:"speculation,omitempty"`
	Probe       *Probe        `json:"probe,omitempty"` // how the server was looked at before the load, or without one
	About       About         `json:"about"`
	// Provenance is for a page of its own; the tape has it, and so results.json does not.
	Provenance *Provenance `json:"-"`

	// Imported names the tool whose results were made the tape, "" of a run of our own;
	// results.json says so among its notes.
	Imported string `json:"-"`

	// Rows are the derived values per request, in plan order; never in
	// results.json.
	Rows Rows `json:"-"`
	// Charts are those of Options.Charts; never in results.json.
	Charts *Charts `json:"-"`
}

// About repeats the facts of the tape's header that a view shows beside the
// numbers.
type About struct {
	Started    string   `json:"started"` // RFC 3339, UTC, the run's t = 0
	URL        string   `json:"url"`
	API        string   `json:"api"`
	Model      string   `json:"model"`
	Engine     string   `json:"engine,omitempty"`
	Version    string   `json:"version,omitempty"`
	Dataset    string   `json:"dataset"`
	DataSHA256 string   `json:"dataset_sha256"`
	DataRows   int64    `json:"dataset_rows"`
	PlanSHA256 string   `json:"plan_sha256"`
	Tool       string   `json:"tool"`
	Host       string   `json:"host"`
	Devices    int64    `json:"devices,omitempty"`
	Prefill    int64    `json:"prefill_devices,omitempty"`
	Decode     int64    `json:"decode_devices,omitempty"`
	Price      string   `json:"price,omitempty"` // how the price of an hour is made up
	Stop       string   `json:"stop"`            // named stop reason, "incomplete" without a footer
	StopWhy    string   `json:"stop_why,omitempty"`
	Faults     []string `json:"tape_faults,omitempty"` // torn or skipped lines
}

// Call is a request beside the load that asks for no generation.
type Call struct {
	What    string  `json:"what"` // "flush"
	URL     string  `json:"url"`
	TS      float64 `json:"t_s"` // seconds from the run's t = 0 to its beginning
	MS      float64 `json:"duration_ms"`
	Status  *int64  `json:"http_status"`
	OK      bool    `json:"ok"`
	Message string  `json:"message,omitempty"`
}

// Verdict is the first line of a report: is this run fit for use?
type Verdict struct {
	Fit    bool    `json:"fit"`
	Line   string  `json:"line"`
	Checks []Check `json:"checks"`
}

// Severities and results of a Check.
const (
	SeverityFail = "fail"
	SeverityNote = "note"

	ResultPass = "pass"
	ResultMiss = "miss"
	ResultNone = "not_observed" // there was nothing to judge by
)

// ClassStatus is the class of Counts.ByClass that Counts.ByStatus splits.
const ClassStatus = string(tape.OutcomeStatus)

// CheckFailures is the name of the check that has an exit code of its own.
const CheckFailures = "failures"

// Check is one named test of the run.
type Check struct {
	Name     string   `json:"name"`
	Severity string   `json:"severity"`
	Result   string   `json:"result"`
	Value    *float64 `json:"value"`
	Limit    *float64 `json:"limit"`
	Unit     string   `json:"unit,omitempty"`
	Why      string   `json:"why"`
	Do       string   `json:"do"`
}

// Counts are requests of the measured phase: planned = ok + failed + cancelled
// + abandoned + not issued.
type Counts struct {
	Planned   int64 `json:"planned"`
	Issued    int64 `json:"issued"`
	OK        int64 `json:"ok"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	Abandoned int64 `json:"abandoned"` // closed in the middle because the load asked for it
	NotIssued int64 `json:"not_issued"`
	// Unrecorded are planned requests of a tape without a footer that have no
	// line: in flight when it ended, or never sent. Which, nobody knows.
	Unrecorded  int64            `json:"unrecorded"`
	Preparation int64            `json:"preparation"` // warm-up, prepare, probe and tail requests
	Warmup      int64            `json:"warmup"`      // of these, of the warm-up
	Tail        int64            `json:"tail"`        // and of the tail
	ByClass     map[string]int64 `json:"by_class"`
	// ByStatus splits http_status of ByClass by the status code: "429", "503".
	ByStatus map[string]int64 `json:"by_status,omitempty"`
	// Attempts counts all sends of measured requests.
	Attempts int64 `json:"attempts"`
	// Retried counts measured requests that were sent more than once, RetryWaitS
	// the seconds that they waited for further attempts.
	Retried    int64   `json:"retried"`
	RetryWaitS float64 `json:"retry_wait_s"`
	// LostOutputTokens are tokens that failed or cancelled requests delivered.
	LostOutputTokens int64 `json:"lost_output_tokens"`
	// AbandonedOutputTokens are tokens that abandoned requests delivered.
	AbandonedOutputTokens int64 `json:"abandoned_output_tokens"`
	// Examples holds one message per class.
	Examples map[string]string `json:"examples,omitempty"`
	// StatusExamples holds one message per status code of ByStatus.
	StatusExamples map[string]string `json:"status_examples,omitempty"`
	Finish         map[string]int64  `json:"finish"` // finish reasons of ok requests
	// Flags counts what ok requests were flagged with on the tape: not_streamed,
	// no_done, compressed, refusal, buffered … A request can have several.
	Flags map[string]int64 `json:"flags,omitempty"`
}

// Load says what was offered and what happened, over the measured phase.
type Load struct {
	Loop              string   `json:"loop"` // "closed", "open", "partly open"
	Requests          int64    `json:"requests"`
	Concurrency       int64    `json:"concurrency"` // 0: no cap
	RateAsked         *float64 `json:"rate_asked_per_s"`
	RatePlanned       *float64 `json:"rate_planned_per_s"`  // (N−1) ÷ (last due − first due)
	RateAchieved      *float64 `json:"rate_achieved_per_s"` // the same over actual sends (wrote_first)
	SlotWaitShare     *float64 `json:"slot_wait_share"`     // share of requests that waited for a slot
	SlotWaitMeanMS    *float64 `json:"slot_wait_mean_ms"`   // over those that waited
	SlotWaitMaxMS     *float64 `json:"slot_wait_max_ms"`
	PacerLagP50MS     *float64 `json:"pacer_lag_p50_ms"`
	PacerLagP99MS     *float64 `json:"pacer_lag_p99_ms"`
	PacerLagMaxMS     *float64 `json:"pacer_lag_max_ms"`
	SendLagP99MS      *float64 `json:"send_lag_p99_ms"`
	SendLagMaxMS      *float64 `json:"send_lag_max_ms"`
	Late              *int64   `json:"late"` // rows sent more than 1 ms after due; absent in a closed loop
	ConcurrencyMean   *float64 `json:"concurrency_mean"`
	ConcurrencyPeak   *int64   `json:"concurrency_peak"`
	NewConnections    *int64   `json:"new_connections"` // absent where the tape knows no connection
	ReusedConnections *int64   `json:"reused_connections"`
	CPUMean           *float64 `json:"client_cpu_mean_cores"`
	CPUPeak           *float64 `json:"client_cpu_peak_cores"`
	SchedP99MS        *float64 `json:"client_sched_p99_ms"`
	GCPauseMS         *float64 `json:"client_gc_pause_ms"`  // sum over the run
	QueuePeak         *int64   `json:"recorder_queue_peak"` // absent without samples of the client
	// How long bytes lay in the kernel before a read, by its stamps; without them absent.
	ClientWaitP50MS *float64 `json:"client_wait_p50_ms,omitempty"`
	ClientWaitP99MS *float64 `json:"client_wait_p99_ms,omitempty"`
	ClientWaitMaxMS *float64 `json:"client_wait_max_ms,omitempty"`
	ClientWaitReads *int64   `json:"client_wait_reads,omitempty"` // that were looked at
	// RunDelay is how many of the client's threads, in the mean, were ready and had no processor.
	RunDelay *float64 `json:"client_run_delay_threads,omitempty"`
}

// Window is one table.
type Window struct {
	Kind        string              `json:"kind"` // "whole", "stable", "steady", or the text of a window that was asked for: "seconds:10..60"
	From        *float64            `json:"from_s"`
	To          *float64            `json:"to_s"`
	FromWall    string              `json:"from_wall,omitempty"` // the same by the client's wall clock, RFC 3339 in UTC, for cutting other systems' graphs
	ToWall      string              `json:"to_wall,omitempty"`
	Spans       []Stretch           `json:"spans,omitempty"` // of merged runs one after the other: what the window is the union of
	Requests    *int64              `json:"requests"`        // ok requests in the latency cohort; absent, as all below, of a window that does not exist
	Why         string              `json:"why"`             // how it was chosen, or why it does not exist
	LeftOut     string              `json:"left_out"`
	Warnings    []string            `json:"warnings"`
	Metrics     map[string]*Summary `json:"metrics"`
	MetricOrder []string            `json:"-"`
	System      System              `json:"system"`
	Facts       WindowFacts         `json:"facts"`
}

// Held is Requests, 0 of a window that does not exist.
func (w *Window) Held() int64 {
	if w.Requests == nil {
		return 0
	}
	return *w.Requests
}

// Stretch is one of several that a window is the union of; what lies between them is
// in no duration and no rate.
type Stretch struct {
	From     float64 `json:"from_s"`
	To       float64 `json:"to_s"`
	FromWall string  `json:"from_wall,omitempty"`
	ToWall   string  `json:"to_wall,omitempty"`
}

// WindowFacts are what sufficiency and stationarity are judged by.
type WindowFacts struct {
	ServiceTimes *float64 `json:"median_service_times"` // duration ÷ median E2E
	InFlightMean *float64 `json:"inflight_mean"`
	InFlightSD   *float64 `json:"inflight_sd"`
	ToLastTokenS *float64 `json:"to_last_token_s,omitempty"` // whole: first release to last token
	CachedRatio  *float64 `json:"cached_ratio"`              // Σ cached ÷ Σ input where both are known
	CachedN      *int64   `json:"cached_n"`                  // observed
	CachedInferN *int64   `json:"cached_inferred_n"`         // inferred zeros
	CachedNoneN  *int64   `json:"cached_not_observed_n"`     // neither
	// Σ asked.cached ÷ Σ input where both are known: what was planned, not observed.
	NominalCachedRatio *float64 `json:"nominal_cached_ratio,omitempty"`
	AcceptLength       *float64 `json:"accept_length,omitempty"`   // Σ output tokens ÷ Σ verify steps
	AcceptLenN         *int64   `json:"accept_length_n,omitempty"` // requests where both are known
	AcceptRate         *float64 `json:"accept_rate,omitempty"`     // Σ accepted ÷ Σ (accepted + rejected) drafts
	AcceptRateN        *int64   `json:"accept_rate_n,omitempty"`
	GoodShare          *float64 `json:"slo_good_share,omitempty"` // of issued requests of the window
	GoodPerS           *float64 `json:"slo_good_requests_per_s,omitempty"`
	GoodTokensPerS     *float64 `json:"slo_good_output_tokens_per_s,omitempty"`
	Goodput            *Goodput `json:"goodput,omitempty"` // with report.slo: the counts behind, intervals and each limit
}

// Summary is the distribution of one metric. With n = 0 all statistics are null.
type Summary struct {
	N        int64                  `json:"n"`
	NEff     *float64               `json:"n_eff"`
	Mean     *float64               `json:"mean"`
	SD       *float64               `json:"sd"`
	Min      *float64               `json:"min"`
	Max      *float64               `json:"max"`
	P50      *float64               `json:"p50"`
	P75      *float64               `json:"p75"`
	P90      *float64               `json:"p90"`
	P95      *float64               `json:"p95"`
	P99      *float64               `json:"p99"`
	P999     *float64               `json:"p999"`
	CI       map[string][2]*float64 `json:"ci,omitempty"` // 95 %: "mean", "p50", "p90" …
	Unit     string                 `json:"unit"`
	Source   string                 `json:"source"` // "stamps", "usage", "tokenizer" …
	Warnings []string               `json:"warnings"`
}

// System are rates of the whole service over the window.
type System struct {
	DurationS          *float64               `json:"duration_s"`
	RequestsPerS       *float64               `json:"requests_per_s"`
	OutputTokensPerS   *float64               `json:"output_tokens_per_s"`
	InputTokensPerS    *float64               `json:"input_tokens_per_s"`
	TotalTokensPerS    *float64               `json:"total_tokens_per_s"`
	ConcurrencyMean    *float64               `json:"concurrency_mean"`
	ConcurrencyPeak    *int64                 `json:"concurrency_peak"`
	PerDevices         map[string]*float64    `json:"per_devices,omitempty"` // "output_tokens_per_s_per_16_devices"
	Cost               map[string]*float64    `json:"cost,omitempty"`        // "cost_per_million_output_tokens" …, in the currency of About.Price
	Energy             map[string]*float64    `json:"energy,omitempty"`      // "joules_per_output_token" …
	CI                 map[string][2]*float64 `json:"ci,omitempty"`
	OutputTokensSource string                 `json:"output_tokens_source,omitempty"`
}

// Row are the derived values of one request. Absent is nil.
type Row struct {
	Seq                                        int64
	Part, PartSeq                              *int64 // of a merged tape: which part, and Seq there
	Phase, Outcome, Cause, Message, Finish     string
	Session                                    string // "": none
	Turn                                       *int64 // within its session, from 0
	DueS, ReadyS, ReleasedS, EndS              *float64
	SlotWaitMS, PacerLagMS                     *float64
	ConnectMS                                  *float64 // making a new connection; nil: one was reused
	TTFTMS, TTFOMS, TPOTMS, E2EMS, StreamEndMS *float64
	TTFTDueMS, E2EDueMS                        *float64
	ITLMeanMS, ITLMaxMS                        *float64
	Input, Output, Reasoning, Asked            *int64
	AskedInput, ExpectedCached, Recount        *int64
	Accepted, Rejected, Drafted, VerifySteps   *int64
	AcceptLength, AcceptRate, TokensPerEvent   *float64 // tokens a verify step, share of drafts, tokens an event
	StepsAccepting                             []int64  // verify steps by accepted drafts
	InputSource, OutputSource                  string
	RowCache
	Events, TokenEvents *int64 // absent where another tool recorded none
	Status              int
	DatasetRow          int64
	Attempts            int
	RetryWaitMS         *float64 // between attempts, in all
	ConnReused          *bool
	Windows             []string // kinds whose cohort holds the request
	Flags               []string
}
