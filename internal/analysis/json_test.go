package analysis

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// encode writes results and reads them back with a strict parser.
func encode(t testing.TB, res *Results) []byte {
	t.Helper()
	b, err := json.MarshalIndent(res, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var back Results
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatal("more than one value")
	}
	return b
}
