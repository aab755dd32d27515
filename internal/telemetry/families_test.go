package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the list of known families in the docs")

// The page of the docs lists every known family; -update rewrites the list.
func TestFamiliesAreDocumented(t *testing.T) {
	const path, begin, end = "../../docs/howto/server-metrics.md", "<!-- families -->\n", "<!-- /families -->\n"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	have, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no list between %s and %s", path, begin, end)
	}
	var want strings.Builder
	list := func(kind string, families []string) {
		fmt.Fprintf(&want, "* %s:", kind)
		for i, f := range families {
			if i > 0 {
				want.WriteByte(',')
			}
			fmt.Fprintf(&want, " `%s`", f)
		}
		want.WriteByte('\n')
	}
	for _, k := range kinds {
		list("kind `"+k.kind+"`", k.families)
	}
	list("any page", anyFamilies)
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != want.String() {
		t.Errorf("%s: the list is not that of families.go; go test ./internal/telemetry -run Documented -update writes it", path)
	}
}
