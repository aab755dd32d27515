package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
	dict "tokentape/internal/report/words"
)

// Views in Chinese of real runs hold no English but names, and what came from outside:
// a sentence that is added without its Chinese fails here, or in report's
// TestChineseCovers if no prepared run says it.
func TestChineseHasNoEnglish(t *testing.T) {
	dirs, err := filepath.Glob("testdata/why/*")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%v: %v", dirs, err)
	}
	o := report.Options{Width: 100_000, Lang: "zh"}
	full := o
	full.Full = true
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			check := func(what string, err error, b *bytes.Buffer, outside ...string) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for _, l := range strings.Split(b.String(), "\n") {
					if found := dict.English(l, outside...); len(found) > 0 {
						t.Errorf("%s: %q in %q", what, found, l)
					}
				}
				b.Reset()
			}
			var b bytes.Buffer
			at, err := (&app{stderr: io.Discard}).findTrace(dir)
			if err != nil {
				t.Fatal(err)
			}
			w, err := at.triage()
			if err != nil {
				t.Fatal(err)
			}
			check("why", report.WhyText(&b, w, full), &b, theirWords(t, dir, w)...)
			if at.tape == "" {
				return
			}
			res, err := analysis.AnalyseFile(at.tape, analysis.Options{})
			if err != nil {
				return // why says it
			}
			said := append(theirWords(t, dir, w), res.About.StopWhy)
			for _, s := range res.Probe.Steps {
				said = append(said, s.Headers...)
			}
			for _, m := range res.Counts.Examples {
				said = append(said, m)
			}
			check("show", report.Show(&b, res.Provenance, full), &b, append(said, facts(res.Provenance)...)...)
			check("report", report.Console(&b, res, o), &b, said...)
			check("report --full", report.Console(&b, res, full), &b, said...)
			check("report as Markdown", report.Markdown(&b, res, full), &b, said...)
		})
	}
}

// cut is a message behind a class of failures and their number.
var cut = regexp.MustCompile(`[a-z_]+ \d+ \((.*?)\)[,;]`)

// escapes are those of Markdown.
var escapes = strings.NewReplacer("_", `\_`, "<", "&lt;", "*", `\*`, "[", `\[`, "|", `\|`)

// facts are values that a provenance has from outside: of machines and servers.
func facts(p *analysis.Provenance) (out []string) {
	for _, s := range p.Sections {
		for _, f := range s.Facts {
			if f.Value != nil && (s.Long || slices.Contains([]string{"command", "container", "hypervisor", "compiler", "processor", "distribution", "system", "time zone"}, f.Name)) {
				out = append(out, strings.TrimSpace(*f.Value))
			}
			if s.Long {
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// theirWords are what came from outside in the views of a run: its log, messages,
// bytes, facts of machines and servers.
func theirWords(t *testing.T, dir string, w *analysis.Triage) []string {
	t.Helper()
	var out []string
	for _, l := range w.Log {
		out = append(out, l.Text, l.Kind)
	}
	for _, f := range w.Failures {
		for _, s := range f.Said {
			out = append(out, s.Text)
		}
		if e := f.Example; e != nil {
			out = append(out, e.Message, e.Head, e.Event, e.Tail)
			out = append(append(out, e.Request...), e.Response...)
		}
	}
	out = append(out, w.Faults...)
	for _, s := range w.Next {
		out = append(out, s.Command)
	}
	if len(w.Failures) == 0 && w.State != analysis.StateFine { // a line of the log, or an error
		for _, l := range w.Log {
			for _, part := range strings.Split(l.Text, " → ") {
				_, rest, _ := strings.Cut(part, ": ")
				out = append(out, part, rest)
			}
		}
	}
	for _, c := range w.Missed { // as a check cuts a message
		if strings.HasPrefix(c.Name, analysis.CheckFailures) {
			for _, m := range cut.FindAllStringSubmatch(c.Why, -1) {
				out = append(out, m[1])
			}
		}
	}
	for _, text := range out { // as Markdown has it, and cut short by a check
		out = append(out, escapes.Replace(text))
	}
	return append(out, filepath.Base(dir))
}
