package catalog

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/metrics.md anew")

// tables are those of docs/metrics.md, each between <!-- definitions: NAME --> and
// <!-- /definitions -->; what stands around them is written by hand.
var tables = map[string]struct {
	head []string
	rows []Entry
	of   func(e Entry) []string
}{
	"metrics": {[]string{"name", "called", "unit", "definition", "from the tape's", "enters", "absent when", "better"}, metrics,
		func(e Entry) []string {
			return []string{code(e.Name), e.Title, e.Unit, e.Definition, codes(e.Fields), e.Enters, e.Absent, e.Better}
		}},
	"request": {[]string{"name", "unit", "definition", "judged", "absent when"}, requestFacts,
		func(e Entry) []string { return []string{code(e.Name), e.Unit, e.Definition, e.Enters, e.Absent} }},
	"system":  {windowHead, systemRows, ofWindow},
	"devices": {windowHead, deviceRows, ofWindow},
	"facts":   {windowHead, windowFacts, ofWindow},
	"load":    {runHead, loadFacts, ofRun},
	"counts":  {runHead, counts, ofRun},
	"server":  {[]string{"name", "called", "unit", "definition"}, serverRows, func(e Entry) []string { return []string{code(e.Name), e.Title, e.Unit, e.Definition} }},
	"point": {[]string{"name", "called", "unit", "definition", "from the tape's", "absent when", "better"}, pointRows,
		func(e Entry) []string {
			return []string{code(e.Name), e.Title, e.Unit, e.Definition, codes(e.Fields), e.Absent, e.Better}
		}},
	"terms": {[]string{"word", "meaning"}, terms, func(e Entry) []string { return []string{e.Name, e.Definition} }},
	"checks": {[]string{"check", "severity", "misses when"}, checks,
		func(e Entry) []string {
			return []string{code(strings.TrimPrefix(e.Name, "checks.")), e.Severity, e.Definition}
		}},
}

var (
	windowHead = []string{"name", "unit", "definition", "by window", "enters", "absent when", "better"}
	runHead    = []string{"name", "unit", "definition", "enters", "absent when", "better"}
)

func ofWindow(e Entry) []string {
	return []string{code(e.Name), e.Unit, e.Definition, e.Windows, e.Enters, e.Absent, e.Better}
}

func ofRun(e Entry) []string {
	return []string{code(e.Name), e.Unit, e.Definition, e.Enters, e.Absent, e.Better}
}

func code(s string) string { return "`" + s + "`" }

func codes(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return "`" + strings.Join(all, "` `") + "`"
}

// markdown is a table; columns in which nothing stands are left out.
func markdown(name string) string {
	t := tables[name]
	cells := make([][]string, len(t.rows))
	used := make([]bool, len(t.head))
	for i, e := range t.rows {
		cells[i] = t.of(e)
		for k, c := range cells[i] {
			used[k] = used[k] || c != ""
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for k, c := range row {
			if used[k] {
				b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(t.head)
	for k := range t.head {
		if used[k] {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range cells {
		line(row)
	}
	return b.String()
}

// Every field that a definition names is one of the tape's format.
func TestFieldsAreTheTapes(t *testing.T) {
	b, err := os.ReadFile("../../../tape/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range All() {
		for _, f := range e.Fields {
			if last := f[strings.LastIndexByte(f, '.')+1:]; !strings.Contains(string(b), "`"+last+"`") {
				t.Errorf("%s: the tape has no field %s", e.Name, f)
			}
		}
	}
}

// The tables of docs/metrics.md are the catalogue's.
func TestDocs(t *testing.T) {
	const path = "../../../docs/metrics.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for name := range tables {
		before, rest, ok := strings.Cut(text, "<!-- definitions: "+name+" -->\n")
		old, after, ok2 := strings.Cut(rest, "<!-- /definitions -->")
		if !ok || !ok2 {
			t.Errorf("docs/metrics.md has no table <!-- definitions: %s -->", name)
			continue
		}
		if want := markdown(name); old != want && !*update {
			t.Errorf("the table %s of docs/metrics.md is not that of internal/analysis/catalog; go test ./internal/analysis/catalog -update writes it", name)
		}
		text = before + "<!-- definitions: " + name + " -->\n" + markdown(name) + "<!-- /definitions -->" + after
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
