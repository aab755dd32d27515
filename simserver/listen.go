package simserver

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Running is a Server on a TCP address.
type Running struct {
	*Server
	URL   string          // "http://host:port", without a path
	Nodes map[Node]string // of Options.Nodes, in the same form

	http  *http.Server
	done  chan error
	nodes []*http.Server
}

// Listen serves on addr ("127.0.0.1:0" for a free loopback port) until Close.
// Its error names the option that is out of range or the address that could not
// be had.
func Listen(addr string, o Options) (*Running, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("simulated server: %w", err)
	}
	s := New(o)
	r := &Running{Server: s, URL: "http://" + l.Addr().String(), done: make(chan error, 1), http: &http.Server{
		Handler: s, ReadHeaderTimeout: 30 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // a client's broken connection is no news to the server's user
	}}
	go func() { r.done <- r.http.Serve(l) }()
	for node, at := range o.Nodes {
		if err := r.serveNode(node, at); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// serveNode gives a node an address of its own.
func (r *Running) serveNode(node Node, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("simulated server: %s: %w", node, err)
	}
	h := &http.Server{Handler: r.ServeNode(node), ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	if r.Nodes == nil {
		r.Nodes = map[Node]string{}
	}
	r.Nodes[node] = "http://" + l.Addr().String()
	r.nodes = append(r.nodes, h)
	go func() { _ = h.Serve(l) }() // Close ends it
	return nil
}

// Close ends the listener, all connections and the server. It returns the first
// error of serving or of writing the trace.
func (r *Running) Close() error {
	err := r.http.Close()
	for _, h := range r.nodes {
		err = errors.Join(err, h.Close())
	}
	if served := <-r.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	r.done <- http.ErrServerClosed // a second Close finds it
	return errors.Join(err, r.Server.Close())
}
