package wirecase_test

import (
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func httpServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
}

// writeDoc compares a generated document with what is there, or writes it.
func writeDoc(t *testing.T, path, text string) {
	t.Helper()
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is not what the tests say now; rewrite it: TOKENTAPE_SLOW=1 go test ./internal/wirecase -update", filepath.Clean(path))
	}
}
