package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// Class says what kind of failure an error of this package is.
type Class uint8

// The classes. ClassOther stands for what net/http refused: a malformed response
// or request.
const (
	ClassOther          Class = iota
	ClassConnect              // refused, unreachable, name not found
	ClassTLS                  // the TLS handshake failed
	ClassConnectTimeout       // dial and TLS together took longer than Config.Connect
	ClassReset                // the connection broke: reset, broken pipe, keep-alive timeout
	ClassEOF                  // the server ended the connection before the response was complete
	ClassLimit                // this machine has no descriptor, port or buffer left
	ClassCancelled            // the request's context was done, or the client closed
)

var classNames = [...]string{"other", "connect", "tls", "connect_timeout", "reset", "eof", "limit", "cancelled"}

// String is the class's name in lower case, such as "connect_timeout".
func (c Class) String() string { return classNames[c] }

// Phase says how far a request had come.
type Phase uint8

// The phases.
const (
	PhaseConnect Phase = iota
	PhaseTLS
	PhaseRequest // sending it and waiting for the response header
	PhaseBody
)

// Error is a failed request. Its message holds no header, no body and no URL.
type Error struct {
	Class Class
	Phase Phase
	Doing string // "connect to 10.0.0.7:8000"
	Hint  string // what mends it, may be empty
	Err   error
	// Remote is the address that was dialled, where a Resolver named it.
	Remote string
}

// Error is what was being done, why it failed, and what mends it.
func (e *Error) Error() string {
	s := e.Doing + ": " + reason(e.Err)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrConnectTimeout is the cause of errors of ClassConnectTimeout.
	ErrConnectTimeout = errors.New("no connection within the connect limit")
	// ErrClosed is the cause of requests that Client.Close ended.
	ErrClosed = errors.New("the client is closed")

	errBodyClosed = errors.New("the body is closed")
	errDrain      = errors.New("the rest of the body did not come in time")
)

// Classify tells the class of an error of this package, and of a bare network
// error as well as its text and type allow. A nil error is ClassOther.
func Classify(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	var errno syscall.Errno
	var op *net.OpError
	var dns *net.DNSError
	var proxy *errProxy
	switch {
	case err == nil:
		return ClassOther
	case errors.Is(err, ErrConnectTimeout):
		return ClassConnectTimeout
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrClosed):
		return ClassCancelled
	case errors.As(err, &errno) && limits[errno], errors.As(err, &dns) && strings.Contains(dns.Err, syscall.EMFILE.Error()):
		return ClassLimit
	case isTLS(err):
		return ClassTLS
	case errors.As(err, &proxy), errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return ClassConnect
	case errors.As(err, new(streamError)), isGone(err):
		return ClassReset
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.ETIMEDOUT):
		return ClassReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isServerClosedIdle(err):
		return ClassEOF
	}
	return ClassOther
}

var limits = map[syscall.Errno]bool{
	syscall.EMFILE: true, syscall.ENFILE: true, syscall.EADDRNOTAVAIL: true,
	syscall.ENOBUFS: true, syscall.ENOMEM: true,
}

// isServerClosedIdle knows net/http's unexported error by its text: the server
// closed a reused connection before a response byte came.
func isServerClosedIdle(err error) bool {
	return strings.HasSuffix(err.Error(), "http: server closed idle connection")
}

func isTLS(err error) bool {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert)
}

// wrap makes an *Error. What failed after ctx was done failed because of that.
func wrap(ctx context.Context, phase Phase, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &Error{Class: ClassCancelled, Phase: phase, Doing: doing, Err: cause}
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	e = &Error{Class: Classify(err), Phase: phase, Doing: doing, Err: err}
	switch {
	case e.Class == ClassOther && phase == PhaseConnect:
		e.Class = ClassConnect
	case phase == PhaseTLS && e.Class != ClassConnectTimeout && e.Class != ClassCancelled:
		e.Class = ClassTLS // whatever broke it, there was no handshake
	}
	e.Hint = hint(err)
	return e
}

func hint(err error) string {
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var proxy *errProxy
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "this machine ran out of file descriptors: raise `ulimit -n`, or lower the concurrency"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine has no local port left for that address, or no address of that family at all"
	case errors.As(err, &record):
		return "the server does not speak TLS on this port: use an http:// URL"
	case errors.As(err, &proxy) && proxy.code == http.StatusProxyAuthRequired:
		return "give its user and password: target.proxy: http://USER:PASSWORD@HOST:PORT"
	case errors.As(err, &hostname):
		return "name the server that the certificate is for with target.server_name"
	case errors.Is(err, errNoHTTP2), errors.Is(err, errNotHTTP2), strings.Contains(err.Error(), "looked like an HTTP/1.1 header"):
		return `the server speaks HTTP/1.1 only: target.http: "1.1"`
	case strings.Contains(err.Error(), "no application protocol"):
		return `the server does not speak the HTTP version that was offered: set target.http: "1.1" where it is "2", and the other way round`
	case strings.Contains(err.Error(), "certificate required"):
		return "the server wants a client certificate: target.cert_file and target.key_file"
	case errors.As(err, &authority):
		return "name the certificate authority with target.ca_file, or skip the check with target.insecure: true"
	}
	return ""
}

// reason is the innermost text that says why, without the address that Doing
// already names.
func reason(err error) string {
	var errno syscall.Errno
	var dns *net.DNSError
	var reset streamError
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &reset):
		return reset.Error()
	case errors.As(err, &dns):
		return "lookup " + dns.Name + ": " + dns.Err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the response was complete"
	case errors.Is(err, io.EOF), isServerClosedIdle(err):
		return "the server closed the connection without a response"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "i/o timeout"
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return "the connection was lost while the request was written"
	}
	return notRetried(err.Error())
}
