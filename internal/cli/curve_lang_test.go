package cli

import (
	"bytes"
	"strings"
	"testing"
)

// report and compare of sweeps answer --lang alike: a page has it, tables refuse it or,
// where the environment asked, say so and are English.
func TestSweepLanguage(t *testing.T) {
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	for _, c := range []struct{ lang, format, want, said, refused string }{
		{"", "console", "en", "", ""},
		{"en", "markdown", "en", "", ""},
		{"zh", "console", "", "", "English alone"},
		{"zh", "markdown", "", "", "English alone"},
		{"zh", "json", "", "", "for programs"},
		{"fr", "console", "", "", "unknown"},
		{"auto", "console", "en", "English alone", ""},
		{"auto", formatHTML, "zh", "", ""},
		{"zh", formatHTML, "zh", "", ""},
	} {
		var said bytes.Buffer
		got, err := (&app{stderr: &said}).sweepLanguage(c.lang, c.format)
		if got != c.want || !strings.Contains(said.String(), c.said) || c.said == "" && said.Len() > 0 {
			t.Errorf("--lang %q %s: %q, said %q", c.lang, c.format, got, said.String())
		}
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("--lang %q %s: %v, want %q", c.lang, c.format, err, c.refused)
		}
	}
}
