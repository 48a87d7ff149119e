package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"go.etcd.io/bbolt"
)

// Routes returns every emulated call, as "METHOD prefix/pattern".
func (s *Server) Routes() []string {
	var all []string
	for _, svc := range s.core.services() {
		for _, r := range svc.routes {
			all = append(all, r.method+" "+svc.prefix+"/"+r.pattern)
		}
	}
	slices.Sort(all)
	return all
}

// KnownPermissions returns the permissions of the emulated services.
func KnownPermissions() map[string]bool { return knownPermissions() }

// Tokens returns the number of access tokens in the store.
func (s *Server) Tokens() int {
	count := 0
	_ = s.core.store.view(func(tx *bbolt.Tx) error {
		count = tx.Bucket([]byte(tokens)).Stats().KeyN
		return nil
	})
	return count
}

// Fingerprint returns a hash of the store without access tokens.
func (s *Server) Fingerprint() (string, error) {
	hash := sha256.New()
	err := s.core.store.view(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, table *bbolt.Bucket) error {
			if string(name) == string(tokens) {
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
