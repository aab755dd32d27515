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

// secretNames are names that people give to credentials in headers and bodies.
var secretNames = []string{
	"X-Bearer", "X-Jwt", "X-Pwd", "X-Pass", "X-PAT", "X-Pin", "X-Sig", "X-Private", "X-Access", "X-Session-Id", "Authorization", "x-api-key", "Proxy-Authorization",
	"api_key", "apiKey", "password", "passwd", "token", "secret_key", "accessToken", "client_secret", "private", "session_id", "signature", "jwt", "auth", "otp", "credentials",
}

// A secret under any such name, at any place where a spec has names of the user's own,
// taken or refused, is in nothing that is shown or kept, and is known as a secret.
func TestSecretsByName(t *testing.T) {
	const hush = "h4sh-me+n0w"
	for _, name := range secretNames {
		for _, form := range []string{
			"target: {headers: {%s: %s}}", "target:\n  headers:\n    %s: %s\n", "target:\n  headers:\n    %s: >-\n      %s\n",
			"workload: {sampling: {%s: %s}}", "workload: {sampling: {extra: {%s: %s, a: 1}}}", "workload:\n  sampling:\n    extra:\n      - {a: [{%s: %s}]}\n",
			"workload:\n  sampling:\n    %s:\n      - %s\n", "workload: {sampling: {%s: {user: x, value: %s}}}",
			"target: {api: custom, custom: {path: /x, text: t, body: {p: '{prompt}', o: {%s: %s}}}}", "workload: {body: {inputs: '{q}', %s: %s}}",
			"workload: {dataset: {filter: {%s: %s}}}", "telemetry: {metrics: [{url: h, headers: {%s: %s}}]}",
			"telemetry:\n  metrics:\n    - url: h\n      headers:\n        %s: %s\n", "telemetry: {metrics: [{url: h, headers: {%s: [%s]}}]}",
			"telemetry: {metrics: [{url: h}, {url: i, headerz: {%s: %s}}]}",
			// Refused ones: a key twice, a number that is none, what follows, what is open.
			"workload: {sampling: {%[1]s: %[2]s, %[1]s: %[2]s}}", "target: {headers: {%s: [%s]}}", "target: {headers: {%[1]s: %[2]s, %[1]s: %[2]s}}",
			"workload:\n  sampling:\n    %s:\n      a: 1\n     b: %s\n", "target:\n  headers: {%s: %s\n", "target:\n  headers:\n    %s: \"%s\n", "workload:\n  sampling: {%s: %s, n: 010}\n",
			"workload:\n  sampling: {n: 010, %s: %s}\n", "target:\n  headers:\n    %s: *%s\n", "target:\n  headerz:\n    %s: %s\n", "target:\n  headers:\n    %s:\n    %s\n",
		} {
			text := fmt.Sprintf(form, name, hush)
			file := filepath.Join(t.TempDir(), "s.yaml")
			os.WriteFile(file, []byte(text), 0o600)
			shown(t, text, hush, file, nil)
		}
		for _, path := range []string{"target.headers.", "workload.sampling.", "workload.sampling.a."} {
			for _, value := range []string{hush, "[" + hush, "{x: " + hush + "}", "&" + hush, "'" + hush} {
				shown(t, path+name+"="+value, hush, "", []Set{{Path: path + name, Value: value, Origin: "--set " + path + name}})
			}
		}
	}
	for _, name := range []string{"X-Team", "My-Header", "ocp-apim-subscription"} { // no credential's name, and no harmless header
		shown(t, name, hush, "", []Set{{Path: "target.headers." + name, Value: hush}})
	}
}

