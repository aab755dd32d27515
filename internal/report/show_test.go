package report

import (
	"bytes"
	"strings"
	"testing"

	"tokentape/internal/analysis"
)

func TestShow(t *testing.T) {
	text := func(s string) *string { return &s }
	p := &analysis.Provenance{Run: "01\x1b[2J", Sections: []analysis.Section{
		{Name: "tool", Facts: []analysis.Fact{{Name: "version", Value: text("1")}, {Name: "revision"}, {Name: "evil", Value: text("a\x1b[2J\nb|c <script>")}}},
		{Name: "says", Long: true},
	}, Parts: []analysis.Provenance{{Run: "02", Sections: []analysis.Section{{Name: "tool", Facts: []analysis.Fact{{Name: "version", Value: text("2")}}}}}}}
	for i := range 30 {
		p.Sections[1].Facts = append(p.Sections[1].Facts, analysis.Fact{Name: "/x " + strings.Repeat("k", i*3), Value: text("v"), After: []string{"", "w"}[i%2]})
	}
	var short, full, md, js bytes.Buffer
	for _, err := range []error{Show(&short, p, Options{Width: 80}), Show(&full, p, Options{Width: 80, Full: true}), ShowMarkdown(&md, p, Options{}), ShowJSON(&js, p)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, view := range []string{short.String(), full.String(), md.String()} {
		for _, want := range []string{"not observed", "after the run", "part 0: tool", "version"} {
			if !strings.Contains(view, want) {
				t.Errorf("no %q in\n%s", want, view)
			}
		}
		if strings.Contains(view, "\x1b") {
			t.Error("a terminal can be steered")
		}
	}
	if !strings.Contains(short.String(), "… and 10 more facts: --full") || strings.Contains(full.String(), "more facts") || strings.Contains(md.String(), "more facts") {
		t.Error("a long section is cut on the short page alone, and says so")
	}
	if strings.Contains(md.String(), "<script>") || !strings.Contains(md.String(), `b\|c`) {
		t.Errorf("text from outside is markup:\n%s", md.String())
	}
	if !strings.Contains(js.String(), `"value": null`) {
		t.Errorf("what was not observed is not null:\n%s", js.String())
	}
}
