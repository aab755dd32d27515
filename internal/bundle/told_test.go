package bundle

import "testing"

// What an import did not tell of its dataset is not observed, and no 0.
func TestTold(t *testing.T) {
	if got := told(Dataset{Path: "demo"}); got != "demo (rows not observed, sha256 not observed)" {
		t.Error(got)
	}
	if got := told(Dataset{Path: "d", Rows: 2, SHA256: "0123456789abcdef"}); got != "d (2 rows, sha256 0123456789ab…)" {
		t.Error(got)
	}
}
