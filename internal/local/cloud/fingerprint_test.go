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
	for _, svc := range s.services {
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
	_ = s.store.view(func(tx *bbolt.Tx) error {
		count = tx.Bucket([]byte(tokens)).Stats().KeyN
		return nil
	})
	return count
}

// Fingerprint returns a hash of the store without access tokens.
func (s *Server) Fingerprint() (string, error) {
	hash := sha256.New()
	err := s.store.view(func(tx *bbolt.Tx) error {
		for _, t := range allTables() {
			if t == tokens {
				continue
			}
			err := tx.Bucket([]byte(t)).ForEach(func(k, v []byte) error {
				for _, part := range [][]byte{[]byte(t), k, v} {
					sum := sha256.Sum256(part)
					hash.Write(sum[:])
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}
