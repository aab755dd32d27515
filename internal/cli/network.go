package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tokentape/internal/client"
	"tokentape/internal/clock"
	"tokentape/internal/probe"
	"tokentape/internal/spec"
	"tokentape/internal/telemetry"
	"tokentape/tape"
)

// network is how the target is reached. All clients of a run share it, so that
// the preflight, the load and the scrapes take the same way.
type network struct {
	cfg       client.Config // without a clock
	addresses []string      // "name: address, address" of names that were looked up once
}

// makeNetwork reads the files that the target's settings name.
func (j *job) makeNetwork() error {
	s := j.spec
	t := &s.Target
	cfg := client.Config{
		Insecure: t.Insecure, ServerName: t.ServerName, HTTP2: t.HTTP == "2", RenewAfter: t.RenewAfter,
		MaxIdle: client.IdleOf(s.Load.Concurrency), IdleTimeout: s.Limits.KeepAlive.D(), Connect: s.Limits.Connect.D(),
	}
	if t.CAFile != "" {
		pool, err := client.LoadCAs(t.CAFile)
		if err != nil {
			return usageError(err.Error())
		}
		cfg.RootCAs = pool
	}
	if t.CertFile != "" {
		pair, err := client.LoadCertificate(t.CertFile, t.KeyFile)
		if err != nil {
			return usageError(err.Error())
		}
		cfg.Certificates = append(cfg.Certificates, pair)
	}
	switch fixed, err := t.ProxyURL(); {
	case err != nil:
		return usageError(err.Error())
	case fixed != nil:
		cfg.Proxy = func(*url.URL) (*url.URL, error) { return fixed, nil }
	case t.Proxy == spec.ProxyEnvironment:
		cfg.Proxy = environmentProxy
	}
	if t.Resolve == "once" || t.Spread {
		cfg.Resolver = &client.Resolver{Once: t.Resolve == "once", Spread: t.Spread}
	}
	j.net = network{cfg: cfg}
	if t.Insecure {
		j.notes = append(j.notes, "TLS certificates are not checked (target.insecure): whoever answers is taken for the server")
	}
	if cfg.HTTP2 {
		j.notes = append(j.notes, "HTTP/2: a stamp is the return of a read from the decoded body, not from the connection")
	}
	_, err := j.proxy()
	return err
}

// environmentProxy is HTTP_PROXY, HTTPS_PROXY and NO_PROXY as net/http reads them:
// never for localhost and loopback addresses.
func environmentProxy(u *url.URL) (*url.URL, error) {
	p, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if p != nil && p.Scheme != "http" {
		return nil, fmt.Errorf("the environment names a proxy of scheme %q; only http:// is known", p.Scheme)
	}
	return p, err
}

// proxy is the proxy of the target without credentials, "" for none.
func (j *job) proxy() (string, error) {
	if j.net.cfg.Proxy == nil {
		return "", nil
	}
	var names []string
	for _, raw := range j.urls() {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme == "unix" {
			continue
		}
		p, err := j.net.cfg.Proxy(u)
		if err != nil {
			return "", usageError("target.proxy: " + err.Error())
		}
		if p != nil && !slices.Contains(names, "http://"+p.Host) {
			names = append(names, "http://"+p.Host)
		}
	}
	return strings.Join(names, ", "), nil
}

// client is a client of the target.
func (j *job) client(clk *clock.Clock) *client.Client {
	cfg := j.net.cfg
	cfg.Clock = clk
	return client.New(cfg)
}

// loadClient is a client of the target that tells how long bytes waited for it, as the
// spec asks.
func (j *job) loadClient(clk *clock.Clock) (*client.Client, *telemetry.Waits) {
	cfg, waits := j.net.cfg, &telemetry.Waits{}
	cfg.Clock = clk
	cfg.Waited, cfg.WaitedOf = waits.Asked(j.spec.Telemetry.KernelStamps)
	return client.New(cfg), waits
}

// otherClient is a client of hosts beside the target, such as exporters of
// metrics: the same trust and proxies, but none of what only the target is.
func (j *job) otherClient(clk *clock.Clock) *client.Client {
	cfg := j.net.cfg
	cfg.Clock, cfg.HTTP2, cfg.ServerName, cfg.RenewAfter, cfg.Resolver = clk, false, "", 0, nil
	return client.New(cfg)
}

