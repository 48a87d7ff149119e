package cloud

import (
	"crypto/x509"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// SetClock sets the server's clock.
func (s *Server) SetClock(now func() time.Time) { s.core.Now = now }

// CertificateFor returns a certificate for hosts, signed by the server's authority.
func (s *Server) CertificateFor(t testing.TB, hosts ...string) *x509.Certificate {
	t.Helper()
	made, err := s.authority.certify(hosts, s.core.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// ForgetOwners removes the owners of an instance, so that the store is like that of an earlier version.
func (s *Server) ForgetOwners(t testing.TB, instance string) {
	t.Helper()
	if err := s.core.Store.Update(func(tx *bbolt.Tx) error { return store.RemoveAll(tx, store.Table("sqlOwners"), instance+"/") }); err != nil {
		t.Fatal(err)
	}
}
