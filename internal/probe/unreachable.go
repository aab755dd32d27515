package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"tokentape/internal/client"
	"tokentape/internal/spec"
)

// unreachable is what mends a GET that got no answer.
func unreachable(err error, base spec.Base) string {
	text := err.Error()
	if strings.Contains(text, "the proxy ") {
		return "check target.proxy, or leave it out to reach the server directly"
	}
	var failed *client.Error
	if errors.As(err, &failed) && failed.Phase == client.PhaseBody {
		return "the answer began and could not be read: see what the server, or a gateway before it, logs"
	}
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		if unknown.IsNotFound {
			return fmt.Sprintf("no host is known by the name %q: check its spelling in target.url, or this machine's DNS and /etc/hosts; an address goes without either", unknown.Name)
		}
		return fmt.Sprintf("the name %q could not be looked up: check this machine's DNS, or give an address in target.url", unknown.Name)
	}
	switch client.Classify(err) {
	case client.ClassTLS:
		return handshake(err, text)
	case client.ClassConnectTimeout:
		return "nothing answers there within limits.connect; is the address right, and is a firewall between?"
	case client.ClassReset, client.ClassEOF, client.ClassOther:
		rest, plain := strings.CutPrefix(base.Root, "http://")
		switch {
		case plain && strings.Contains(text, `\x15\x03`): // a TLS alert, as net/http quotes it
			return "that port speaks TLS: use https://" + rest
		case plain:
			return "does that port speak TLS? Then use https://" + rest + "; else see what the server logs"
		}
	}
	return "is the server running at " + base.Root + "? Try the simulated one: tokentape sim"
}

// handshake is what mends a TLS handshake that failed. "": the message says it.
func handshake(err error, text string) string {
	var record tls.RecordHeaderError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case errors.As(err, &record), has("http://"):
		return "" // plain HTTP behind an https:// address
	case has("does not speak HTTP/2"):
		return `speak HTTP/1.1: target.http: "1.1"`
	case has("no application protocol"):
		return `the server refuses the version of HTTP that was offered: target.http: "1.1", or "2" where that was offered`
	case has("protocol version"), has("supported versions"):
		return "the server speaks no version of TLS that is spoken here, 1.2 and 1.3: let it, or a proxy in front of it, offer one of them"
	case has("handshake failure"), has("no cipher suite"):
		return "the server found no cipher in common: let it offer one of TLS 1.3, or an ECDHE one of TLS 1.2"
	case has("certificate required"):
		return "" // the client's hint names the fields
	case errors.As(err, &hostname):
		return "name the server that the certificate is for: target.server_name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate is out of date, or this machine's clock is wrong; for a test machine, --set target.insecure=true"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "give the authority that signed it: target.ca_file; or, for a test machine, --set target.insecure=true"
	}
	return "does that port speak TLS? If not, use http://"
}
