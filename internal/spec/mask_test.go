package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMaskURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:1/v1":                          "http://h:1/v1",
		"http://u:p@h/x":                         "http://***@h/x",
		"http://h/x?api_key=abc&page=2":          "http://h/x?api_key=***&page=2",
		"h/x?page=2;X-Token=a;b=c":               "h/x?page=2;X-Token=***;b=c",
		"h?API%5FKEY=abc":                        "h?API%5FKEY=***",
		"h?API%255FKEY=abc":                      "h?API%255FKEY=***",
		"h?sig=a%26b#access_token=z":             "h?sig=***#access_token=***",
		"/flush_cache?timeout=5":                 "/flush_cache?timeout=5",
		"/flush?Key=a=b c":                       "/flush?Key=***",
		"/flush?key=":                            "/flush?key=",
		"/flush?max_tokens=5&first_token=2":      "/flush?max_tokens=5&first_token=2",
		"https://h/?X-Amz-Signature=abc&Expires": "https://h/?X-Amz-Signature=***&Expires",
	} {
		if got := maskURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A secret in any setting that holds a URL, taken or refused, given in a file or by a
// flag, is in nothing that is shown or kept, and is known as a secret.
func TestSecretsInURLs(t *testing.T) {
	const hush = "h4sh-me+n0w"
	for _, url := range []string{
		"http://user:" + hush + "@h:1/x", "http://h:1/x?api_key=" + hush, "h:1/x?a=1&ToKeN=" + hush, "http://h:1/x?a=1;sig=" + hush,
		"http://h:1/x#access_token=" + hush, "ftp://h/x?key=" + hush, "http:/h/x?key=" + hush, "/x?API%5FKEY=" + hush,
		"unix://x?key=" + hush, "http://h:1/v1/v1?password=" + hush, "http://[::1/x?auth=" + hush, "http://h:1/v1/embeddings?pwd=" + hush, "{x: '?key=" + hush + "'}",
	} {
		for path, form := range map[string]string{
			"target.url": "target: {url: %s}", "target.urls": "target: {urls: [%s, h:2]}", "target.proxy": "target: {proxy: %s}",
			"prepare.flush": "prepare: {flush: %s}", "telemetry.metrics": "telemetry: {metrics: [{url: %s}]}",
			"target.custom.path": "target: {api: custom, custom: {path: %s}}",
			"target.uri":         "target: {uri: %s}", "prepare.concurrency": "prepare: {concurrency: %s}", "load.sessions": "load: {sessions: %s}",
		} {
			for _, quote := range []string{`"`, ``} {
				text := fmt.Sprintf(form, quote+url+quote)
				file := filepath.Join(t.TempDir(), "s.yaml")
				os.WriteFile(file, []byte(text), 0o600)
				shown(t, text, hush, file, nil)
			}
			shown(t, "--set "+path+"="+url, hush, "", []Set{{Path: path, Value: url, Origin: "--set " + path}})
		}
	}
}

func shown(t *testing.T, what, hush, file string, sets []Set) {
	t.Helper()
	s, issues := Read(file, nil, sets)
	var b strings.Builder
	for _, i := range issues {
		b.WriteString(i.Format() + "\n" + i.Error() + "\n")
	}
	if s != nil && !Failed(issues) {
		b.Write(s.YAML())
		b.Write(s.JSON())
		if all := strings.Join(s.Secrets(), "\n"); !strings.Contains(all, hush) {
			t.Errorf("%s: Secrets lacks it: %q", what, all)
		}
	}
	if strings.Contains(b.String(), hush) || strings.Contains(b.String(), "h4sh-me") {
		t.Errorf("%s is shown:\n%s", what, b.String())
	}
}

func TestMaskedURLsAreNoted(t *testing.T) {
	_, issues := read(t, "prepare: {flush: 'http://h/flush?api_key=***'}\ntelemetry: {metrics: [{url: 'http://h/metrics?token=***'}]}", nil)
	var paths []string
	for _, i := range issues {
		if i.Warning && strings.Contains(i.Message, "a mask, not a secret") {
			paths = append(paths, i.Field)
		}
	}
	if strings.Join(paths, " ") != "prepare.flush telemetry.metrics[0].url" {
		t.Errorf("%q: %v", paths, issues)
	}
}
