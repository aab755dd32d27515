package analysis

// Speculation is what the server said of its drafts, per window, and what it did
// not say. Each ratio has its own two counts, from the same requests; none is made
// of another.
type Speculation struct {
	// DraftsBy says whose words accepted and rejected drafts are: DraftsEngine,
	// DraftsUsage, "" where nobody told both.
	DraftsBy    string              `json:"drafts_by,omitempty"`
	Windows     []SpeculationWindow `json:"windows"`
	NotObserved []SpeculationGap    `json:"not_observed,omitempty"`
	// Untold: events held several tokens each and the server told nothing of drafts;
	// nil elsewhere.
	Untold *SpeculationGap `json:"untold,omitempty"`
}

// Who told of drafts.
const (
	DraftsEngine = "engine" // the engine counts what it proposed
	DraftsUsage  = "usage"  // usage.completion_tokens_details alone, which OpenAI defines for a prediction that the request gave
)

// SpeculationWindow sums up the ok requests of a window. A sum or a ratio that no
// request has the counts for is null.
type SpeculationWindow struct {
	Window        string            `json:"window"`
	Requests      int64             `json:"requests"` // ok requests of the window's cohort
	VerifySteps   *SpeculationSum   `json:"verify_steps"`
	Accepted      *SpeculationSum   `json:"accepted_drafts"`
	Rejected      *SpeculationSum   `json:"rejected_drafts"`
	Drafted       *SpeculationSum   `json:"proposed_drafts"`
	AcceptLength  *SpeculationRatio `json:"accept_length"` // Σ output tokens ÷ Σ verify steps
	AcceptRate    *SpeculationRatio `json:"accept_rate"`   // Σ accepted ÷ Σ (accepted + rejected) drafts
	PerEvent      *SpeculationRatio `json:"tokens_per_event"`
	EventsPerStep *SpeculationRatio `json:"events_per_verify_step"`
	Uncounted     *SpeculationRatio `json:"uncounted_output"` // tokens of steps that no verify count holds ÷ output tokens
	Positions     []DraftPosition   `json:"positions,omitempty"`
	PositionsN    int64             `json:"positions_n"` // requests that told it
	Engine        []EngineRatio     `json:"engine_says,omitempty"`
}

// SpeculationSum is a count over the n requests that have it.
type SpeculationSum struct {
	Sum int64 `json:"sum"`
	N   int64 `json:"n"`
}

// SpeculationRatio is one count over another, over the n requests that have both;
// the value of 0 ÷ 0 is null.
type SpeculationRatio struct {
	Value *float64 `json:"value"`
	Over  int64    `json:"numerator"`
	Under int64    `json:"denominator"`
	N     int64    `json:"n"`
}

// DraftPosition is the i-th draft of a step: the share of all verify steps that
// accepted at least i drafts.
type DraftPosition struct {
	Position int64   `json:"position"` // from 1
	Accepted int64   `json:"accepted"`
	Steps    int64   `json:"verify_steps"`
	Share    float64 `json:"share"`
}

// EngineRatio is a ready-made ratio of the engine, by its own name and of its own
// definition. Mean is over requests, not pooled: nobody knows its denominator.
type EngineRatio struct {
	Name string  `json:"name"`
	N    int64   `json:"n"`
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// What can be missing, the What of a SpeculationGap.
const (
	GapRate      = "acceptance rate"
	GapLength    = "acceptance length"
	GapPositions = "acceptance by position"
)

// SpeculationGap is a number that this run cannot have, why, and what would make
// it observable.
type SpeculationGap struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}
