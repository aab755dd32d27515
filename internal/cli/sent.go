package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tokentape/internal/analysis"
	"tokentape/tape"
)

// mostRuns bounds how many earlier runs are looked at, the newest first.
const mostRuns = 200

// sentBefore is a note when an earlier run under out has sent the same dataset to
// one of these servers: its prefix cache may still have it, that of another server
// cannot. Of each tape only the header is read; one that does not say where it
// went counts. Runs below series are repeats that the user asked for, and no news.
// data is the dataset: where a manifest stands beside it, it can be made afresh.
func sentBefore(out, series, data, sha256 string, urls []string) []string {
	var tapes []string
	for _, name := range []string{tapeName(true), tapeName(false)} {
		// A folder whose name looks like a pattern is not one: fs.Glob does not
		// take it as such.
		found, _ := fs.Glob(os.DirFS(out), "*/*/"+name)
		points, _ := fs.Glob(os.DirFS(out), "*/*/"+sweepPoints+"/*/"+name)
		for _, f := range append(found, points...) {
			path := filepath.Join(out, f)
			if series == "" || !strings.HasPrefix(path, filepath.Clean(series)+string(filepath.Separator)) {
				tapes = append(tapes, path)
			}
		}
	}
	stamp := func(path string) string { // begins with the time
		dir := filepath.Dir(path)
		if up := filepath.Dir(dir); filepath.Base(up) == sweepPoints {
			dir = filepath.Dir(up)
		}
		return filepath.Base(dir)
	}
	slices.SortFunc(tapes, func(a, b string) int { return strings.Compare(stamp(b), stamp(a)) })
	var last string
	n := 0
	for _, path := range tapes[:min(len(tapes), mostRuns)] {
		if h := tapeHead(path); h != nil && h.Data.SHA256 == sha256 && sameServer(append(h.Server.URLs, h.Server.URL), urls) {
			if n++; last == "" {
				last = filepath.Dir(path)
			}
		}
	}
	if n == 0 {
		return nil
	}
	times := "once"
	if n > 1 {
		times = fmt.Sprintf("%d times", n)
	}
	note := fmt.Sprintf("%s, %s under %s (last by %s): its prefix cache may still hold them", analysis.NoteSentBefore, times, out, last)
	manifest := manifestName(data)
	if _, err := os.Stat(manifest); err == nil && data != "" {
		note += "; the set is made afresh with tokentape dataset build --resalt " + manifest + " --out NEW.jsonl"
	}
	return []string{note}
}

// sameServer reports whether two lists of URLs have a server in common, whatever
// the endpoint; an empty URL can be any.
func sameServer(then, now []string) bool {
	for _, a := range then {
		for _, b := range now {
			if a == "" && len(then) == 1 || a != "" && serverOf(a) == serverOf(b) {
				return true
			}
		}
	}
	return false
}

// serverOf is what of a URL names the server: host and port, or the socket.
func serverOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	if u.Host == "" {
		path, _, _ := strings.Cut(u.Path, ":") // unix:///SOCKET:/PATH
		return u.Scheme + path
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// tapeHead is the header of a tape, nil when it has none that can be read.
func tapeHead(path string) *tape.Header {
	r, err := tape.OpenFile(path)
	if err != nil {
		return nil
	}
	defer r.Close()
	rec, err := r.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	h, _ := rec.(*tape.Header)
	return h
}
