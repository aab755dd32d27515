package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the network settings say together: which are errors beside which.
func TestNetwork(t *testing.T) {
	for _, tc := range []struct{ text, want string }{ // want: field and part of the message; "" is accepted
		{"url: https://h, http: 2, insecure: true, cert_file: c, key_file: k, server_name: m.example", ""},
		{"url: https://h, http: 1.1, proxy: 'http://u:p@p:3128'", ""},
		{"url: h:1, http: '2'", ""},
		{"url: h:1, proxy: environment, resolve: once, spread: true, renew_after: 4", ""},
		{"url: 'unix:///x.sock', http: 2", ""},
		{"urls: ['h:1', 'https://h', 'unix:///x.sock'], ca_file: c, resolve: once", ""},
		{"url: http://h, insecure: false, spread: false, renew_after: 0, resolve: per_connection, proxy: ''", ""},
		{"url: 127.0.0.1:1, spread: false, resolve: per_connection", ""},

		{"url: h:1, http: 3", "target.http"},
		{"url: h:1, http: '1.0'", "target.http"},
		{"url: h:1, resolve: never", "target.resolve"},
		{"url: h:1, cert_file: c, key_file: k", "target.cert_file: has no effect: target.url is not https"},
		{"url: h:1, server_name: x", "target.server_name: has no effect"},
		{"url: https://h, cert_file: c", "target.cert_file: a certificate and its key go together"},
		{"url: https://h, server_name: 'https://x'", "target.server_name"},
		{"url: https://h, insecure: true, ca_file: c", "target.ca_file: has no effect"},
		{"url: 127.0.0.1:1, resolve: once", "target.resolve: has no effect: target.url has no name"},
		{"url: 'http://[::1]:1', spread: true", "target.spread: has no effect"},
		{"url: h:1, spread: true, proxy: p:1", "target.spread: has no effect: target.proxy looks names up"},
		{"url: 'unix:///x.sock', proxy: p:1", "target.proxy: has no effect"},
		{"url: 'unix:///x.sock', spread: true", "target.spread: has no effect"},
		{"url: h:1, http: 2, renew_after: 3", "target.renew_after: has no effect"},
		{"url: h:1, http: 2, proxy: p:1", "target.http: HTTP/2 without TLS does not pass a proxy"},
		{"url: h:1, proxy: 'socks5://p:1'", "target.proxy"},
		{"url: h:1, proxy: 'http://p:1/x'", "target.proxy"},
		{"url: h:1, urls: ['g:1']", "target.urls: target.url names a server, too"},
		{"urls: ['h:1', 'http://h:1/v1']", "target.urls[1]: the same server as target.urls[0]"},
		{"urls: ['http://u:p@h']", "target.urls[0]: user and password"},
		{"urls: ['h:1', 'http://']", "target.urls[1]"},
		{"url: h:1, renew_after: -1", "target.renew_after"},
	} {
		file := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(file, []byte("target: {"+tc.text+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, issues := Read(file, nil, nil)
		got := format(issues)
		if tc.want == "" && Failed(issues) || tc.want != "" && !strings.Contains(got, tc.want) {
			t.Errorf("%s: want %q, got\n%s", tc.text, tc.want, got)
		}
	}
}

// The credentials of a proxy are secrets like any other.
func TestProxySecret(t *testing.T) {
	s := Default()
	s.Target.URL, s.Target.Proxy = "h:1", "http://user:sesame@p:3128"
	for _, text := range []string{string(s.YAML()), string(s.JSON())} {
		if strings.Contains(text, "sesame") || !strings.Contains(text, "***@p:3128") {
			t.Error(text)
		}
	}
	if !strings.Contains(strings.Join(s.Secrets(), " "), "sesame") {
		t.Errorf("secrets %q", s.Secrets())
	}
	if u, err := s.Target.ProxyURL(); err != nil || u.Host != "p:3128" || u.User == nil {
		t.Errorf("%v, %v", u, err)
	}
}
