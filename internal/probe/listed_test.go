package probe

import (
	"strings"
	"testing"
)

// A server of many models fills no page with their names.
func TestListed(t *testing.T) {
	ids := strings.Fields(strings.Repeat("m ", 180))
	if got := listed(ids); got != "m, m, m, m, m, m, m, m and 172 more" {
		t.Error(got)
	}
	if got := listed(ids[:8]); strings.Contains(got, "more") {
		t.Error(got)
	}
}
