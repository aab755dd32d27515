package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// address is where a request goes.
type address struct {
	url  *url.URL // for net/http
	host string   // of the Host header
	name string   // for messages
}

// socketHost ends the host names under which net/http knows unix sockets: it
// keeps connections apart by host name, and a path cannot be one.
const socketHost = ".socket.invalid"

// parseURL reads http://, https:// and unix:///PATH:/REQUEST. It keeps the URL out
// of the message when it may hold a password.
func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil && strings.Contains(raw, "@"):
		err = errors.New("it is malformed, perhaps in its user or password: escape special characters with %")
	case err != nil:
		err = errors.Unwrap(err)
	case u.Scheme == "unix" && u.Host == "" && len(u.Path) > 1:
		path, request, _ := strings.Cut(u.Path, ":/")
		to := &url.URL{Scheme: "http", Host: hex.EncodeToString([]byte(path)) + socketHost, Path: "/" + request}
		return address{url: to, host: "localhost", name: "unix:" + path}, nil
	case u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("its scheme is %q; want http, https or unix", u.Scheme)
	case u.Host == "":
		err = errors.New("it names no host")
	default:
		return address{url: u, host: u.Host, name: u.Host}, nil
	}
	return address{}, &Error{Class: ClassOther, Phase: PhaseRequest, Doing: "read the URL", Err: err}
}

// socketOf is the path of the unix socket that a host name (with or without a
// port) made by parseURL stands for.
func socketOf(host string) (path string, ok bool) {
	code, _, ok := strings.Cut(host, socketHost)
	if !ok {
		return "", false
	}
	b, err := hex.DecodeString(code)
	return string(b), err == nil
}
