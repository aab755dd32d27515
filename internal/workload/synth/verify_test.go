package synth

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each thing that a manifest says is named when it is off: the files and rows are
// as they were built, the manifest was changed.
func TestVerifyDerives(t *testing.T) {
	dir := t.TempDir()
	lengths := filepath.Join(dir, "lengths")
	write := func(text string) {
		if err := os.WriteFile(lengths, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("100\n120\n")
	p := Defaults()
	p.Requests, p.Input, p.Output, p.CachedTokens, p.PageSize, p.Groups, p.Prepare = 6, "file:"+lengths, "uniform:8-9", 48, 8, 2, true
	b := mustBuild(t, p, plain)
	src, data := source(t, b.data)
	data.File = "/some/set.jsonl"
	prep, seeds := source(t, b.prepare)
	verify := func(m Manifest) string {
		t.Helper()
		list, err := Verify(context.Background(), Files{src, data, prep, seeds}, plain, &m, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, d := range list {
			text := d.Text
			if d.Note {
				text = "note " + text
			}
			said = append(said, strings.Repeat("·", d.Row+1)+text)
		}
		return strings.Join(said, "\n")
	}
	if got := verify(*b.Manifest); got != "" {
		t.Fatal(got)
	}
	for _, c := range []struct {
		change func(m *Manifest)
		want   []string
	}{
		{func(m *Manifest) { m.Data.Bytes++ }, []string{"bytes, the manifest says"}},
		{func(m *Manifest) { m.Prepare.SHA256 = "x" }, []string{"preparation: SHA-256"}},
		{func(m *Manifest) { m.Prepare.Rows = 3 }, []string{"preparation: 2 rows, the manifest says 3", "prepare.rows: the manifest says 3, its parameters make it 2"}},
		{func(m *Manifest) { m.Tokenizer.Before = 7 }, []string{"tokenizer.before: the manifest says 7, its parameters make it 2"}},
		{func(m *Manifest) { m.Tokenizer.After = 7 }, []string{"tokenizer.after: the manifest says 7, its parameters make it 2"}},
		{func(m *Manifest) { m.Params.Requests = 7 }, []string{"data.rows: the manifest says 6, its parameters make it 7"}},
		{func(m *Manifest) { m.Params.Prepare = false }, []string{"prepare: the manifest says true, its parameters make it false", "·first_touch: the manifest says false, its parameters make it true", "summary.first_touches: the manifest says 0, its rows make it 2"}},
		{func(m *Manifest) { m.Params.Groups = 1 }, []string{"prepare.rows: the manifest says 2, its parameters make it 1", "group: the manifest says 1, its parameters make it 0"}},
		{func(m *Manifest) { m.Params.Seed++ }, []string{"output: the manifest says"}},
		{func(m *Manifest) { m.Params.CachedTokens = 40 }, []string{"summary.planned_cached: the manifest says 288, its rows make it 240"}},
		{func(m *Manifest) { m.Params.CachedTokens = 4000 }, []string{"params: no set can be built of them: --cached-tokens 4000"}},
		{func(m *Manifest) { m.Params.Input = "uniform:5-1" }, []string{"params: no set can be built of them: --input"}},
		{func(m *Manifest) { m.Summary.Content.Min-- }, []string{"summary.content.min: the manifest says 99, its rows make it 100"}},
		{func(m *Manifest) { m.Summary.Templated.Mean += 0.5 }, []string{"summary.templated.mean: the manifest says 114.5, its rows make it 114"}},
		{func(m *Manifest) { m.Summary.Output.Max++ }, []string{"summary.output.max: the manifest says 10, its rows make it 9"}},
		{func(m *Manifest) { m.Summary.Templated.Sum++ }, []string{"summary.templated.sum: the manifest says 685, its rows make it 684"}},
		{func(m *Manifest) { m.Summary.Planned++ }, []string{"summary.planned_cached: the manifest says 289, its rows make it 288"}},
		{func(m *Manifest) { m.Summary.Expected++ }, []string{"summary.expected_cached: the manifest says 289, its rows make it 288"}},
		{func(m *Manifest) { m.Summary.ExpectedShare = 0.5 }, []string{"summary.expected_share: the manifest says 0.5, its rows make it 0.42105"}},
		{func(m *Manifest) { m.Summary.RepeatShare = 0.5 }, []string{"summary.expected_repeat_share: the manifest says 0.5"}},
		{func(m *Manifest) { m.Summary.FirstTouches = 2 }, []string{"summary.first_touches: the manifest says 2, its rows make it 0"}},
		{func(m *Manifest) { m.Rows[2].Row = 9 }, []string{"···row: the manifest says 9, its parameters make it 2"}},
		{func(m *Manifest) { m.Rows[2].Group = 9 }, []string{"···group: the manifest says 9"}},
		{func(m *Manifest) { m.Rows[2].First = true }, []string{"···first_touch: the manifest says true"}},
		{func(m *Manifest) { m.Rows[2].Content = 99 }, []string{"···content: the manifest says 99, its parameters make it 100", "···content tokens: 100, the manifest says 99", "summary.content.sum: the manifest says 660, its rows make it 659"}},
		{func(m *Manifest) { m.Rows[2].Expected = 40 }, []string{"···expected cached tokens: 48, the manifest says 40", "summary.expected_cached: the manifest says 288, its rows make it 280"}},
		{func(m *Manifest) { m.Rows[2].SHA256 = "x" }, []string{"···SHA-256 of the row"}},
		{func(m *Manifest) { m.Params.Salt = 99 }, []string{"params.seed 0 and params.salt 99 do not make the rows of the file (made again: row 0 of 6 differs)"}},
		{func(m *Manifest) { m.Params.Kind = KindCopy }, []string{"params.kind: the manifest says copy, the rows are those of plain"}},
		{func(m *Manifest) { m.Data.File = "other.jsonl" }, []string{"note the manifest calls it other.jsonl"}},
		{func(m *Manifest) { m.Rows[2].Output = 1 }, []string{"···output: the manifest says 1", "···output tokens: "}},
	} {
		m := *b.Manifest
		seeds := *m.Prepare
		m.Prepare, m.Rows = &seeds, append([]RowFacts(nil), m.Rows...)
		c.change(&m)
		got := verify(m)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
	// What the parameters name is no longer there, or is another: nothing is wrong
	// with the set, and it is said what was not looked at.
	write("100\n121\n")
	if got := verify(*b.Manifest); !strings.HasPrefix(got, "note not held against its parameters: ") || strings.Contains(got, "\n") {
		t.Error(got)
	}
	os.Remove(lengths)
	if got := verify(*b.Manifest); !strings.HasPrefix(got, "note not held against its parameters, which name a file that cannot be read: --input") || strings.Contains(got, "\n") {
		t.Error(got)
	}
}
