package client

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// A request for http:// goes to its proxy in absolute form, which net/http does;
// one for https:// goes through a tunnel (CONNECT) that is made here, so that the
// stamps stand where they do without a proxy.

// proxyOf is net/http's question which proxy a plain request takes.
func (c *Client) proxyOf(req *http.Request) (*url.URL, error) {
	if c.cfg.Proxy == nil || req.URL.Scheme != "http" {
		return nil, nil
	}
	if _, ok := socketOf(req.URL.Host); ok {
		return nil, nil
	}
	p, err := c.cfg.Proxy(req.URL)
	if p != nil {
		c.proxies.Store(hostPort(p), true)
	}
	return p, err
}

// isProxy reports whether addr is dialled as the proxy of plain requests.
func (c *Client) isProxy(addr string) bool {
	_, ok := c.proxies.Load(addr)
	return ok
}

// tunnelFor is the proxy through which a TLS connection to addr is made, or nil.
func (c *Client) tunnelFor(addr string, secure bool) (*url.URL, error) {
	if c.cfg.Proxy == nil || !secure {
		return nil, nil
	}
	return c.cfg.Proxy(&url.URL{Scheme: "https", Host: addr})
}

// proxyName is the proxy of a request, for people; "" for none.
func (c *Client) proxyName(u *url.URL) string {
	if c.cfg.Proxy == nil {
		return ""
	}
	if _, ok := socketOf(u.Host); ok {
		return ""
	}
	if p, err := c.cfg.Proxy(u); err == nil && p != nil {
		return p.Host
	}
	return ""
}

func hostPort(proxy *url.URL) string {
	if proxy.Port() == "" {
		return net.JoinHostPort(proxy.Hostname(), "80")
	}
	return proxy.Host
}

// errProxy is a proxy that would not make a tunnel.
type errProxy struct {
	status string
	code   int
}

func (e *errProxy) Error() string { return "it answered CONNECT with " + e.status }

// tunnel asks the proxy at the other end of nc for a connection to addr.
func tunnel(ctx context.Context, nc net.Conn, proxy *url.URL, addr string) error {
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	req := "CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n"
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		req += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)) + "\r\n"
	}
	if _, err := nc.Write([]byte(req + "\r\n")); err != nil {
		return err
	}
	// A server of TLS says nothing before it is spoken to, so that no byte of it
	// can be lost in this buffer.
	in := bufio.NewReader(nc)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("its answer to CONNECT: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return &errProxy{resp.Status, resp.StatusCode}
	}
	if in.Buffered() > 0 {
		return errors.New("it sent bytes of its own after its answer to CONNECT")
	}
	return nil
}
