package cloud

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
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

// ForgetAuthorities removes the certificate authorities of an instance, so that the store is like that of an earlier
// version.
func (s *Server) ForgetAuthorities(t testing.TB, instance string) {
	t.Helper()
	if err := s.core.Store.Update(func(tx *bbolt.Tx) error { return store.Remove(tx, store.Table("sqlAuthorities"), instance) }); err != nil {
		t.Fatal(err)
	}
}

// AuthorityKeys returns the private keys of an instance's certificate authorities.
func (s *Server) AuthorityKeys(t testing.TB, instance string) (keys [][]byte) {
	t.Helper()
	err := s.core.Store.View(func(tx *bbolt.Tx) error {
		found, err := store.Get[serverproxy.Authorities](tx, store.Table("sqlAuthorities"), instance)
		if err == nil && found != nil {
			keys = [][]byte{found.Server.Key, found.Client.Key}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// HasKeyMaterial reports whether the store has the key material of a version.
func (s *Server) HasKeyMaterial(t testing.TB, key string, version int) bool {
	t.Helper()
	var found *struct {
		Material []byte `json:"material"`
	}
	err := s.core.Store.View(func(tx *bbolt.Tx) (err error) {
		found, err = store.Get[struct {
			Material []byte `json:"material"`
		}](tx, store.Table("kmsVersions"), fmt.Sprintf("%s/%010d", key, version))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found != nil && len(found.Material) > 0
}
