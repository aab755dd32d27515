package report

import (
	"bytes"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

// Addresses are listed when there are several, in both forms of the report.
func TestRemotes(t *testing.T) {
	for _, full := range []bool{false, true} {
		for n, want := range []string{"", "", "127.0.0.3:80: 2 requests = 0 ok + 2 failed + 0 cancelled, 0 connections"} {
			r := &analysis.Results{Remotes: []analysis.Remote{{Address: "127.0.0.1:80", Requests: 1, OK: 1, Connections: 1}, {Address: "127.0.0.3:80", Requests: 2, Failed: 2}}[:n]}
			var b bytes.Buffer
			if err := Console(&b, r, Options{Width: 100, Full: full}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "127.0.0.") != (want != "") || !strings.Contains(b.String(), want) {
				t.Errorf("full %v, %d addresses:\n%s", full, n, b.String())
			}
		}
	}
}
