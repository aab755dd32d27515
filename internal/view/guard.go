package view

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// headers are those of every answer.
var headers = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// ownPolicy is the content security policy of all answers but the pages of runs, which
// have html.Policy.
const ownPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// admit answers what may not be answered otherwise, and says whether it did not.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	for k, v := range headers {
		h.Set(k, v)
	}
	h.Set("Content-Security-Policy", ownPolicy)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD: nothing here can be changed")
	case !s.answersTo(r.Host):
		// Another name may be one that a page elsewhere had resolve to this address.
		refuse(w, http.StatusForbidden, fmt.Sprintf("this server does not answer to %q; if it shall: tokentape view --host NAME", shown(r.Host, 80)))
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
		refuse(w, http.StatusForbidden, "asked for by a page of another site")
	case s.o.Token == "":
		return true
	default:
		return s.known(w, r)
	}
	return false
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// answersTo reports whether a Host is one of ours: an address, localhost, or a name that
// we were told of. The port may be another, behind a forwarding.
func (s *Server) answersTo(host string) bool { return AnswersTo(host, s.o.Hosts) }

// AnswersTo reports whether the Host of a request is an address, localhost, or one of
// some names, with any port.
func AnswersTo(host string, names []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == "localhost" || name != "" && slices.ContainsFunc(names, func(h string) bool { return strings.ToLower(h) == name })
}

// cookieName is the cookie's: cookies are of a host, and servers of several ports must
// not overwrite each other's.
func (s *Server) cookieName() string {
	h := sha256.Sum256([]byte(s.o.Token))
	return "tokentape-" + hex.EncodeToString(h[:4])
}

func (s *Server) isToken(text string) bool {
	a, b := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(s.o.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// known lets who shows the token in. In a URL it is exchanged for a cookie, so that it
// does not stay in the address bar.
func (s *Server) known(w http.ResponseWriter, r *http.Request) bool {
	if c, err := r.Cookie(s.cookieName()); err == nil && s.isToken(c.Value) {
		if r.URL.Query().Has("token") {
			s.again(w, r)
			return false
		}
		return true
	}
	if text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && s.isToken(text) {
		return true
	}
	if !s.isToken(r.URL.Query().Get("token")) {
		refuse(w, http.StatusForbidden, "the token is missing or wrong: open the address that tokentape view printed, with its ?token=")
		return false
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.o.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	s.again(w, r)
	return false
}

// again sends a browser to the same page without the token. A redirect would not do: after
// a link from another site it goes without the cookie.
func (s *Server) again(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	q.Del("token")
	to := "/" // whatever the path was, it is one of ours
	if text := q.Encode(); text != "" {
		to += "?" + text
	}
	s.render(w, http.StatusOK, "again.html", &pageData{Lang: s.langOf(r), To: to})
}
