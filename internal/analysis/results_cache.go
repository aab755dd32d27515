package analysis

// What is said of the cache in a word or two (Cache.Verdict).
const (
	CacheConfirmed = "zero cache confirmed"
	CachePartly    = "zero cache confirmed in part" // of other requests nothing is known
	CacheRefuted   = "zero cache refuted"
	CacheByPages   = "zero cache refuted by the metrics pages" // inferred, of the whole server; the answers say nothing
	CacheAsPlanned = "as planned"
	CacheOffPlan   = "not as planned"
	CacheStated    = "observed" // nothing was expected of it
	CacheHidden    = "not observable"
)

// Cache is what can be said of the server's prefix cache, and from what: over ok
// requests of the measured phase, as everything that counts tokens.
type Cache struct {
	Verdict string `json:"verdict"`
	Line    string `json:"line"`         // the same in a sentence, with its numbers
	Do      string `json:"do,omitempty"` // what would make observable what is not

	All      CacheShare      `json:"all"`
	Plan     *CachePlanned   `json:"plan,omitempty"` // where something was expected
	Evidence []CacheEvidence `json:"evidence"`       // what a count that was left out means, server by server
	// Contradicted are requests whose cached count came and cannot be true: they are
	// among those not observed.
	Contradicted int64 `json:"contradicted"`

	Touches *CacheTouches `json:"touches,omitempty"`
	// Groups are the prefix groups with the most requests, Rest the others together;
	// GroupCount is the number of all.
	Groups     []CacheGroup `json:"groups,omitempty"`
	Rest       *CacheShare  `json:"other_groups,omitempty"`
	GroupCount int64        `json:"group_count,omitempty"`
	Time       []CacheSlice `json:"over_time,omitempty"`
	Tiers      *CacheTiers  `json:"tiers,omitempty"`
	// Witnesses are accounts of the cache other than the counts in answers.
	Witnesses []CacheWitness `json:"witnesses,omitempty"`
}

// CacheShare is how much of some requests' input came from the cache, and of how
// many of them that is known: observed in the answer, or a 0 inferred from its
// absence. What is not observed enters neither sum.
type CacheShare struct {
	Requests    int64    `json:"requests"`
	Observed    int64    `json:"n_observed"`
	Inferred    int64    `json:"n_inferred"`
	NotObserved int64    `json:"n_not_observed"`
	N           int64    `json:"n"`             // behind the ratio: cached and input tokens known
	Cached      *int64   `json:"cached_tokens"` // Σ over these
	Input       *int64   `json:"input_tokens"`
	Ratio       *float64 `json:"cached_ratio"` // Σ cached ÷ Σ input
	// Σ expected ÷ Σ input over NominalN requests where both are known: a plan, not an
	// observation.
	NominalRatio *float64 `json:"nominal_cached_ratio,omitempty"`
	NominalN     int64    `json:"nominal_n,omitempty"`
}

// CachePlanned holds what the cache served against what was expected of it, row by
// row, over the N requests where both and the input are known.
type CachePlanned struct {
	By       string `json:"by,omitempty"` // "spec" (workload.cache) or "manifest" of a built set
	Zero     bool   `json:"zero"`         // nothing was to be cached
	Requests int64  `json:"requests"`     // of which something was expected
	// Σ over all Requests whose input is known, those that the server told nothing of too.
	PlannedTokens int64    `json:"planned_tokens"`
	PlannedInput  int64    `json:"planned_input_tokens"`
	N             int64    `json:"n"`
	Expected      int64    `json:"expected_tokens"` // Σ over N
	Cached        int64    `json:"cached_tokens"`
	Apart         int64    `json:"apart_tokens"` // Σ |cached − expected|: hits of one row make up for none of another
	Input         int64    `json:"input_tokens"`
	Off           int64    `json:"rows_off"`    // rows that differ
	Share         *float64 `json:"apart_share"` // Apart ÷ Input
}

// CacheEvidence is what is known of how one server reports cached tokens.
type CacheEvidence struct {
	Server string `json:"server,omitempty"` // its URL; empty where there is one
	Part   *int64 `json:"part,omitempty"`   // of a merged tape
	// Probe is what a probe of this run found: "always", "above_zero", "reported",
	// "never"; By names its requests.
	Probe string   `json:"probe,omitempty"`
	By    []string `json:"probe_by,omitempty"`
	// The first requests, in plan order, that reported a count above 0, and a 0.
	Above *int64 `json:"above_zero_request"`
	Zero  *int64 `json:"zero_request"`
	// MissingIsZero: a count that was left out is an inferred 0. Why says from what.
	MissingIsZero bool   `json:"missing_is_zero"`
	Why           string `json:"why"`
	Contradicted  string `json:"contradicted,omitempty"` // where answers say otherwise than the probe
	Missing       int64  `json:"missing"`                // ok measured requests whose count was left out beside a reported input
}

// CacheTouches tell first requests from repeats. A request is a first touch when no
// earlier request of the run, of any phase, was sent to the same server with the
// same prompt or of the same group; a manifest or a session makes groups.
type CacheTouches struct {
	First CacheShare `json:"first"`
	// Beside are repeats that were sent before the first had its first token: its
	// prefill had not ended, so that there may have been nothing to find.
	Beside CacheShare `json:"beside_first"`
	Repeat CacheShare `json:"repeat"` // all others
}

// CacheGroup is a group of prompts that begin alike.
type CacheGroup struct {
	Name string `json:"name"` // "manifest:3", "system:9f86d081884c7d65", "session:…"
	CacheShare
	FirstSeq     int64    `json:"first_seq"`          // of the first request of the group, of any phase
	FirstRatio   *float64 `json:"first_cached_ratio"` // of that one; null where it is not measured, not ok or not known
	RepeatRatio  *float64 `json:"repeat_cached_ratio"`
	RepeatN      int64    `json:"repeat_n"`
	FirstMissing string   `json:"first_why,omitempty"` // why there is no FirstRatio
}

// CacheSlice is an equal part of the time in which measured requests were released.
type CacheSlice struct {
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"`
	CacheShare
}

// CacheTiers is where the cached tokens of N requests lay, whose server says so.
type CacheTiers struct {
	N       int64  `json:"n"`
	Cached  int64  `json:"cached_tokens"` // of these
	Device  *int64 `json:"device_tokens"`
	Host    *int64 `json:"host_tokens"`
	Storage *int64 `json:"storage_tokens"`
	// Untold are cached tokens that no tier accounts for.
	Untold   int64    `json:"untold_tokens"`
	Backends []string `json:"storage_backends,omitempty"`
}

// RowCache is what a Row says of the cache.
type RowCache struct {
	Cached       *int64   // observed, or an inferred 0
	CachedSource string   // CachedObserved, CachedInferred; "": not observed
	CachedRatio  *float64 // Cached ÷ Input
	Device, Host *int64   // of Cached, where it lay
	Storage      *int64
	Group        string // of prompts that begin alike
	Touch        string // TouchFirst …; "": it was not sent, or nothing is known of the cache
}

// Where a cached count of a Row is from.
const (
	CachedObserved = "observed"
	CachedInferred = "inferred"
)

// What a request was to the cache: see CacheTouches.
const (
	TouchFirst  = "first"
	TouchBeside = "beside_first"
	TouchRepeat = "repeat"
)

// CacheWitness is what something else than the answers says of the cache, such as a
// server's metrics.
type CacheWitness struct {
	Source string   `json:"source"`
	Ratio  *float64 `json:"cached_ratio"`
	Says   string   `json:"says,omitempty"` // over what, and how it compares
}
