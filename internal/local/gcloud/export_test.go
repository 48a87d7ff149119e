package gcloud

import (
	"crypto/x509"
	"testing"
	"time"
)

// SetClock makes the server take the time from now.
func (s *Server) SetClock(now func() time.Time) { s.now = now }

// VouchFor returns a certificate of the server's authority for hosts.
func (s *Server) VouchFor(t testing.TB, hosts ...string) *x509.Certificate {
	t.Helper()
	made, err := s.authority.vouch(hosts, s.now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// UpdatePaths says where the fields of a cluster's update go.
func UpdatePaths() map[string]string { return updatePaths() }
