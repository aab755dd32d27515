package rows

import (
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// azure is a trace in the form of the Azure LLM inference traces: CSV with
// TIMESTAMP (date and time), ContextTokens and GeneratedTokens. Prompts are made
// up, each of its own.
var azure = kind{
	what: "an Azure LLM trace", when: "TIMESTAMP", unit: "s", dates: true, fields: []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
	is: func(row dataset.Row) bool { return has(row, "ContextTokens") && has(row, "GeneratedTokens") },
	item: func(s *Source, row dataset.Row, item *workload.Item) (err error) {
		if item.InputLen, item.OutputLen, err = lengths(row, "ContextTokens", "GeneratedTokens"); err == nil {
			ask(item, unique(s.seed, row.Index, item.InputLen))
		}
		return err
	},
}
