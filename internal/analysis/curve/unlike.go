package curve

import (
	"encoding/json"
	"fmt"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/internal/sweep"
)

// unlike says where the manifest calls a run another than its own tape does; "": nowhere.
// The tape is believed: the manifest is a file that can be edited. Only numbers and texts
// that stand in both as they are can be compared; a tape that names no such field, as one
// of another tool, says nothing.
func unlike(fields []string, p *sweep.Point, res *analysis.Results) string {
	if res.Provenance == nil {
		return ""
	}
	var spec any
	if json.Unmarshal(res.Provenance.Spec, &spec) != nil {
		return ""
	}
	for i, field := range fields {
		at, ok := spec, true
		for part := range strings.SplitSeq(field, ".") {
			var m map[string]any
			if m, ok = at.(map[string]any); !ok {
				break
			}
			if at, ok = m[part]; !ok {
				break
			}
		}
		want, number := p.At[i].(float64)
		if got, is := at.(float64); ok && number && is && got != want {
			return fmt.Sprintf("%s says %s: %v of it, and its tape %v", sweep.File, field, want, got)
		}
		if got, is := at.(string); ok && field == "target.model" && is && p.At[i] != any(got) {
			return fmt.Sprintf("%s says %s: %v of it, and its tape %s", sweep.File, field, p.At[i], got)
		}
	}
	return ""
}
