package cloud

import "go.etcd.io/bbolt"

// sweep removes the uploads that have expired, and the contents that no record refers to.
func (s *storageService) sweep() error {
	inUse := map[string]bool{}
	err := s.store.update(func(tx *bbolt.Tx) error {
		var old []string
		err := each(tx, uploads, "", func(key string, u *upload) error {
			if s.now().Sub(u.Begun) > uploadLifetime {
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
			if err := remove(tx, uploads, key); err != nil {
				return err
			}
		}
		return each(tx, objects, "", func(_ string, found *object) error {
			inUse[found.Blob] = true
			return nil
		})
	})
	if err != nil {
		return err
	}
	return s.blobs.Sweep(inUse)
}
