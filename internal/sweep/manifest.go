package sweep

import "time"

// Schema of sweep.json.
const Schema = "tokentape.sweep/1"

// File is the manifest's name in the folder of a sweep; the spec stands beside it
// as sweep.yaml (secrets masked), each run in a folder of its own below points/.
const File = "sweep.json"

// Manifest is sweep.json: which points a sweep or search has, and what became of
// each. It is written again after every point, so that an interrupted one can go on.
type Manifest struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // sweep or search
	Name   string `json:"name"`
	// Fields of the spec that vary, as paths (load.concurrency), the first slowest.
	Fields []string `json:"fields"`
	// up, down, shuffled or interleaved: the order in which points were to be run.
	Order string `json:"order,omitempty"`
	// distinct: no two runs send the same rows; same: all send the same.
	Prompts string `json:"prompts"`
	Seed    int64  `json:"seed"`
	// SHA-256 of sweep.yaml as it was written, in hexadecimal: who changes the spec between two points has two sweeps. "": written before there was any.
	Spec string `json:"spec_sha256,omitempty"`
	// Expected is the copy in the folder of the file of expected values; "": none was given.
	Expected string  `json:"expected,omitempty"`
	Points   []Point `json:"points"`
}

// Point is one run of a sweep: one place, one repeat.
type Point struct {
	// Short and unique, such as c8 or c8-in1024: the name of the folder, with .2, .3 … for repeats.
	Name string `json:"name"`
	// Value of each of Manifest.Fields here, as in the spec: numbers as float64, all else as string (true, 10s); files by their whole paths, secrets of URLs masked.
	At []any `json:"at"`
	// 1, 2, 3 … of this place.
	Repeat int `json:"repeat"`
	// Folder of the run, relative to that of the sweep; "" until it was made.
	Run string `json:"run,omitempty"`
	// not_run, running, done (measured, whatever its verdict) or failed (nothing was measured).
	State string `json:"state"`
	// Exit code of the run; docs/exit-codes.md. Null while not run.
	Exit *int `json:"exit,omitempty"`
	// Why it failed, was not run, or is not fit for use; "".
	Reason string `json:"reason,omitempty"`
	// Rows of the dataset that it was given: first (0-based) and how many. Null: not known.
	FirstRow *int64 `json:"first_row,omitempty"`
	Rows     *int64 `json:"rows,omitempty"`
	// Wall clock of its start and end; zero until then.
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// What was asked between the point before and this one, and what came of it; "": nothing.
	Hook string `json:"hook,omitempty"`
}

// States of a Point.
const (
	NotRun  = "not_run"
	Running = "running"
	Done    = "done"
	Failed  = "failed"
)
