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
	if !s.o.Shared {
		if err := s.ofOneKind(); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Columns)) {
		if used := s.uses(); !slices.ContainsFunc(used, func(u string) bool { return u == name || strings.HasPrefix(u, name+".") }) {
			hint := "remove it; looked at are: " + strings.Join(used, ", ")
			if near := spec.Nearest(used, name); near != "" {
				hint = fmt.Sprintf("did you mean %s: %s? looked at are: %s", near, d.Columns[name], strings.Join(used, ", "))
			}
			return s.idle("workload.dataset.columns."+name, hint)
		}
	}
	return nil
}

func (s *Source) idle(setting, hint string) error {
	return spec.Issue{File: s.w.Dataset.Path, Field: setting, Message: "has no effect: the rows are " + s.kind.what, Hint: hint}
}

// ofOneKind refuses settings that mean something to one kind of rows alone.
func (s *Source) ofOneKind() error {
	d := s.w.Dataset
	if d.Turns == "all" && !s.w.Sessions && s.name != "sharegpt" {
		return s.idle("workload.dataset.turns", "remove it; only ShareGPT conversations are cut into turns (workload.dataset.format: sharegpt), unless workload.sessions is true")
	}
	if s.blockTokens() != spec.MooncakeBlock && s.name != "mooncake" {
		return s.idle("workload.dataset.block_tokens", "remove it; only the hash_ids of a Mooncake trace stand for blocks")
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
