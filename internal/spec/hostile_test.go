package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHostileFiles: a file made to hurt a parser ends in an issue,
// soon.
func TestHostileFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	for _, unit := range []string{"- ", "? ", "&a ", "!a ", "[", "{", "[{", "a: ", "a: [", "*a ", "\t", "'", "\"", "#", "a\n", "-\n", "- a\n", "|\n", "a: |\n", "--- ", "---\n", "\r", "${", "%\n", ": ", "\\"} {
		start := time.Now()
		text := strings.Repeat(unit, (32<<10)/len(unit))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, issues := Read(path, nil, nil)
		if s == nil || len(issues) == 0 && strings.Trim(text, "#\t\r-\n ") != "" {
			t.Errorf("%q: accepted", unit)
		}
		if len(issues) > maxIssues+1 {
			t.Errorf("%q: %d issues", unit, len(issues))
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%q: %v", unit, d)
		}
	}
}
