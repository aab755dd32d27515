package client

import (
	"crypto/x509"
	"fmt"
	"os"
)

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
