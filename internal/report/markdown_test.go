package report

import (
	"io"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

func markdownOf(o Options) func(io.Writer, *analysis.Results) error {
	return func(w io.Writer, r *analysis.Results) error { return Markdown(w, r, o) }
}

// What a server or a dataset wrote is text in Markdown too: no table is broken, no
// markup begins, nobody is called.
func TestMarkdownIsInert(t *testing.T) {
	r := openLoop()
	r.About.Model = "a|b <img src=x> *bold* `code` [x](y) @octocat #12 ~~z~~\n# heading"
	r.Notes = []string{r.About.Model}
	for _, full := range []bool{false, true} {
		out := text(t, r, markdownOf(Options{Full: full}))
		for _, s := range []string{"a|b", "<img", " *bold*", "`code`", " [x]", "@octocat", " #12", "\n# "} {
			if strings.Contains(strings.ReplaceAll(out, `\`+s, ""), s) {
				t.Errorf("full %v: %q is live", full, s)
			}
		}
		if !strings.Contains(out, `a\|b &lt;img src=x> \*bold\* `) {
			t.Errorf("full %v: the model's name is not there", full)
		}
	}
}

// Every row of a table has as many cells as its head.
func TestMarkdownTablesAreWhole(t *testing.T) {
	for _, c := range cases {
		for _, full := range []bool{false, true} {
			width := 0
			for i, l := range strings.Split(text(t, c.of(), markdownOf(Options{Full: full})), "\n") {
				if !strings.HasPrefix(l, "|") {
					width = 0
					continue
				}
				n := strings.Count(strings.ReplaceAll(l, `\|`, ""), "|")
				if width == 0 {
					width = n
				}
				if n != width {
					t.Errorf("%s, full %v: line %d has %d cells, the head %d: %s", c.name, full, i+1, n-1, width-1, l)
				}
			}
		}
	}
}