// So is the key of a metrics page, however it is given.
func TestMetricsKey(t *testing.T) {
	const hush = "h4sh-me+n0w"
	for _, form := range []string{
		"telemetry: {metrics: [{url: h, api_key: %s}]}", "telemetry:\n  metrics:\n    - url: h\n      api_key: %s\n", "telemetry: {metrics: [{url: h, api_key: [%s]}]}",
		"telemetry: {metrics: [{url: h, api_key: \"%s\\n\"}]}", "telemetry: {metrics: [{url: h, role: nonsense, api_key: %s, api_kei: x}]}",
		"telemetry: {metrics: [{url: h, api_key: %[1]s, headers: {Authorization: Bearer %[1]s}}]}",
	} {
		text := fmt.Sprintf(form, hush)
		file := filepath.Join(t.TempDir(), "s.yaml")
		os.WriteFile(file, []byte(text), 0o600)
		shown(t, text, hush, file, nil)
	}
	for _, value := range []string{"[{url: h, api_key: " + hush + "}]", "[{url: h, api_key: [" + hush + "]}]", "[{url: h, api_key: " + hush} {
		shown(t, value, hush, "", []Set{{Path: "telemetry.metrics", Value: value, Origin: "--set telemetry.metrics"}})
	}
	s, issues := Read("", func(name string) (string, bool) { return hush, name == "MK" },
		[]Set{{Path: "telemetry.metrics", Value: "[{url: h, api_key: '${MK}', headers: {X-Scope: blue, Accept: 'text/*'}}]", Origin: "--set telemetry.metrics"}})
	if Failed(issues) || s.Telemetry.Metrics[0].APIKey != hush {
		t.Fatalf("%s\n%+v", format(issues), s)
	}
	if got := string(s.YAML()); !strings.Contains(got, `api_key: "***", headers: {Accept: "text/*", X-Scope: "***#`) {
		t.Error(got)
	}
	if s.Telemetry.Metrics[0].APIKey != hush || s.Telemetry.Metrics[0].Headers["X-Scope"] != "blue" {
		t.Error("YAML changed the Spec itself")
	}
}

// Numbers are hidden too, and what is none of a credential's is left as it is.
func TestFieldsByName(t *testing.T) {
	s, issues := read(t, `
target: {headers: {X-Team: blue, Accept-Language: de}}
workload: {sampling: {pin: 123456, extra: {otp: [7654321.5]}, max_tokens_per_doc: 9, stop_token_ids: [5], eos_token: "<e>", keep: "a?b=c", n: 1, token: "{prompt}", url: "http://u:pw-of-u@h/x?sig=abcdef"}}
`, nil)
	if Failed(issues) {
		t.Fatal(format(issues))
	}
	got := string(s.YAML())
	for _, want := range []string{"X-Team: \"***#", "Accept-Language: de", "max_tokens_per_doc: 9", "stop_token_ids: [5]", `eos_token: "<e>"`, `keep: "a?b=c"`, `token: "{prompt}"`, `pin: "***"`, `otp: ["***"]`, `url: "http://***@h/x?sig=***"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	for _, want := range []string{"123456", "7654321.5", "pw-of-u", "abcdef"} {
		if !strings.Contains(strings.Join(s.Secrets(), "\n"), want) {
			t.Errorf("Secrets lacks %s: %q", want, s.Secrets())
		}
	}
	if s.Workload.Sampling["pin"] != int64(123456) || s.Target.Headers["X-Team"] != "blue" {
		t.Error("Masked changed the Spec itself")
	}
	file := filepath.Join(t.TempDir(), "s.yaml")
	os.WriteFile(file, []byte(got), 0o600)
	back, issues := Read(file, nil, nil)
	if back.Target.Headers["X-Team"] != s.Masked().Target.Headers["X-Team"] || strings.Count(format(issues), "is a mask, not a value") != 3 {
		t.Errorf("read back: %s", format(issues))
	}
	other, _ := read(t, "target: {headers: {X-Team: green}}", nil)
	if other.Masked().Target.Headers["X-Team"] == s.Masked().Target.Headers["X-Team"] {
		t.Error("two values look the same")
	}
}
