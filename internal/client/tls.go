package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSInfo is what a handshake agreed on.
type TLSInfo struct {
	Version string // "TLS 1.3"
	Cipher  string // "TLS_AES_128_GCM_SHA256"
	ALPN    string // "h2", "http/1.1", or ""
}

func tlsInfo(s tls.ConnectionState) *TLSInfo {
	return &TLSInfo{Version: tls.VersionName(s.Version), Cipher: tls.CipherSuiteName(s.CipherSuite), ALPN: s.NegotiatedProtocol}
}

// LoadCAs reads a PEM file of certificate authorities, which then are the only
// ones trusted. Its error names the file.
func LoadCAs(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("target.ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("target.ca_file: %s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", path)
	}
	return pool, nil
}

// LoadCertificate reads the client's own certificate and its key, both PEM. Its
// error names the file.
func LoadCertificate(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("target.cert_file: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("target.key_file: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("target.cert_file %s and target.key_file %s: %w", certFile, keyFile, err)
	}
	return pair, nil
}
