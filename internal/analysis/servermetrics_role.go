package analysis

import (
	"strings"
	"unicode"

	"tokentape/internal/analysis/scrape"
)

// workers are the modes of a server that are roles, too.
var workers = map[string]bool{"prefill": true, "decode": true}

// roleOf is the role of a page: as the spec has it, else as its series say it ("page"),
// else as its name begins ("name").
func (r *run) roleOf(p *scrape.Source) (role, from string) {
	if role = p.Role; role == "" {
		for _, m := range r.spec.Telemetry.Metrics {
			if m.Name == p.Name {
				role = m.Role
			}
		}
	}
	switch {
	case role != "":
		return role, ""
	case workers[p.Mode]:
		return p.Mode, "page"
	case p.Mode != "": // it says that it is neither
		return "", ""
	}
	if role = roleInName(p.Name); role != "" {
		from = "name"
	}
	return role, from
}

// roleInName is the role that a page's name begins with, as in prefill-0 and decode1.
func roleInName(name string) string {
	for _, role := range []string{"prefill", "decode", "entry"} {
		rest, ok := strings.CutPrefix(strings.ToLower(name), role)
		if ok && (rest == "" || !unicode.IsLetter(rune(rest[0]))) {
			return role
		}
	}
	return ""
}
