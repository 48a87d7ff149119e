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

// VouchFor returns a certificate of the server's authority for hosts.
func (s *Server) VouchFor(t testing.TB, hosts ...string) *x509.Certificate {
	t.Helper()
	made, err := s.authority.vouch(hosts, s.core.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// ForgetOwners removes the owners of an instance, so that the store looks like one of earlier versions.
func (s *Server) ForgetOwners(t testing.TB, instance string) {
	t.Helper()
	if err := s.core.Store.Update(func(tx *bbolt.Tx) error { return store.RemoveAll(tx, store.Table("sqlOwners"), instance+"/") }); err != nil {
		t.Fatal(err)
	}
}
