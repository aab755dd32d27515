package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../docs/results.schema.json"

// The schema file is the one that the structs make, and every results.json of the
// goldens holds to it.
func TestSchema(t *testing.T) {
	want := Schema()
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(have, want) {
		t.Fatalf("docs/results.schema.json is not the schema of analysis.Results (%v); go test ./internal/report -run Schema -update", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("results.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("results.json")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../analysis/testdata/*.golden.json")
	mine, _ := filepath.Glob("testdata/*.json")
	files = append(files, mine...)
	if len(files) < 5 {
		t.Fatalf("only %d results to check", len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte(`"tokentape.results/`)) {
			continue // of a comparison
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		broken, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(string(b), `"verdict"`, `"Verdict"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(broken) == nil {
			t.Errorf("%s passes without its verdict", f)
		}
	}
}
