package docstest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tokentape/internal/analysis"
	"tokentape/internal/report"
	"tokentape/internal/report/chart"
)

var update = flag.Bool("update", false, "make the pictures in the documents again")

// picture is a marked block that shows the beginning of a report:
//
//	<!-- report TAPE, until "LINE" -->
//	<!-- report TAPE in LANG, until "LINE" -->
//	```text
//	what the console view of the tape says, to the line that begins so
//	…
//	```
var picture = regexp.MustCompile("(?s)<!-- report ([^ ,]+)((?: in [a-z]+)?), until \"([^\"\n]+)\" -->\n```text\n(.*?)```\n")

// pictures makes every picture of a document again. n is how many there are.
func pictures(root, text string) (out string, n int, err error) {
	out = picture.ReplaceAllStringFunc(text, func(block string) string {
		n++
		m := picture.FindStringSubmatch(block)
		body, renderErr := render(filepath.Join(root, m[1]), strings.TrimPrefix(m[2], " in "), m[3])
		if renderErr != nil {
			err = renderErr
			return block
		}
		return fmt.Sprintf("<!-- report %s%s, until \"%s\" -->\n```text\n%s```\n", m[1], m[2], m[3], body)
	})
	return out, n, err
}

// render is the console view of a tape before the line that begins with until.
func render(path, lang, until string) (string, error) {
	res, err := analysis.AnalyseFile(path, analysis.Options{})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := report.Console(&b, res, report.Options{Width: 100, Lang: lang}); err != nil {
		return "", err
	}
	head, _, found := strings.Cut(b.String(), "\n"+until)
	if !found {
		return "", fmt.Errorf("%s: no line of its report begins with %q", path, until)
	}
	return strings.TrimRight(head, "\n") + "\n…\n", nil
}

// The pictures in the documents are what the present report says of a recorded
// tape. go test ./internal/docstest -update makes them again.
func TestPictures(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, doc := range []string{"README.md", "README.zh.md"} {
		b, err := os.ReadFile(filepath.Join(root, doc))
		if err != nil {
			t.Fatal(err)
		}
		want, n, err := pictures(root, string(b))
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			t.Errorf("%s shows no report that is marked <!-- report TAPE, until \"LINE\" -->", doc)
		}
		if *update {
			if err := os.WriteFile(filepath.Join(root, doc), []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(b), want); diff != "" {
			t.Errorf("%s shows another report than the present one; go test ./internal/docstest -update makes it again (-shown +present):\n%s", doc, diff)
		}
	}
}

// drawing is a marked image that is a chart of a tape:
//
//	<!-- chart TAPE NAME LANG -->
//	![what it shows](FILE)
var drawing = regexp.MustCompile("<!-- chart ([^ ]+) ([^ ]+) ([^ ]+) -->\n!\\[[^\\]\n]+\\]\\(([^)\n]+\\.svg)\\)\n")

// The charts in the documents are what the present program draws of a recorded tape,
// and small. go test ./internal/docstest -update makes them again.
func TestCharts(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, doc := range []string{"README.md", "README.zh.md"} {
		b, err := os.ReadFile(filepath.Join(root, doc))
		if err != nil {
			t.Fatal(err)
		}
		all := drawing.FindAllStringSubmatch(string(b), -1)
		if len(all) == 0 || len(all) != strings.Count(string(b), "<!-- chart ") {
			t.Errorf("%s shows %d charts that are marked <!-- chart TAPE NAME LANG --> right before their image", doc, len(all))
		}
		for _, m := range all {
			path := filepath.Join(root, m[4])
			want := draw(t, filepath.Join(root, m[1]), m[2], m[3])
			if len(want) > 60_000 {
				t.Errorf("%s: %d bytes are too many for a document", m[4], len(want))
			}
			if *update {
				if err := os.WriteFile(path, want, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %s is another picture than the present program draws (%v); go test ./internal/docstest -update makes it again", doc, m[4], err)
			}
		}
	}
}

func draw(t *testing.T, path, name, lang string) []byte {
	t.Helper()
	res, err := analysis.AnalyseFile(path, analysis.Options{Charts: true})
	if err != nil {
		t.Fatal(err)
	}
	charts, err := chart.All(res, lang)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		if c.ID == name {
			svg, err := c.SVG(chart.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return svg
		}
	}
	t.Fatalf("%s has no chart %q", path, name)
	return nil
}
