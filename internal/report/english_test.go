package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tokentape/internal/report/words"
)

// allChinese wants no English in a Chinese text but what came from outside.
func allChinese(t *testing.T, name, got string, outside ...string) {
	t.Helper()
	for i, l := range strings.Split(got, "\n") {
		if found := words.English(l, outside...); len(found) > 0 {
			t.Errorf("%s, line %d: %q in %q: its sentence is missing in internal/report/words", name, i+1, found, l)
		}
	}
}

func TestChineseComparisonHasNoEnglish(t *testing.T) {
	c := comparison()
	outside := []string{" over the window", "<b>", "&lt;b&gt;", "<sub>", "</sub>", "details", "summary"}
	for name, view := range map[string]func(io.Writer) error{
		"console":  func(w io.Writer) error { return CompareConsole(w, c, Options{Width: 100_000, Full: true, Lang: zh}) },
		"markdown": func(w io.Writer) error { return CompareMarkdown(w, c, Options{Lang: zh}) },
	} {
		var b strings.Builder
		if err := view(&b); err != nil {
			t.Fatal(err)
		}
		allChinese(t, fmt.Sprint("comparison, ", name), b.String(), outside...)
	}
}
