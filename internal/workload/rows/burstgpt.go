package rows

import (
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// burstGPT is a trace in the form of BurstGPT: CSV with Timestamp (s), Request
// tokens and Response tokens. Requests that failed have no response tokens and
// are left out. Prompts are made up, each of its own.
var burstGPT = kind{
	what: "a BurstGPT trace", when: "Timestamp", unit: "s", fields: []string{"Timestamp", "Request tokens", "Response tokens"},
	is: func(row dataset.Row) bool { return has(row, "Request tokens") && has(row, "Response tokens") },
	item: func(s *Source, row dataset.Row, item *workload.Item) (err error) {
		if item.InputLen, item.OutputLen, err = lengths(row, "Request tokens", "Response tokens"); err == nil {
			ask(item, unique(s.seed, row.Index, item.InputLen))
		}
		return err
	},
}
