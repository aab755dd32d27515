package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary be the program itself, for tests that need a
// process with limits of its own.
func TestMain(m *testing.M) {
	if os.Getenv("TOKENTAPE_TEST_CHILD") == "1" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// limited runs the program under shell limits.
func limited(t *testing.T, ulimit string, args ...string) (code int, said string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data.jsonl")
	var rows strings.Builder
	for i := range 400 {
		fmt.Fprintf(&rows, "{\"question\":\"number %d\"}\n", i)
	}
	if err := os.WriteFile(data, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-c", ulimit + ` && exec "$0" "$@"`, os.Args[0], "run", "--dataset", data, "--model", "m", "--no-live", "--out", dir}, args...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Env = append(os.Environ(), "TOKENTAPE_TEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// holding is a server that holds every request for a while, or until want are in.
func holding(t *testing.T, want int, hold time.Duration) (url string, peak func() int) {
	var mu sync.Mutex
	now, most := 0, 0
	all := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		if now++; now > most {
			if most = now; most == want {
				close(all)
			}
		}
		mu.Unlock()
		select {
		case <-all:
		case <-time.After(hold):
		}
		mu.Lock()
		now--
		mu.Unlock()
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() int { mu.Lock(); defer mu.Unlock(); return most }
}

// B13: a soft limit of 256 descriptors does not keep 300 requests from being in
// flight, and the report says what was raised; a hard one is named before the run.
func TestDescriptors(t *testing.T) {
	url, peak := holding(t, 300, 10*time.Second)
	code, said := limited(t, "ulimit -Sn 256", "--url", url, "--requests", "300", "--concurrency", "300")
	if peak() != 300 || code != exitFit && code != exitUnfit || !strings.Contains(said, "300 planned = 300 ok") || !strings.Contains(said, "was raised from 256 to") {
		t.Errorf("peak %d, exit %d\n%s", peak(), code, said)
	}
	code, said = limited(t, "ulimit -n 200", "--url", url, "--requests", "300", "--concurrency", "300")
	if code != exitUsage || !strings.Contains(said, "and the limit is 200") || !strings.Contains(said, "load.concurrency to 1") {
		t.Errorf("exit %d\n%s", code, said)
	}
}

// A limit that is met in the run is the client's failure, and the verdict says so.
func TestDescriptorsRunOut(t *testing.T) {
	url, _ := holding(t, -1, 400*time.Millisecond)
	code, said := limited(t, "ulimit -n 80", "--url", url, "--requests", "300", "--rate", "3000")
	if code != exitUnfit || !strings.Contains(said, "client_limit") || !strings.Contains(said, "the client's machine failed, not the server") ||
		!strings.Contains(said, "too many open files") || strings.Contains(said, "too many failures") {
		t.Errorf("exit %d\n%s", code, said)
	}
}
