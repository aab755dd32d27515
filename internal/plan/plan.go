package plan

import "tokentape/tape"

// NoDue marks a row without a planned time: it is sent when a slot is free.
const NoDue int64 = -1

// Row is one planned request.
type Row struct {
	Seq    int64      `json:"seq"`
	Due    int64      `json:"due"`  // nanoseconds from the first due time (0), or NoDue
	Item   int64      `json:"item"` // row of the dataset, 0-based
	Output int64      `json:"output,omitempty"`
	Phase  tape.Phase `json:"phase"`
	Stripe int        `json:"stripe,omitempty"`
}

// Kinds of plan.
const (
	KindRows      = "rows"      // all rows exist before the run
	KindGenerator = "generator" // rows are drawn while it runs: duration-bound closed loop
)
