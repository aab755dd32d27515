package rows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tokentape/internal/spec"
)

// effect refuses settings that these rows leave without effect. What a named
// format leaves so, spec.Validate has refused before; these are known only when
// the first row was seen.
func (s *Source) effect() error {
	d := s.w.Dataset
	idle := func(setting, hint string) error {
		return spec.Issue{File: d.Path, Field: setting, Message: "has no effect: the rows are " + s.kind.what, Hint: hint}
	}
	if d.Turns == "all" && !s.w.Sessions && s.name != "sharegpt" {
		return idle("workload.dataset.turns", "remove it; only ShareGPT conversations are cut into turns (workload.dataset.format: sharegpt), unless workload.sessions is true")
	}
	if s.blockTokens() != spec.MooncakeBlock && s.name != "mooncake" {
		return idle("workload.dataset.block_tokens", "remove it; only the hash_ids of a Mooncake trace stand for blocks")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Columns)) {
		if used := s.uses(); !slices.ContainsFunc(used, func(u string) bool { return u == name || strings.HasPrefix(u, name+".") }) {
			hint := "remove it; looked at are: " + strings.Join(used, ", ")
			if near := spec.Nearest(used, name); near != "" {
				hint = fmt.Sprintf("did you mean %s: %s? looked at are: %s", near, d.Columns[name], strings.Join(used, ", "))
			}
			return idle("workload.dataset.columns."+name, hint)
		}
	}
	return nil
}

// uses are the names of fields that are looked at in a row, but for those of
// chatFields.
func (s *Source) uses() []string {
	d := s.w.Dataset
	all := slices.Clone(s.kind.fields)
	if !s.kind.whole {
		all = append(all, "max_tokens", "output_tokens", "extra")
		all = append(all, d.Extra...)
	}
	all = append(all, "timestamp")
	all = append(all, slices.Sorted(maps.Keys(d.Filter))...)
	slices.Sort(all)
	return slices.Compact(all)
}
