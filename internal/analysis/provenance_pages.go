package analysis

import (
	"fmt"
	"slices"
)

// pagesSheet is which metrics pages of a part were read: of whom, and where. They are
// not asked what else they are.
func (r *run) pagesSheet(part int64) sheet {
	s := sheet{Section{Name: "metrics pages"}}
	var names []string
	add := func(name, role, from, kind, read string) {
		names = append(names, name)
		if from = map[string]string{"page": "as its series say", "name": "by its name"}[from]; from != "" {
			role += " " + from
		}
		url := ""
		for _, m := range r.spec.Telemetry.Metrics {
			if m.Name == name {
				url = m.URL
			}
		}
		s.text(short(name, 200), join2(", ", role, kind, url, read))
	}
	for _, p := range r.scrapes.Sources() {
		if p.Part != part {
			continue
		}
		role, from := r.roleOf(p)
		add(p.Name, role, from, p.Kind, fmt.Sprintf("%s, %d failed", plural(int64(len(p.Times)), "reading"), p.Failed))
	}
	if len(r.parts()) == 0 {
		for _, m := range r.spec.Telemetry.Metrics {
			if !slices.Contains(names, m.Name) {
				add(m.Name, m.Role, "", "", "never read")
			}
		}
	}
	if len(names) > 0 {
		s.text("what they say of themselves", "not asked: tokentape asks the target alone")
	}
	return s
}
