package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// NodeTLS returns the TLS configuration of the node's own API. Its certificate is from the cluster's CA, and it
// accepts only the API server as a client.
func (c *ControlPlane) NodeTLS() (*tls.Config, error) {
	p := c.pki()
	certificate, err := tls.LoadX509KeyPair(p.cert(nodeServer), p.key(nodeServer))
	if err != nil {
		return nil, fmt.Errorf("load the node's certificate: %w", err)
	}
	ca, err := os.ReadFile(p.cert("ca"))
	if err != nil {
		return nil, fmt.Errorf("load the cluster's CA: %w", err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		// The CA also signs the certificates of the other components and of the administrator.
		VerifyConnection: func(state tls.ConnectionState) error {
			if user := state.PeerCertificates[0].Subject.CommonName; user != kubeletClient {
				return fmt.Errorf("%s may not call the API of the node: call the API server", user)
			}
			return nil
		},
	}, nil
}
