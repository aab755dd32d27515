package view

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokentape/tape"
)

// Who is answered, and who is not.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	made{name: "a", n: 2, bare: true}.write(t, dir, "a/1")
	const token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	open, closed := over(t, dir, Options{}), over(t, dir, Options{Token: token, Hosts: []string{"gpu-box", "GPU.example.org"}})
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	head := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	method := func(m string) func(*http.Request) { return func(r *http.Request) { r.Method = m } }
	cookie := func(v string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: closed.cookieName(), Value: v}) }
	}
	for _, c := range []struct {
		what   string
		s      *Server
		target string
		status int
		change []func(*http.Request)
	}{
		{"an address", open, "/", 200, nil},
		{"localhost", open, "/", 200, []func(*http.Request){host("localhost:8080")}},
		{"localhost of any spelling", open, "/", 200, []func(*http.Request){host("LOCALHOST.")}},
		{"IPv6", open, "/", 200, []func(*http.Request){host("[::1]:30078")}},
		{"IPv6 without a port", open, "/", 200, []func(*http.Request){host("[::1]")}},
		{"another name", open, "/", 403, []func(*http.Request){host("evil.example:30078")}},
		{"a name that begins as ours", open, "/", 403, []func(*http.Request){host("localhost.evil.example")}},
		{"a name like an address", open, "/", 403, []func(*http.Request){host("127.0.0.1.evil.example")}},
		{"no name", open, "/", 403, []func(*http.Request){host("")}},
		{"HEAD", open, "/", 200, []func(*http.Request){method("HEAD")}},
		{"POST", open, "/", 405, []func(*http.Request){method("POST")}},
		{"DELETE", open, "/api/runs", 405, []func(*http.Request){method("DELETE")}},
		{"OPTIONS", open, "/", 405, []func(*http.Request){method("OPTIONS")}},
		{"CONNECT", open, "/", 405, []func(*http.Request){method("CONNECT")}},
		{"a link from elsewhere", open, "/", 200, []func(*http.Request){head("Sec-Fetch-Site", "cross-site"), head("Sec-Fetch-Mode", "navigate")}},
		{"a script from elsewhere", open, "/api/runs", 403, []func(*http.Request){head("Sec-Fetch-Site", "cross-site"), head("Sec-Fetch-Mode", "no-cors")}},
		{"our own script", open, "/api/runs", 200, []func(*http.Request){head("Sec-Fetch-Site", "same-origin"), head("Sec-Fetch-Mode", "cors")}},

		{"no token", closed, "/", 403, nil},
		{"no token, style", closed, "/view.css", 403, nil},
		{"no token, list", closed, "/api/runs", 403, nil},
		{"an empty token", closed, "/?token=", 403, nil},
		{"a wrong token", closed, "/?token=" + token[1:] + "0", 403, nil},
		{"a part of the token", closed, "/?token=" + token[:63], 403, nil},
		{"the token twice", closed, "/?token=x&token=" + token, 403, nil},
		{"the token", closed, "/?token=" + token, 200, nil},
		{"the token, but another name", closed, "/?token=" + token, 403, []func(*http.Request){host("evil.example")}},
		{"the token by name", closed, "/?token=" + token, 200, []func(*http.Request){host("gpu-box:8080")}},
		{"the token by another name", closed, "/?token=" + token, 200, []func(*http.Request){host("gpu.Example.org.")}},
		{"the token, POST", closed, "/?token=" + token, 405, []func(*http.Request){method("POST")}},
		{"a cookie", closed, "/api/runs", 200, []func(*http.Request){cookie(token)}},
		{"a wrong cookie", closed, "/api/runs", 403, []func(*http.Request){cookie("no")}},
		{"a wrong cookie with the token", closed, "/?token=" + token, 200, []func(*http.Request){cookie("no")}},
		{"an empty cookie", closed, "/api/runs", 403, []func(*http.Request){cookie("")}},
		{"a header", closed, "/api/runs", 200, []func(*http.Request){head("Authorization", "Bearer "+token)}},
		{"a wrong header", closed, "/api/runs", 403, []func(*http.Request){head("Authorization", "Bearer ")}},
		{"a header of another kind", closed, "/api/runs", 403, []func(*http.Request){head("Authorization", "Basic "+token)}},
	} {
		r := get(c.s, c.target, c.change...)
		if r.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", c.what, r.StatusCode, c.status)
		}
		for k, v := range headers {
			if got := r.Header.Get(k); got != v && !(k == "Cache-Control" && got == "no-cache") {
				t.Errorf("%s: %s is %q", c.what, k, got)
			}
		}
		if csp := r.Header.Get("Content-Security-Policy"); csp != ownPolicy || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", c.what, csp)
		}
		if text := body(r); strings.Contains(text, token) || r.StatusCode != 200 && strings.Contains(text, dir) {
			t.Errorf("%s: the answer says too much: %s", c.what, text)
		}
	}
	r := get(closed, "/?token="+token+"&lang=zh")
	if text := body(r); !strings.Contains(text, `content="0;url=/?lang=zh"`) {
		t.Errorf("with the token: %s", text)
	}
	set := r.Cookies()
	if len(set) != 1 || set[0].Value != token || set[0].SameSite != http.SameSiteStrictMode || !set[0].HttpOnly || set[0].Path != "/" || set[0].Domain != "" {
		t.Errorf("cookies %v", set)
	}
	if got := get(closed, "/", func(r *http.Request) { r.AddCookie(set[0]) }); got.StatusCode != 200 || !strings.Contains(body(got), `data-page="list"`) {
		t.Errorf("with the cookie: %d", got.StatusCode)
	}
	if len(get(closed, "/?token=no").Cookies())+len(get(open, "/?token="+token).Cookies()) != 0 {
		t.Error("a cookie without the token")
	}
	if a, b := NewToken(), NewToken(); a == b || len(a) != 64 {
		t.Errorf("tokens %s, %s", a, b)
	}
}

