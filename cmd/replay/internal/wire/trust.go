package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Trust returns the TLS configuration that trusts the system's authorities and those in
// ca, which is PEM and may be empty. It is nil when the defaults do.
func Trust(ca []byte) (*tls.Config, error) {
	if len(ca) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	n := 0
	for rest := ca; ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("block %d: got %q, want a CERTIFICATE", n+1, block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", n+1, err)
		}
		roots.AddCert(c)
	}
	if n == 0 {
		return nil, errors.New("got no PEM block, want certificates")
	}
	return &tls.Config{RootCAs: roots}, nil
}