// isTarget reports whether a URL is on one of the target's own hosts.
func (j *job) isTarget(other string) bool {
	u, err := url.Parse(other)
	return err == nil && slices.ContainsFunc(j.bases, func(b spec.Base) bool {
		root, err := url.Parse(b.Root)
		if err == nil && u.Scheme == "unix" && root.Scheme == "unix" {
			mine, _, _ := strings.Cut(root.Path, ":")
			theirs, _, _ := strings.Cut(u.Path, ":")
			return mine == theirs
		}
		return err == nil && u.Host == root.Host && u.Scheme == root.Scheme
	})
}

// resolve looks the target's names up when that is done once, before the run.
func (j *job) resolve(ctx context.Context) error {
	r := j.net.cfg.Resolver
	if r == nil || !r.Once {
		return nil
	}
	for _, raw := range j.urls() {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme == "unix" {
			continue
		}
		addrs, err := r.Resolve(ctx, u.Hostname())
		if err != nil {
			return &exitError{code: exitNothing, msg: j.mask(fmt.Sprintf("%s: %v", raw, err)), hints: []string{"is the name right, and does this machine's resolver know it?"}}
		}
		texts := make([]string, len(addrs))
		for i, a := range addrs {
			texts[i] = a.String()
		}
		line := u.Hostname() + ": " + strings.Join(texts, ", ")
		if !slices.Contains(j.net.addresses, line) {
			j.net.addresses = append(j.net.addresses, line)
		}
	}
	return nil
}

// preflight asks every server who it is, by GETs alone, over connections of its
// own: the first request of a run finds no connection warmed.
func (j *job) preflight(ctx context.Context, clk *clock.Clock) (*probe.Result, error) {
	c := j.client(clk)
	defer c.Close()
	var first *probe.Result
	j.looks = nil
	for i, base := range j.bases {
		look := j.look(j.witness(base).Watch(c), base)
		look.Now = clk.Now
		pre, err := look.Do(ctx)
		if err != nil {
			return nil, j.refusal(err)
		}
		j.looks = append(j.looks, pre)
		if i == 0 {
			first = pre
			continue
		}
		if n := pre.Context.Tokens; n > 0 && (first.Context.Tokens == 0 || n < first.Context.Tokens) {
			first.Context = pre.Context // the shortest: requests take the servers in turn
		}
		first.Steps = append(first.Steps, pre.Steps...)
		first.Notes = append(first.Notes, differences(base.Root, first.Server, pre.Server)...)
		for _, n := range pre.Notes {
			if !slices.Contains(first.Notes, n) {
				first.Notes = append(first.Notes, n)
			}
		}
	}
	j.finishServer(&first.Server)
	return first, nil
}

// finishServer says of the server what the spec and the network do.
func (j *job) finishServer(s *tape.Server) {
	s.URL = j.mask(j.url())
	if len(j.bases) > 1 {
		for _, u := range j.urls() {
			s.URLs = append(s.URLs, j.mask(u))
		}
	}
	s.Addresses, s.HTTP = j.net.addresses, j.spec.Target.HTTP
	if s.TLS != nil {
		s.TLS.Unproved = j.spec.Target.Insecure
	}
	s.Proxy, _ = j.proxy() // asked before
}

// differences says where one of several servers is not like the first.
func differences(root string, first, other tape.Server) []string {
	var notes []string
	for _, f := range []struct{ what, a, b string }{
		{"model", first.Model, other.Model},
		{"engine", strings.TrimSpace(first.Engine + " " + first.Version), strings.TrimSpace(other.Engine + " " + other.Version)},
	} {
		if f.a != f.b {
			notes = append(notes, fmt.Sprintf("%s is not like the first server: %s %q, not %q", root, f.what, f.b, f.a))
		}
	}
	return notes
}

// networkLines say how the target is reached, where that is not the plain way.
func (j *job) networkLines(s tape.Server) []string {
	var out []string
	for _, u := range s.URLs[min(1, len(s.URLs)):] {
		out = append(out, "and "+u+", in turn")
	}
	switch {
	case s.Proxy != "":
		out = append(out, "through the proxy "+s.Proxy)
	case j.spec.Target.Proxy == spec.ProxyEnvironment:
		out = append(out, "direct: the environment names no proxy for it")
	}
	out = append(out, s.Addresses...)
	if t := s.TLS; t != nil {
		line := t.Version + ", " + t.Cipher
		if t.ALPN != "" {
			line += ", " + t.ALPN
		}
		out = append(out, line)
	}
	return out
}