// planted is a folder with a run in it, and links of all kinds that lead out of it to
// what nobody may read: the text secretText.
const secretText = "nobody-may-read-this"

func planted(tb testing.TB) string {
	tb.Helper()
	out, dir := tb.TempDir(), tb.TempDir()
	made{name: secretText, n: 2}.write(tb, out, "run/1")
	made{name: secretText, n: 2}.tape(tb, filepath.Join(out, "alone.jsonl"))
	put(tb, filepath.Join(out, "secret.txt"), secretText)
	made{name: "inside", n: 2}.write(tb, dir, "inside/1")
	bare := made{name: "bare", n: 2, bare: true}.write(tb, dir, "bare/1")
	sub := filepath.Join(dir, "sub", "deeper")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		tb.Fatal(err)
	}
	up, err := filepath.Rel(sub, out)
	if err != nil {
		tb.Fatal(err)
	}
	for link, to := range map[string]string{
		filepath.Join(dir, "folder"):              out,
		filepath.Join(dir, "run"):                 filepath.Join(out, "run", "1"),
		filepath.Join(dir, "file.jsonl"):          filepath.Join(out, "alone.jsonl"),
		filepath.Join(dir, "sub", tape.NamePlain): filepath.Join(out, "alone.jsonl"),
		filepath.Join(sub, "up"):                  up,
		filepath.Join(sub, "root"):                "/",
		filepath.Join(sub, "self"):                "../..",
		filepath.Join(sub, "loop"):                "loop",
		filepath.Join(bare, "results.json"):       filepath.Join(out, "run", "1", "results.json"),
		filepath.Join(bare, pageName):             filepath.Join(out, "secret.txt"),
		filepath.Join(bare, "power.csv"):          filepath.Join(out, "secret.txt"),
		filepath.Join(dir, "pack"+packEnd):        filepath.Join(out, "secret.txt"),
	} {
		if err := os.Symlink(to, link); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// No symbolic link leads out of the folder, whatever it is called and wherever it lies.
func TestLinks(t *testing.T) {
	dir := planted(t)
	s := over(t, dir, Options{})
	by := runs(t, s)
	if len(by) != 2 || by["inside/1"] == nil || by["bare/1"] == nil {
		t.Fatalf("%v", by)
	}
	if by["bare/1"].State != StateUnread {
		t.Errorf("results.json from outside was read: %+v", by["bare/1"])
	}
	if l := s.index.list(); l.Left.Links < 8 {
		t.Errorf("%d links are told of", l.Left.Links)
	}
	for _, e := range by {
		for _, target := range []string{"/run/" + e.ID, "/api/data/" + e.ID} {
			if text := body(settled(s, target)); strings.Contains(text, secretText) {
				t.Errorf("%s tells it", target)
			}
		}
	}
	for _, rel := range []string{"../" + filepath.Base(dir), "file.jsonl", "folder/secret.txt", "sub/deeper/up/secret.txt", "sub/deeper/root/etc/passwd", "/etc/passwd", "inside/../../x", "bare/1/results.json", "sub", "sub/deeper/loop"} {
		if f, err := s.index.open(rel); err == nil {
			f.Close()
			t.Errorf("%s can be opened", rel)
		}
	}
	if f, err := s.index.open("sub/deeper/self/inside/1/results.json"); err != nil { // leads out of nothing
		t.Error(err)
	} else {
		f.Close()
	}
}

// Whatever is asked for, nothing outside of the folder is told, nothing panics, and no
// status is one that we do not give.
func FuzzRequest(f *testing.F) {
	dir := planted(f)
	s := over(f, dir, Options{})
	for _, e := range runs(f, s) {
		f.Add("/run/"+e.ID, "127.0.0.1", "lang=zh")
		f.Add("/api/compare", "localhost", "run="+e.ID+"&run="+e.ID)
		f.Add("/run/"+e.ID+"/../../../../etc/passwd", "[::1]:1", "")
	}
	for _, p := range []string{"/", "/folder/secret.txt", "/run/..%2f..%2fsecret.txt", "/run/folder/secret.txt", "//etc/passwd", "/api/data/" + idOf("file.jsonl"), "/run/" + idOf("folder/alone.jsonl"), "/run/\x00", "/view.css", "*"} {
		f.Add(p, "127.0.0.1:30078", "q=%3Cscript%3E")
	}
	f.Fuzz(func(t *testing.T, path, host, query string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawQuery, r.Host = path, query, host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), secretText) {
			t.Fatalf("%q tells it", path)
		}
		switch w.Code {
		case 200, 202, 403, 404, 422, 503:
		default:
			t.Fatalf("%q: %d", path, w.Code)
		}
		if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Fatalf("%q: headers %v", path, w.Header())
		}
	})
}

