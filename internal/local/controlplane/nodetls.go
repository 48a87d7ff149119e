package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// NodeTLS is how the node serves its own API: with a certificate from the cluster's CA, to the API server alone.
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
		// The CA vouches for every component and for the administrator too.
		VerifyConnection: func(state tls.ConnectionState) error {
			if user := state.PeerCertificates[0].Subject.CommonName; user != kubeletClient {
				return fmt.Errorf("%s may not ask the node: ask the API server", user)
			}
			return nil
		},
	}, nil
}
