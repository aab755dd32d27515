package spec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Base is a resolved target URL. Both are absolute, without a trailing slash.
type Base struct {
	Root string // the server: "http://h:8000", "https://h/prefix"
	API  string // what stands for "/v1": "http://h:8000/v1", "https://h/api/paas/v4"
}

// Join is the URL of a path: "/v1/…" under the API root, anything else ("/health",
// "/metrics") under the server's root.
func (b Base) Join(p string) string {
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	if rest, ok := strings.CutPrefix(p, "/v1/"); ok {
		return b.API + "/" + rest
	}
	return b.Root + p
}

var (
	versionSegment = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]*)?$`)
	schemePrefix   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)
	brokenScheme   = regexp.MustCompile(`^(?i:https?)[:;]/?([^/0-9].*)$`)
)

// Endpoints that a pasted URL may end in and that no target.api here sends to.
var foreignEndpoints = []string{"/embeddings", "/models", "/api/generate"}

// ResolveURL turns what a user writes as the server's URL into a Base. One rule:
// scheme (http when missing), host, optional port, optional path prefix; a path
// that ends in the endpoint of the API (apiPath, as Dialect.Path gives it) or in
// a version such as /v1 names the API root, any other path is a prefix to which
// /v1 is added. For a unix socket (unix:///SOCKET:/PREFIX) the same holds of what
// follows the first ":/" of its path. The strings are notes for the user. Errors
// carry the corrected form and never the userinfo.
func ResolveURL(raw, apiPath string) (Base, []string, error) {
	var notes []string
	origin, prefix, err := parseUnix(raw)
	if err == nil && origin == "" {
		var u *url.URL
		if u, notes, err = parseServer(raw); err == nil {
			origin, prefix = originOf(u), u.EscapedPath()
		}
	}
	if err != nil {
		return Base{}, nil, err
	}
	prefix = cleanPath(prefix)
	if strings.Contains(prefix+"/", "/v1/v1/") {
		return Base{}, nil, fmt.Errorf("%s has /v1 twice; use %s", maskURL(raw), maskURL(origin)+strings.Replace(prefix, "/v1/v1", "/v1", 1))
	}
	tail, versioned := strings.CutPrefix(apiPath, "/v1/")
	tail = "/" + strings.TrimPrefix(tail, "/")

	own := len(tail) > 1 && strings.HasSuffix(prefix, tail)
	if end, owner := endpointOf(prefix); end != "" && end != tail && !(own && len(tail) > len(end)) {
		root := maskURL(origin) + strings.TrimSuffix(prefix, end)
		if owner == "" {
			return Base{}, nil, fmt.Errorf("%s ends in %s, which is not the endpoint of %s (%s); use %s",
				maskURL(raw), end, apiNamed(apiPath), apiPath, root)
		}
		return Base{}, nil, fmt.Errorf("%s ends in %s, the endpoint of %s, but target.api is %s; use --api %s, or end the URL at %s",
			maskURL(raw), end, owner, apiNamed(apiPath), owner, root)
	}

	bare, full := strings.CutSuffix(prefix, tail)
	root := bare
	last := path.Base("/" + bare)
	switch {
	case versionSegment.MatchString(last) && (versioned || !full):
		root = strings.TrimSuffix(bare, "/"+last)
		if last != "v1" && !full && versioned {
			notes = append(notes, fmt.Sprintf("/%s is taken as the API root, so /v1 is not added", last))
		}
	case full && versioned:
		// https://h/chat/completions: used exactly, with no /v1 anywhere.
	default:
		bare += "/v1"
	}
	return Base{Root: origin + root, API: origin + bare}, notes, nil
}

// parseUnix takes a unix socket's URL apart: origin is "unix:///SOCKET:", prefix the
// path of the requests under it; both are empty for any other URL. Three spellings
// are known: unix:///SOCKET:/PREFIX, http+unix:///SOCKET:/PREFIX, and
// http+unix://%2FSOCKET/PREFIX with the socket's slashes escaped.
func parseUnix(raw string) (origin, prefix string, err error) {
	raw = strings.TrimSpace(raw)
	m := schemePrefix.FindStringSubmatch(raw)
	if m == nil {
		return "", "", nil
	}
	scheme, rest := strings.ToLower(m[1]), raw[len(m[0]):]
	if scheme != "unix" && scheme != "http+unix" {
		return "", "", nil
	}
	const use = "; use unix:///run/server.sock"
	socket, prefix, _ := strings.Cut(rest, ":/")
	if host, path, _ := strings.Cut(rest, "/"); host != "" {
		if socket, err = url.PathUnescape(host); err != nil || !strings.HasPrefix(socket, "/") {
			return "", "", fmt.Errorf("%s: the path of a socket begins with a slash%s", maskURL(raw), use)
		}
		prefix = path
	}
	if socket = strings.TrimSuffix(socket, ":"); socket == "" || socket == "/" {
		return "", "", fmt.Errorf("%s: no socket%s", maskURL(raw), use)
	}
	u := url.URL{Scheme: "unix", Path: socket}
	if strings.ContainsAny(rest, "?#") {
		return "", "", fmt.Errorf("%s: no ? or # can follow a socket; leave it out", maskURL(raw))
	}
	return u.String() + ":", "/" + prefix, nil
}

// parseServer reads scheme, userinfo, host, port and path, and refuses the rest.
func parseServer(raw string) (*url.URL, []string, error) {
	raw = strings.TrimSpace(raw)
	shown := maskURL(raw)
	if raw == "" {
		return nil, nil, errors.New("no URL; use http://HOST:PORT")
	}
	var notes []string
	rest := raw
	if m := schemePrefix.FindStringSubmatch(raw); m != nil {
		rest = raw[len(m[0]):]
		if s := strings.ToLower(m[1]); s != "http" && s != "https" {
			return nil, nil, fmt.Errorf("%s: scheme %q is not http or https; use http://%s", shown, m[1], maskURL(rest))
		}
	} else {
		if m := brokenScheme.FindStringSubmatch(raw); m != nil {
			return nil, nil, fmt.Errorf("%s: no \"//\" after the scheme; use %s://%s", shown, strings.ToLower(strings.TrimRight(raw[:5], ":;/")), maskURL(m[1]))
		}
		rest = strings.TrimPrefix(raw, "//")
		raw = "http://" + rest
		notes = append(notes, "no scheme given: http assumed")
	}
	if strings.ContainsAny(rest, "?") {
		return nil, nil, fmt.Errorf("%s: a query string is not sent with requests; leave it out (target.headers takes keys)", shown)
	}
	if strings.Contains(rest, "#") {
		return nil, nil, fmt.Errorf("%s: a #fragment never reaches a server; leave it out", shown)
	}
	scheme := strings.ToLower(raw[:strings.Index(raw, "://")])
	authority, tail := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 && !strings.Contains(rest[i:], "@") {
		authority, tail = rest[:i], rest[i:]
	} else if i >= 0 {
		return nil, nil, fmt.Errorf("%s: \"@\" after the first \"/\"; write \"/\" in a password as %%2F, and \"@\" in a path as %%40", shown)
	}
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if err := checkHost(shown, scheme, host, tail); err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) && !strings.Contains(rest, "@") {
			err = ue.Err
		} else {
			err = errors.New("user and password need %-escapes for special characters")
		}
		return nil, nil, fmt.Errorf("%s: %w; use http://HOST:PORT", shown, err)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
		notes = append(notes, fmt.Sprintf("%s is an address to listen on; a client normally uses 127.0.0.1 or the server's name", u.Hostname()))
	}
	return u, notes, nil
}

// checkHost refuses what net/url accepts or explains badly: no host, no port
// after the colon, IPv6 without brackets.
func checkHost(shown, scheme, host, tail string) error {
	use := func(h string) string { return scheme + "://" + h + tail }
	if host == "" {
		return fmt.Errorf("%s: no host; use %s", shown, use("127.0.0.1:8000"))
	}
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return fmt.Errorf("%s: no \"]\" after the IPv6 address; use %s", shown, use("[::1]:8000"))
		}
		addr, _, _ := strings.Cut(host[1:end], "%")
		if ip, err := netip.ParseAddr(addr); err != nil || !ip.Is6() {
			return fmt.Errorf("%s: %s is not an IPv6 address; use %s", shown, host[:end+1], use("[::1]:8000"))
		}
		if after := host[end+1:]; after != "" {
			return checkPort(shown, strings.TrimPrefix(after, ":"), use(host[:end+1]+":8000"))
		}
		return nil
	}
	name, port, hasPort := strings.Cut(host, ":")
	if strings.Count(host, ":") > 1 {
		return fmt.Errorf("%s: an IPv6 address needs brackets; use %s", shown, use(bracket(host)))
	}
	if !hasPort {
		return nil
	}
	if name == "" {
		return fmt.Errorf("%s: no host before the port; use %s", shown, use("127.0.0.1:"+port))
	}
	return checkPort(shown, port, use(name+":8000"))
}

func checkPort(shown, port, use string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%s: port %q is not a number from 1 to 65535; use %s", shown, port, use)
	}
	return nil
}

// bracket guesses what an unbracketed IPv6 host meant: a last group of four or
// more digits that leaves an address before it was a port.
func bracket(host string) string {
	i := strings.LastIndexByte(host, ':')
	before, port := host[:i], host[i+1:]
	ip, err := netip.ParseAddr(before)
	if n, perr := strconv.ParseUint(port, 10, 16); err == nil && perr == nil && n >= 1000 {
		if ip.IsUnspecified() {
			before = "::1"
		}
		return "[" + before + "]:" + port
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "[" + host + "]:8000"
	}
	return "[::1]:8000"
}

// endpointOf is the known endpoint that a path ends in, and the API it belongs
// to ("" when it is no API of ours).
func endpointOf(p string) (end, owner string) {
	try := func(tail, name string) {
		if strings.HasSuffix(p, tail) && len(tail) > len(end) {
			end, owner = tail, name
		}
	}
	for _, a := range APIs {
		if a.Path != "" && !strings.Contains(a.Path, "{") {
			try("/"+strings.TrimPrefix(strings.TrimPrefix(a.Path, "/v1/"), "/"), a.Name)
		}
	}
	for _, e := range foreignEndpoints {
		try(e, "")
	}
	return end, owner
}

func apiNamed(p string) string {
	for _, a := range APIs {
		before, _, _ := strings.Cut(a.Path, "{model}")
		if a.Path == p || p != "" && a.Whole == p || before != a.Path && strings.HasPrefix(p, before) {
			return a.Name
		}
	}
	return p
}

func originOf(u *url.URL) string {
	o := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	return o.String()
}

// cleanPath drops empty and dot segments and the trailing slash; "" for the root.
func cleanPath(p string) string {
	p = path.Clean("/" + p)
	if p == "/" {
		return ""
	}
	return p
}

// splitUserinfo takes user and password out of a URL and gives them as the value
// of a Basic Authorization header.
func splitUserinfo(raw string) (bare, auth string, ok bool) {
	u, _, err := parseServer(raw)
	if err != nil || u.User == nil {
		return raw, "", false
	}
	pass, _ := u.User.Password()
	auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+pass))
	from, at := 0, strings.LastIndexByte(raw, '@')
	if i := strings.Index(raw, "://"); i >= 0 {
		from = i + 3
	}
	return raw[:from] + raw[at+1:], auth, true
}

// basicParts are the plain user:password and password of a Basic credential.
func basicParts(credential string) []string {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credential))
	if err != nil {
		return nil
	}
	_, pass, ok := strings.Cut(string(b), ":")
	if !ok {
		return nil
	}
	return []string{string(b), pass}
}
