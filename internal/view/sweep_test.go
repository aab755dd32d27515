package view

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A sweep is one line of the list, which opens its curves; these lead to the pages of
// its points, by path held against runs that are known, and open no file by path.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "ladder", "2026-11-30T040000Z-sweep")
	made{name: "c1", n: 30}.write(t, at, "points/c1")
	made{name: "c2", n: 30}.write(t, at, "points/c2")
	made{name: "alone", n: 30}.write(t, dir, "alone/2026-11-30T040000Z")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("sweep.json", `{"schema":"tokentape.sweep/1","kind":"sweep","name":"ladder","fields":["load.concurrency"],"points":[
		{"name":"c1","state":"done","began":"2026-11-30T04:00:00Z"},{"name":"c2","state":"not_run","began":"0001-01-01T00:00:00Z"}]}`)
	s := over(t, dir, Options{})
	s.index.refresh(t.Context())
	var sweep, point, alone *Entry
	for _, e := range s.index.list().Runs {
		switch {
		case e.State == StateSweep:
			sweep = e
		case e.Name == "alone":
			alone = e
		default:
			point = e
		}
	}
	switch {
	case sweep == nil || point == nil || alone == nil:
		t.Fatal(sweep, point, alone)
	case sweep.Name != "ladder" || sweep.Points != 2 || sweep.Started != "2026-11-30T04:00:00Z" || !strings.Contains(sweep.Line, "1 of 2 points are measured") || !strings.Contains(sweep.Line, "tokentape report"):
		t.Errorf("%+v", sweep)
	case point.Sweep != sweep.ID || alone.Sweep != "":
		t.Errorf("%q, %q", point.Sweep, alone.Sweep)
	}
	if r := get(s, "/sweep/"+sweep.ID+"/"); r.StatusCode != http.StatusNotFound {
		t.Errorf("without its page: %d", r.StatusCode)
	}
	put("curve.html", `<!doctype html><body><div class="bar-in">x</div><script>alert(1)</script>`)
	s.index.refresh(t.Context())
	r := get(s, "/sweep/"+sweep.ID+"/?lang=zh")
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK || !strings.Contains(string(body), `<div class="bar-in"><a href="/?lang=zh">← 运行列表</a>x`) {
		t.Errorf("%d: %s", r.StatusCode, body)
	}
	if csp := r.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'sha256-") || strings.Contains(csp, "unsafe-inline") {
		t.Errorf("scripts of others run: %s", csp)
	}
	for path, want := range map[string]string{
		"/sweep/" + sweep.ID:                                 "/sweep/" + sweep.ID + "/",
		"/run/" + sweep.ID:                                   "/sweep/" + sweep.ID + "/",
		"/sweep/" + sweep.ID + "/points/c1/report.html":      "/run/",
		"/sweep/" + sweep.ID + "/points/none/report.html":    "",
		"/sweep/" + sweep.ID + "/../../etc/report.html":      "",
		"/sweep/" + sweep.ID + "/points/..%2f..%2f../x.html": "",
		"/sweep/" + alone.ID + "/":                           "",
		"/sweep/nothing/":                                    "",
	} {
		r := get(s, path)
		switch to := r.Header.Get("Location"); {
		case want == "" && r.StatusCode != http.StatusNotFound, want != "" && (r.StatusCode != http.StatusFound || !strings.HasPrefix(to, want)):
			t.Errorf("%s: %d, %q", path, r.StatusCode, to)
		}
	}
	// Broken ones are named, and what is no sweep is none.
	put("sweep.json", `{"schema":`)
	s.index.refresh(t.Context())
	for _, e := range s.index.list().Runs {
		if strings.HasSuffix(e.Path, "-sweep") && e.State != StateBroken {
			t.Errorf("%+v", e)
		}
	}
}

// An opened run has a way back to the list.
func TestBack(t *testing.T) {
	dir := t.TempDir()
	made{name: "a", n: 30, page: true}.write(t, dir, "a/2026-11-30T040000Z")
	s := over(t, dir, Options{})
	s.index.refresh(t.Context())
	r := get(s, "/run/"+s.index.list().Runs[0].ID)
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK || strings.Count(string(body), `<div class="bar-in"><a href="/">← Runs</a>`) != 1 {
		t.Errorf("%d: no way back in %.300s", r.StatusCode, body)
	}
}
