package rows

import (
	"cmp"
	"fmt"

	"tokentape/internal/spec"
	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// mooncake is a trace in the form that Mooncake publishes: timestamp (ms),
// input_length, output_length, and hash_ids, one for every 512 tokens of the input
// (workload.dataset.block_tokens). Equal ids at the start of two rows mean equal prompts so far, so that
// the text of a block is made from its id alone. A row without ids gets a prompt
// of its own, one with input_text that text.
var mooncake = kind{
	what: "a Mooncake trace", when: "timestamp", unit: "ms",
	fields: []string{"input_text", "input_length", "output_length", "hash_ids"},
	is: func(row dataset.Row) bool {
		return has(row, "hash_ids") || has(row, "timestamp") && (has(row, "input_length") || has(row, "input_text"))
	},
	item: func(s *Source, row dataset.Row, item *workload.Item) (err error) {
		if raw, ok := given(row, "input_text"); ok && raw[0] == '"' {
			if has(row, "output_length") {
				if item.OutputLen, err = length(row, "output_length"); err != nil {
					return err
				}
			}
			ask(item, plain(raw))
			return nil
		}
		if item.InputLen, item.OutputLen, err = lengths(row, "input_length", "output_length"); err != nil {
			return err
		}
		ids, err := hashIDs(row)
		if err != nil {
			return err
		}
		if ids == nil {
			ask(item, unique(s.seed, row.Index, item.InputLen))
			return nil
		}
		block := s.blockTokens()
		last := item.InputLen - int64(len(ids)-1)*block
		if last < 1 || last > block {
			return row.Issue(fmt.Sprintf("a row has one id for every %d tokens or part of them, or no hash_ids; a trace in other blocks: workload.dataset.block_tokens", block),
				"%d hash_ids are not those of %d tokens", len(ids), item.InputLen)
		}
		ask(item, ofBlocks(s.seed, ids, block, last))
		return nil
	},
}

// blockTokens is the number of tokens that one hash id stands for.
func (s *Source) blockTokens() int64 { return cmp.Or(s.w.Dataset.BlockTokens, spec.MooncakeBlock) }
