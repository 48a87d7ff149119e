package storage

import (
	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// sweep removes expired uploads, and contents to which no record refers.
func (s *service) sweep() error {
	inUse := map[string]bool{}
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		var old []string
		err := store.Each(tx, uploads, "", func(key string, u *upload) error {
			if s.Now().Sub(u.Begun) > uploadLifetime {
				old = append(old, key)
			} else if !u.Done {
				inUse[u.Blob] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, key := range old {
			if err := store.Remove(tx, uploads, key); err != nil {
				return err
			}
		}
		return store.Each(tx, objects, "", func(_ string, found *object) error {
			inUse[found.Blob] = true
			return nil
		})
	})
	if err != nil {
		return err
	}
	return s.blobs.Sweep(inUse)
}
