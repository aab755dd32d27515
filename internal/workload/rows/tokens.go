package rows

import (
	"encoding/json"
	"strconv"

	"tokentape/internal/workload"
	"tokentape/internal/workload/dataset"
)

// tokensKind is a prompt as token ids: a list of whole numbers in the field
// "prompt", "prompt_token_ids" or "input_ids".
var tokensKind = kind{item: tokensItem, what: "prompts as token ids", fields: idFields}

var idFields = []string{"prompt", "prompt_token_ids", "input_ids"}

// idsOf is the field that holds token ids, "" when none does.
func (s *Source) idsOf(row dataset.Row) (string, json.RawMessage) {
	for _, name := range idFields {
		if raw, ok := row.Fields.Get(name); ok {
			if raw = s.cell(raw); raw[0] == '[' {
				return name, raw
			}
		}
	}
	return "", nil
}

func tokensItem(s *Source, row dataset.Row, item *workload.Item) error {
	name, raw := s.idsOf(row)
	if name == "" {
		return row.Issue(`such as {"prompt": [9707, 11, 1879]}`, "the row has no list of token ids in prompt, prompt_token_ids or input_ids")
	}
	ids, bad := wholeNumbers[int32](raw, 31)
	if bad != "" {
		return row.Issue("token ids are whole numbers from 0", "%s holds %s, which is no token id", name, bad)
	}
	if len(ids) == 0 {
		return row.Issue("give the row a prompt, or take it out", "the prompt is empty")
	}
	item.TokenIDs, item.InputLen = ids, int64(len(ids))
	return nil
}

// wholeNumbers are the elements of a JSON list of numbers from 0 below 2^bits,
// or the first element that is none.
func wholeNumbers[T int32 | int64](list json.RawMessage, bits int) (out []T, bad string) {
	for i := 1; i < len(list)-1; {
		switch list[i] {
		case ' ', '\t', '\r', '\n', ',':
			i++
			continue
		}
		end := i
		for end < len(list)-1 && list[end] >= '0' && list[end] <= '9' {
			end++
		}
		n, err := strconv.ParseUint(string(list[i:end]), 10, bits)
		if err != nil || list[end] != ',' && list[end] != ']' && list[end] != ' ' && list[end] != '\n' && list[end] != '\r' && list[end] != '\t' {
			return nil, short(list[i : len(list)-1])
		}
		out = append(out, T(n))
		i = end
	}
	return out, ""
}
