package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
)

// Routes returns every emulated call, as "METHOD prefix/pattern".
func (s *Server) Routes() []string {
	var all []string
	for _, svc := range s.core.Services() {
		for _, r := range svc.Routes {
			all = append(all, r.Method+" "+svc.Prefix+"/"+r.Pattern)
		}
	}
	slices.Sort(all)
	return all
}

// IsKnown reports whether some predefined role has a permission.
func IsKnown(permission string) bool {
	for _, role := range authz.PredefinedRoles() {
		if slices.Contains(role.Permissions, permission) {
			return true
		}
	}
	return false
}

// Tokens returns the number of access tokens in the store.
func (s *Server) Tokens() int {
	count := 0
	_ = s.core.Store.View(func(tx *bbolt.Tx) error {
		count = tx.Bucket([]byte(authn.Tokens)).Stats().KeyN
		return nil
	})
	return count
}

// Fingerprint returns a hash of the store without access tokens.
func (s *Server) Fingerprint() (string, error) {
	hash := sha256.New()
	err := s.core.Store.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, table *bbolt.Bucket) error {
			if string(name) == string(authn.Tokens) {
				return nil
			}
			return table.ForEach(func(k, v []byte) error {
				for _, part := range [][]byte{name, k, v} {
					sum := sha256.Sum256(part)
					hash.Write(sum[:])
				}
				return nil
			})
		})
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}
