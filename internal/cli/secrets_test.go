package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// parrot answers every request with what it was sent: in an error, or as an answer.
func parrot(t *testing.T) *httptest.Server {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var head bytes.Buffer
		r.Header.Write(&head)
		said := fmt.Sprintf("%q", head.String()+string(body))
		switch n++; {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, said)
		case n%2 == 0:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%s}}`, said)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":%s}]}\n\ndata: [DONE]\n\n", said, said)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// No secret of a spec or a row is in a file of the run or in what is printed, though
// the server repeats all of them.
func TestSecretsStayInside(t *testing.T) {
	server := parrot(t)
	dir := t.TempDir()
	names := []string{"X-Bearer", "X-Jwt", "X-Pwd", "X-Pass", "X-PAT", "X-Pin", "X-Sig", "X-Private", "X-Access", "X-Session-Id", "X-Other"}
	fields := []string{"api_key", "password", "secret_key", "accessToken", "jwt", "pin", "session_id"}
	n := 0
	next := func() string { n++; return fmt.Sprintf("hush-%02d-q9w8e7r6", n) }
	var spec strings.Builder
	fmt.Fprintf(&spec, "target:\n  url: %s\n  model: m\n  headers:\n", server.URL)
	for _, name := range names {
		fmt.Fprintf(&spec, "    %s: %s\n", name, next())
	}
	spec.WriteString("workload:\n  dataset: {path: rows.jsonl, extra: [token]}\n  sampling:\n")
	for _, name := range fields {
		fmt.Fprintf(&spec, "    %s: %s\n", name, next())
	}
	fmt.Fprintf(&spec, "    extra: {deep: [{token: %s}], url: \"http://h/x?sig=%s\"}\n", next(), next())
	spec.WriteString("load: {requests: 4}\nrecord: {output: full, compress: false}\n")
	row := fmt.Sprintf(`{"question":"q","token":%q,"extra":{"client_secret":%q,"nested":{"password":%q}}}`+"\n", next(), next(), next())
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rows.jsonl", strings.Repeat(row, 4))
	file := write("spec.yaml", spec.String())
	bad := write("bad.yaml", spec.String()+"  nonsense: 1\n")
	out := filepath.Join(dir, "runs")

	check := func(what string, text []byte) {
		t.Helper()
		if i := bytes.Index(text, []byte("hush-")); i >= 0 {
			t.Errorf("%s shows %.60q", what, text[max(i-30, 0):])
		}
	}
	cli := func(want string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		Main(args, strings.NewReader(""), &stdout, &stderr)
		check(strings.Join(args, " "), append(stdout.Bytes(), stderr.Bytes()...))
		if !strings.Contains(stdout.String()+stderr.String(), want) {
			t.Errorf("%v: no %q in\n%s\n%s", args, want, &stdout, &stderr)
		}
	}
	cli("X-Pass", "spec", "check", file)
	cli("nonsense", "spec", "check", bad)
	cli("client_secret", "plan", file, "--show-request", "0")
	cli("files:", "run", file, "--out", out, "--no-live")
	files, repeated := 0, false
	filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".zst") {
				d, _ := zstd.NewReader(nil)
				if text, err = d.DecodeAll(text, nil); err != nil {
					return err
				}
			}
			check(path, text)
			files++
			repeated = repeated || bytes.Contains(text, []byte("client_secret"))
		}
		return err
	})
	if files < 4 || !repeated {
		t.Errorf("%d files; what the server repeated is in one of them: %v", files, repeated)
	}
	runs, _ := filepath.Glob(filepath.Join(out, "*", "*"))
	if len(runs) != 1 {
		t.Fatal(runs)
	}
	for _, format := range []string{"console", "markdown", "json", "csv", "requests"} {
		cli("", "report", runs[0], "--format", format, "--full")
	}
}
