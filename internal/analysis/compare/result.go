package compare

// Schema names the format of a comparison's JSON.
const Schema = "tokentape.compare/1"

// Verdicts of a metric, of a pair of sides and of a comparison.
const (
	Better    = "better"
	Worse     = "worse"
	Same      = "same"      // the whole interval lies within the tolerance
	Undecided = "undecided" // the data do not tell
	Differs   = "differs"   // a metric that has no good direction
)

// Comparison is every further side against the first. Field names carry their
// units and are frozen; later versions only add.
type Comparison struct {
	Schema  string `json:"schema"`
	Verdict string `json:"verdict"` // worse when any pair is worse; else better, undecided, same
	Fit     bool   `json:"fit"`     // every run is fit for use
	Line    string `json:"line"`
	// Window is the table whose values are compared, WindowWhy how it was chosen.
	Window    string `json:"window"`
	WindowWhy string `json:"window_why"`
	// On are the metrics that decide. Family is how many tests they make over all
	// pairs: p_adjusted is corrected for that number (Holm).
	On     []string `json:"on"`
	Family int      `json:"family"`
	Alpha  float64  `json:"alpha"`
	Sides  []Side   `json:"sides"`
	Pairs  []Pair   `json:"pairs"`
	// Warnings are what a reader must know of the runs; those of a pair stand there.
	Warnings []string `json:"warnings"`
}

// Side is the runs of one name.
type Side struct {
	Name string `json:"name"` // "A", "B" …
	Path string `json:"path"`
	Runs []Ref  `json:"runs"` // by their start
}

// Ref names a run.
type Ref struct {
	Path       string `json:"path"`
	Run        string `json:"run"`
	Started    string `json:"started"`
	TapeSHA256 string `json:"tape_sha256"`
	Fit        bool   `json:"fit"`
	Verdict    string `json:"verdict"` // the first line of the run's report
	Planned    int64  `json:"planned"`
	OK         int64  `json:"ok"`
	Failed     int64  `json:"failed"`
}

// Pair is side B against side A.
type Pair struct {
	A       string `json:"a"`
	B       string `json:"b"`
	Verdict string `json:"verdict"`
	Line    string `json:"line"`
	// Method says how the sides are compared, and what that leaves unknown.
	Method      string       `json:"method"`
	Rows        *Matched     `json:"rows,omitempty"` // one run a side with the same plan
	Metrics     []Metric     `json:"metrics"`
	Differences []Difference `json:"differences"` // of spec, dataset, environment and server
	Unlike      []string     `json:"unlike"`      // what makes the runs unlike
	Warnings    []string     `json:"warnings"`
}

// Matched counts the plan rows that were paired.
type Matched struct {
	Paired  int64 `json:"paired"`   // ok, and in the window, on both sides
	OnlyA   int64 `json:"only_a"`   // on one side alone
	OnlyB   int64 `json:"only_b"`   //
	Foreign int64 `json:"mismatch"` // the same plan row, but another row of the dataset: left out
}

// How a metric's shift and interval were had.
const (
	ByRank    = "rank"     // rank-sum test and Hodges–Lehmann shift over runs
	ByT       = "t"        // t interval over runs
	ByRows    = "rows"     // differences of paired plan rows, sectioned in plan order
	ByCounts  = "counts"   // exact test and interval of two shares of requests
	ByBlocks  = "blocks"   // few independent blocks of paired plan rows, all of one mind
	BySection = "sections" // each run's own interval by sectioning
	ByNone    = "none"     // no interval could be had
)

// Metric is one value of the window on both sides. Shift is B − A in the metric's
// unit, Change is Shift ÷ |A|; both are null where a side has no value. Intervals
// are of the level Level or above, null where none can be had; none of them goes below
// B = 0, since no value is negative, and that of a share not above B = 1.
type Metric struct {
	Name      string      `json:"name"` // "ttft_ms.p95", "output_tokens_per_s"
	Unit      string      `json:"unit"`
	Good      string      `json:"good"` // "lower", "higher", "": neither
	Decides   bool        `json:"decides"`
	Verdict   string      `json:"verdict"`
	A         Value       `json:"a"`
	B         Value       `json:"b"`
	Shift     *float64    `json:"shift"`
	ShiftCI   [2]*float64 `json:"shift_ci"`
	Change    *float64    `json:"change"`
	ChangeCI  [2]*float64 `json:"change_ci"`
	Level     *float64    `json:"level"`
	P         *float64    `json:"p"`
	PAdjusted *float64    `json:"p_adjusted"` // for the family; only where the metric decides
	Tolerance float64     `json:"tolerance"`  // of Change; of Shift where the unit is a share
	Method    string      `json:"method"`
	// Pairs are the paired rows behind the shift, PairedA and PairedB the value over
	// these rows alone: Shift is their difference, and Change a share of PairedA. A and B
	// are of the whole window, as in results.json.
	Pairs   int64    `json:"pairs,omitempty"`
	PairedA *float64 `json:"paired_a,omitempty"`
	PairedB *float64 `json:"paired_b,omitempty"`
	Why     string   `json:"why,omitempty"` // why it is undecided, or what a verdict by blocks rests on
}

// Value is a metric on one side: over several runs the middle of their values (the
// median beside a rank test, else the mean), with the smallest and the largest.
type Value struct {
	Runs   int       `json:"runs"` // that have a value
	Value  *float64  `json:"value"`
	Min    *float64  `json:"min"`
	Max    *float64  `json:"max"`
	Spread *float64  `json:"cv"` // sd between runs ÷ mean; null below 2 runs
	All    []float64 `json:"values"`
}

// Difference is a recorded fact that is not the same on both sides. Absent is "".
type Difference struct {
	Path string `json:"path"` // "spec.load.concurrency"
	A    string `json:"a"`
	B    string `json:"b"`
}
