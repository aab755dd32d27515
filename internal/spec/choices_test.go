package spec

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestChoices: every field that takes one word of a list refuses another, by its name.
func TestChoices(t *testing.T) {
	within := map[string]string{ // fields that stand in a list, or need others beside them
		"workload.dataset.override": "[WORD]",
		"report.windows":            "[WORD]",
		"telemetry.metrics.role":    "[{url: 'http://h:1/metrics', role: WORD}]",
		"telemetry.metrics.kind":    "[{url: 'http://h:1/metrics', kind: WORD}]",
		"sweep.over.scale":          "[{field: load.rate, from: 1, to: 9, steps: 3, scale: WORD}]",
	}
	all := choices()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		for _, word := range []string{"frob", "3", "'null'", "[]", all[path][0] + "x"} {
			value, field := word, path
			if text := within[path]; text != "" {
				value = strings.ReplaceAll(text, "WORD", word)
				if field = path; strings.Count(path, ".") > 1 && strings.Contains(text, ": WORD") {
					field = path[:strings.LastIndexByte(path, '.')]
				}
			}
			sets := []Set{{field, value, "--set " + field}}
			if strings.HasPrefix(path, "target.custom.") {
				sets = append(sets, Set{"target.api", "custom", "--api"})
			}
			_, issues := Read("", nil, sets)
			named := slices.ContainsFunc(issues, func(i Issue) bool {
				return !i.Warning && strings.HasPrefix(i.Field, field) && (word != "frob" || strings.Contains(i.Format(), all[path][0]))
			})
			if !named {
				t.Errorf("%s: %s is accepted:\n%s", field, value, format(issues))
			}
		}
	}
}
