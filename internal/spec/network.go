package spec

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ProxyEnvironment is the value of target.proxy that asks for HTTP_PROXY,
// HTTPS_PROXY and NO_PROXY.
const ProxyEnvironment = "environment"

// Servers are the target's URLs as the user wrote them: target.urls, or
// target.url alone, or none.
func (t *Target) Servers() []string {
	switch {
	case len(t.URLs) > 0:
		return t.URLs
	case t.URL != "":
		return []string{t.URL}
	}
	return nil
}

// ProxyURL is an explicit target.proxy, nil for none or the environment's. Its
// error carries the corrected form and never the userinfo.
func (t *Target) ProxyURL() (*url.URL, error) {
	if t.Proxy == "" || t.Proxy == ProxyEnvironment {
		return nil, nil
	}
	const use = "http://HOST:PORT, or environment"
	if m := schemePrefix.FindStringSubmatch(t.Proxy); m != nil && !strings.EqualFold(m[1], "http") {
		return nil, fmt.Errorf("%s: a proxy is spoken to in plain HTTP (https targets go through it by CONNECT); use %s", maskURL(t.Proxy), use)
	}
	u, _, err := parseServer(t.Proxy)
	if err != nil {
		return nil, err
	}
	if u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("%s: a proxy has no path; use %s", maskURL(t.Proxy), use)
	}
	u.Path = ""
	return u, nil
}

// network checks where requests go and how.
func (c *checker) network() {
	t := c.s.Target
	path := c.s.endpoint()
	known := strings.HasPrefix(path, "/")
	seen := map[string]string{}
	check := func(field, raw string) {
		var base Base
		var err error
		if known {
			base, _, err = ResolveURL(raw, path)
		} else if origin, _, e := parseUnix(raw); e != nil {
			err = e
		} else if origin == "" {
			_, _, err = parseServer(raw)
		}
		switch _, _, inURL := splitUserinfo(raw); {
		case err != nil:
			message, hint, _ := strings.Cut(err.Error(), "; ")
			c.bad(field, hint, "%s", message)
		case inURL && field != "target.url":
			c.bad(field, "give target.headers: {Authorization: …} once for all", "user and password cannot stand in one of several URLs")
		case known && seen[base.API] != "":
			c.bad(field, "keep one", "the same server as %s", seen[base.API])
		default:
			seen[base.API] = field
		}
	}
	if t.URL != "" {
		check("target.url", t.URL)
	}
	for i, raw := range t.URLs {
		check(fmt.Sprintf("target.urls[%d]", i), raw)
	}
	if t.URL != "" && len(t.URLs) > 0 {
		c.bad("target.urls", "keep one of the two", "target.url names a server, too")
	}
	if _, err := t.ProxyURL(); err != nil {
		message, hint, _ := strings.Cut(err.Error(), "; ")
		c.bad("target.proxy", hint, "%s", message)
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		c.bad("target.cert_file", "give both target.cert_file and target.key_file", "a certificate and its key go together")
	}
	if t.RenewAfter < 0 || t.RenewAfter > maxCount {
		c.bad("target.renew_after", "a number of requests; 0: never", "%d is out of range", t.RenewAfter)
	}
	if strings.ContainsAny(t.ServerName, "/: \t\n") {
		c.bad("target.server_name", "a name alone, such as model.example", "%q cannot be a server's name", clip(t.ServerName))
	}
}

// networkEffect says which of the target's settings change nothing.
func (s *Spec) networkEffect(idle func(when bool, path, why, mend string)) {
	t := &s.Target
	servers := t.Servers()
	all := func(f func(raw string) bool) bool {
		return len(servers) > 0 && !slices.ContainsFunc(servers, func(r string) bool { return !f(r) })
	}
	plain := all(func(r string) bool { return !isHTTPS(r) })
	for _, path := range []string{"target.insecure", "target.ca_file", "target.cert_file", "target.key_file", "target.server_name"} {
		idle(plain, path, "target.url is not https", "remove it, or use https://")
	}
	idle(!plain && t.Insecure, "target.ca_file", "target.insecure checks no certificate", "keep one of the two")

	sockets := all(func(r string) bool { origin, _, err := parseUnix(r); return err == nil && origin != "" })
	idle(sockets, "target.proxy", "target.url is a unix socket", "remove it")
	named := func(raw string) bool {
		u, _, err := parseServer(raw)
		if err != nil {
			origin, _, err := parseUnix(raw)
			return err != nil || origin == "" // what is wrong has its own issue
		}
		_, err = netip.ParseAddr(u.Hostname())
		return err != nil
	}
	addresses := all(func(r string) bool { return !named(r) })
	proxy, err := t.ProxyURL()
	for _, path := range []string{"target.resolve", "target.spread"} {
		idle(addresses, path, "target.url has no name to look up", "remove it, or use a name")
		idle(err == nil && proxy != nil, path, "target.proxy looks names up", "remove it, or the proxy")
	}
	idle(t.HTTP == "2", "target.renew_after", "a connection of HTTP/2 carries many requests at once", `remove it, or target.http: "1.1"`)
}

// plainHTTP2 refuses HTTP/2 with prior knowledge through a proxy.
func (c *checker) plainHTTP2() {
	t := &c.s.Target
	if t.HTTP != "2" || t.Proxy == "" || badProxy(t) {
		return
	}
	for _, raw := range t.Servers() {
		if origin, _, err := parseUnix(raw); err == nil && origin == "" && !isHTTPS(raw) {
			c.bad("target.http", `use https://, leave the proxy out, or target.http: "1.1"`, "HTTP/2 without TLS does not pass a proxy")
			return
		}
	}
}

func badProxy(t *Target) bool {
	_, err := t.ProxyURL()
	return err != nil
}
