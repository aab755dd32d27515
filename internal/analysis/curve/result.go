package curve

import "tokentape/internal/analysis/catalog"

// Schema names the format of curve.json.
const Schema = "tokentape.curve/1"

// States of a Point.
const (
	Measured = "measured" // at least one of its runs was
	Failed   = "failed"   // it was run, and nothing can be read of it
	NotRun   = "not_run"
)

// How a load stands to what the server can do (Backlog.State).
const (
	Stable   = "stable"
	Unstable = "unstable"
	Open     = "undecided" // the data do not tell
)

// Curves are the points of a sweep or search read together. Field names carry their
// units and are frozen; later versions only add.
type Curves struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // sweep or search
	Name   string `json:"name"`
	Line   string `json:"line"` // the whole in a sentence
	// Fields are the settings that vary, as in the spec, the first slowest.
	Fields  []string `json:"fields"`
	Prompts string   `json:"prompts,omitempty"` // distinct or same
	// Fit: every measured run is fit for use. Counts of points follow.
	Fit      bool `json:"fit"`
	Measured int  `json:"points_measured"`
	Failed   int  `json:"points_failed"`
	NotRun   int  `json:"points_not_run"`
	// Throughput is the value that fronts are of, and that levels off.
	Throughput string `json:"throughput"`
	// Latencies are the metrics shown: from due in an open loop, from the release else.
	Latencies []string  `json:"latencies"`
	Points    []Point   `json:"points"`
	Curves    []Curve   `json:"curves"`
	Rules     []Rule    `json:"rules"`
	Notes     []string  `json:"notes"` // what a reader must know before reading points against each other
	Expected  *Expected `json:"expected,omitempty"`
	// Search is what the search decided, of whose looks these are the points: its verdict,
	// limits, and each look, a sentence each. Of a sweep there is none.
	Search []string `json:"search,omitempty"`
}

// Point is one place of a sweep: all runs with these settings, read together.
type Point struct {
	Name  string `json:"name"`
	Label string `json:"label"` // its settings in short: c=8
	At    []any  `json:"at"`    // by Curves.Fields
	State string `json:"state"`
	// Reason says why it was not measured; of a measured one, what became of runs that
	// are not in its values.
	Reason  string `json:"reason,omitempty"`
	Runs    []Run  `json:"runs"`
	Pooled  int    `json:"runs_pooled"` // how many of them the values are of
	Fit     bool   `json:"fit"`         // all of these
	Verdict string `json:"verdict,omitempty"`
	Loop    string `json:"loop,omitempty"` // closed, open, partly open
	Window  string `json:"window,omitempty"`
	// WindowWhy says why it is not the steady one.
	WindowWhy string `json:"window_why,omitempty"`
	// RateMisfit says that requests/s does not fit output tokens/s, in a short window.
	RateMisfit string `json:"rate_misfit,omitempty"`
	// Bunched says that token events came in bunches, so that a TPOT can be too short.
	Bunched  string `json:"bunched,omitempty"`
	Requests int64  `json:"requests"` // ok ones in the windows, over all runs
	OK       int64  `json:"ok"`
	Failures int64  `json:"failed"`
	Planned  int64  `json:"planned"`
	// CachedFrom says how cached_ratio is known: observed, inferred, or in part.
	CachedFrom string   `json:"cached_from,omitempty"`
	Devices    int64    `json:"devices,omitempty"`
	Backlog    *Backlog `json:"backlog,omitempty"` // of an open loop
	// Values by their names: those of the catalogue, with .mean, .p50, .p95 and .p99 of
	// metrics of requests.
	Values map[string]Value `json:"values"`
	Front  []string         `json:"front,omitempty"` // latencies in whose front it is
	Knee   bool             `json:"knee,omitempty"`
	// tooQuick: its TPOT has no place on a front.
	tooQuick bool
}

// Run is one run of a point.
type Run struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"` // below the folder of the sweep
	State   string `json:"state"`
	Exit    *int   `json:"exit,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Hook    string `json:"hook,omitempty"`     // what was asked before it, and what came of it
	LeftOut bool   `json:"left_out,omitempty"` // measured, and not in the values of its point
	Fit     bool   `json:"fit"`
	Verdict string `json:"verdict,omitempty"`
	SHA256  string `json:"tape_sha256,omitempty"`
}

// How an interval was had (Value.By).
const (
	ByRun  = "run"  // within the only run
	ByHull = "hull" // of two runs: what holds the intervals of both
	ByT    = "t"    // Student's t over the values of three runs or more
)

// Value is a number of a point. Over several runs it is the mean of their values: one
// is never chosen.
type Value struct {
	Value *float64    `json:"value"`
	CI    [2]*float64 `json:"ci"` // 95 %, null where none could be had
	By    string      `json:"by,omitempty"`
	N     int64       `json:"n,omitempty"` // requests behind a metric of requests
	// Why there is none: "n too small", "unstable at this rate", "not observed".
	Why  string    `json:"why,omitempty"`
	Runs []float64 `json:"runs,omitempty"` // of several runs: each one's
}

// Backlog is how many requests were due and had not ended, over the time from From on
// in which requests fell due.
type Backlog struct {
	State string `json:"state"` // stable, unstable, undecided
	Why   string `json:"why"`
	// FromS and ToS are the span, of the first run.
	FromS *float64 `json:"from_s"`
	ToS   *float64 `json:"to_s"`
}

// Curve is the points along one field, at one value of all the others.
type Curve struct {
	Axis   string `json:"axis"` // "" where there is nothing to order points by
	At     string `json:"at"`   // the other fields: "workload.output_tokens=128", "" when there are none
	Points []int  `json:"points"`
	// Numeric: the axis has numbers, so that knee and saturation can be told.
	Numeric    bool        `json:"numeric"`
	Knee       *Knee       `json:"knee"`
	Saturation *Saturation `json:"saturation"`
	Fronts     []Front     `json:"fronts"`
}

// Knee is the point at which throughput ÷ latency (throughput_per_latency) is greatest.
type Knee struct {
	Point *int   `json:"point"` // index into Curves.Points; null: none within the ladder
	Among []int  `json:"among"` // points that are not told apart from it, itself included
	Line  string `json:"line"`
}

// Saturation says up to where more load brings more.
type Saturation struct {
	// Point of a closed loop is the first one that no later one clearly exceeds in
	// throughput; of an open loop the highest load that is not unstable.
	Point *int `json:"point"`
	// Unstable is the lowest load of an open loop that the server did not keep up with.
	Unstable *int   `json:"unstable"`
	Line     string `json:"line"`
}

// Front are the points that no other one dominates in throughput and one latency.
type Front struct {
	Latency string `json:"latency"` // ttft_ms.p95
	Points  []int  `json:"points"`
	// LeftOut are those that lack one of the two, or whose TPOT is that of bunches, and so
	// were not judged.
	LeftOut []int `json:"left_out,omitempty"`
}

// Rule is how something was decided.
type Rule struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Unit of a value by its name.
func Unit(name string) string { return entry(name).Unit }

func entry(name string) catalog.Entry {
	key, _ := split(name)
	e, _ := catalog.Find(key, catalog.KindMetric, catalog.KindSystem, catalog.KindFact, catalog.KindPoint)
	return e
}