// FuzzOpen: no name opens a file outside of the folder.
func FuzzOpen(f *testing.F) {
	dir := planted(f)
	s := over(f, dir, Options{})
	for _, rel := range []string{"inside/1/results.json", "../x", "folder/secret.txt", "sub/deeper/up/secret.txt", "sub/deeper/self/folder/secret.txt", "/etc/passwd", "a/../../etc", "bare/1/report.html", "", ".", "\x00", "sub/deeper/root/proc/self/environ"} {
		f.Add(rel)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		file, err := s.index.open(rel)
		if err != nil {
			return
		}
		defer file.Close()
		at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
		if err != nil || !strings.HasPrefix(at, real+"/") {
			t.Fatalf("%q opened %q (%v)", rel, at, err)
		}
	})
}

// Nothing below the folder changes, whatever is asked for.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	made{name: "a", n: 12}.write(t, dir, "a/1")
	made{name: "b", n: 12, bare: true}.write(t, dir, "b/1")
	state := func() string {
		var b strings.Builder
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := d.Info()
			fmt.Fprintln(&b, p, st.Mode(), st.Size(), st.ModTime())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := state()
	s := over(t, dir, Options{})
	var ids []string
	for _, e := range runs(t, s) {
		ids = append(ids, e.ID)
		settled(s, "/run/"+e.ID)
		settled(s, "/api/data/"+e.ID)
	}
	settled(s, "/api/compare?run="+ids[0]+"&run="+ids[1])
	if after := state(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

// Serve answers over a real connection, and ends when it is told to, work in hand or not.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	made{name: "a", n: 2, bare: true}.write(t, dir, "a/1")
	s := over(t, dir, Options{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	c := &http.Client{Transport: &http.Transport{}}
	r, err := c.Get("http://" + ln.Addr().String() + "/api/runs")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != 200 || !strings.Contains(string(text), "a/1") {
		t.Errorf("%d %v %s", r.StatusCode, err, text)
	}
	c.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
