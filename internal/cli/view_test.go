package cli

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// view prints where it is, answers there, and ends with 0 on Ctrl-C; elsewhere than on
// loopback its address has the token without which it says nothing.
func TestViewServes(t *testing.T) {
	for _, c := range []struct {
		args []string
		url  string
	}{
		{nil, `^http://127\.0\.0\.1:\d+/$`},
		{[]string{"--addr", "[::1]:0"}, `^http://\[::1\]:\d+/$`},
		{[]string{"--addr", "0.0.0.0:0", "--expose", "--host", "localhost"}, `^http://localhost:\d+/\?token=[0-9a-f]{64}$`},
	} {
		out, w := io.Pipe()
		code := make(chan int, 1)
		var stderr strings.Builder
		go func() {
			code <- Main(append([]string{"view", t.TempDir()}, c.args...), nil, w, &stderr)
			w.Close()
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			<-code
			if strings.Contains(stderr.String(), "[::1]") { // a machine without IPv6
				t.Logf("%v: %s", c.args, stderr.String())
				continue
			}
			t.Fatalf("%v: %v: %s", c.args, err, stderr.String())
		}
		url := strings.TrimSpace(line)
		if !regexp.MustCompile(c.url).MatchString(url) {
			t.Errorf("%v: %q", c.args, url)
		}
		open, _, token := strings.Cut(url, "?token=")
		want := http.StatusOK
		if token {
			want = http.StatusForbidden
		}
		for at, want := range map[string]int{url: http.StatusOK, open + "api/runs": want} {
			r, err := http.Get(at)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != want {
				t.Errorf("%v: %s: %d, want %d", c.args, at, r.StatusCode, want)
			}
		}
		http.DefaultClient.CloseIdleConnections()
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil { // it is listened to since before the address was printed
			t.Fatal(err)
		}
		if got := <-code; got != 0 {
			t.Errorf("%v: exit %d: %s", c.args, got, stderr.String())
		}
	}
}
