package kms

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// The states of versions.
const (
	enabled          = "ENABLED"
	disabled         = "DISABLED"
	destroyScheduled = "DESTROY_SCHEDULED"
	destroyed        = "DESTROYED"
)

// version is the record of a version of a key.
type version struct {
	Version *cloudkms.CryptoKeyVersion `json:"version"`
	Number  int                        `json:"number"`
	// Material is the key of AES-256. It is empty after the destruction.
	Material []byte `json:"material,omitempty"`
}

func versionKey(keyName string, number int) string { return fmt.Sprintf("%s/%010d", keyName, number) }

// versionNumber parses the ID of a version.
func versionNumber(id string) (int, error) {
	number, err := strconv.Atoi(id)
	if err != nil || number < 1 || strconv.Itoa(number) != id {
		return 0, api.InvalidArgument("The CryptoKeyVersion ID '%s' is not a positive number.", api.Printable(id))
	}
	return number, nil
}

// addVersion stores a new version of a key, and counts it in the key's record, which the caller stores.
func (s *service) addVersion(tx *bbolt.Tx, k *key) (*version, error) {
	k.Last++
	now := api.Timestamp(s.Now())
	made := &version{Number: k.Last, Material: make([]byte, 32), Version: &cloudkms.CryptoKeyVersion{
		Name: k.Key.Name + "/cryptoKeyVersions/" + strconv.Itoa(k.Last), State: enabled, ProtectionLevel: level, Algorithm: algorithm,
		CreateTime: now, GenerateTime: now,
	}}
	if _, err := rand.Read(made.Material); err != nil {
		return nil, fmt.Errorf("make the key material of %s: %w", made.Version.Name, err)
	}
	return made, putVersion(tx, k.Key.Name, made)
}

func putVersion(tx *bbolt.Tx, keyName string, v *version) error {
	return store.Put(tx, versions, versionKey(keyName, v.Number), v)
}

// findVersion returns a version in its state of this moment, or an API error if the version does not exist.
func (s *service) findVersion(tx *bbolt.Tx, keyName string, number int) (*version, error) {
	found, err := store.Get[version](tx, versions, versionKey(keyName, number))
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, api.NotFound("CryptoKeyVersion %s/cryptoKeyVersions/%d not found.", keyName, number)
	}
	s.destroyIfDue(found)
	return found, nil
}

// destroyIfDue destroys a version whose scheduled time has passed. It reports whether it did.
func (s *service) destroyIfDue(v *version) bool {
	due, err := time.Parse(time.RFC3339, v.Version.DestroyTime)
	if v.Version.State != destroyScheduled || err != nil || s.Now().Before(due) {
		return false
	}
	v.Version.State, v.Version.DestroyEventTime, v.Version.DestroyTime = destroyed, v.Version.DestroyTime, ""
	v.Material = nil
	return true
}

// eraseDestroyed removes the key material of destroyed versions from the store.
func (s *service) eraseDestroyed(context.Context) error {
	return s.Store.Update(func(tx *bbolt.Tx) error {
		due := map[string]*version{}
		err := store.Each(tx, versions, "", func(key string, v *version) error {
			if s.destroyIfDue(v) {
				due[key] = v
			}
			return nil
		})
		for key, v := range due {
			if err == nil {
				err = store.Put(tx, versions, key, v)
			}
		}
		return err
	})
}

// usable returns an error unless a version is enabled.
func usable(v *version) error {
	if v.Version.State == enabled {
		return nil
	}
	return api.FailedPrecondition("%s is not enabled, current state is: %s.", v.Version.Name, v.Version.State)
}

// withVersion runs fn in a transaction with the version that the path names, and returns the version as the response.
func (s *service) withVersion(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(tx *bbolt.Tx, k *key, v *version) error) (any, error) {
	number, err := versionNumber(c.Vars["version"])
	if err != nil {
		return nil, err
	}
	var found *version
	err = run(func(tx *bbolt.Tx) error {
		k, err := find[key](tx, keys, "CryptoKey", keyName(c))
		if err != nil {
			return err
		}
		if found, err = s.findVersion(tx, k.Key.Name, number); err != nil {
			return err
		}
		return fn(tx, k, found)
	})
	if err != nil {
		return nil, err
	}
	return found.Version, nil
}

func (s *service) getVersion(c *api.Call) (any, error) {
	return s.withVersion(c, s.Store.View, func(*bbolt.Tx, *key, *version) error { return nil })
}

func (s *service) listVersions(c *api.Call) (any, error) {
	answer := &cloudkms.ListCryptoKeyVersionsResponse{}
	return answer, s.Store.View(func(tx *bbolt.Tx) error {
		if _, err := find[key](tx, keys, "CryptoKey", keyName(c)); err != nil {
			return err
		}
		all, err := store.List[version](tx, versions, keyName(c)+"/")
		if err != nil {
			return err
		}
		answer.TotalSize = int64(len(all))
		page, next, err := api.Page(c, all, func(v *version) string { return versionKey("", v.Number) }, 100, 1000)
		for _, v := range page {
			s.destroyIfDue(v)
			answer.CryptoKeyVersions = append(answer.CryptoKeyVersions, v.Version)
		}
		answer.NextPageToken = next
		return err
	})
}

// createVersion adds a version, which does not become the primary version.
func (s *service) createVersion(c *api.Call) (any, error) {
	if err := c.Decode(&cloudkms.CryptoKeyVersion{}); err != nil {
		return nil, err
	}
	var made *version
	_, err := s.withKey(c, s.Store.Update, func(tx *bbolt.Tx, k *key) (err error) {
		if made, err = s.addVersion(tx, k); err != nil {
			return err
		}
		return putKey(tx, k)
	})
	if err != nil {
		return nil, err
	}
	return made.Version, nil
}

// patchVersion enables or disables a version.
func (s *service) patchVersion(c *api.Call) (any, error) {
	var wanted cloudkms.CryptoKeyVersion
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	return s.withVersion(c, s.Store.Update, func(tx *bbolt.Tx, k *key, v *version) error {
		switch {
		case c.Request.URL.Query().Get("updateMask") != "state", !api.OneOf(enabled+"|"+disabled, wanted.State):
			return api.InvalidArgument("Only the state of a CryptoKeyVersion can change, to %s or %s.", enabled, disabled)
		case !api.OneOf(enabled+"|"+disabled, v.Version.State):
			return api.FailedPrecondition("%s cannot change to %s, current state is: %s.", v.Version.Name, wanted.State, v.Version.State)
		}
		v.Version.State = wanted.State
		return putVersion(tx, k.Key.Name, v)
	})
}

// destroyVersion schedules the destruction of a version, which cannot be used from now on.
func (s *service) destroyVersion(c *api.Call) (any, error) {
	return s.withVersion(c, s.Store.Update, func(tx *bbolt.Tx, k *key, v *version) error {
		if !api.OneOf(enabled+"|"+disabled, v.Version.State) {
			return api.FailedPrecondition("%s cannot be destroyed, current state is: %s.", v.Version.Name, v.Version.State)
		}
		kept, err := time.ParseDuration(k.Key.DestroyScheduledDuration)
		if err != nil {
			return err
		}
		v.Version.State, v.Version.DestroyTime = destroyScheduled, api.Timestamp(s.Now().Add(kept))
		return putVersion(tx, k.Key.Name, v)
	})
}

// restoreVersion cancels a scheduled destruction. As on Google Cloud, the version is then disabled.
func (s *service) restoreVersion(c *api.Call) (any, error) {
	return s.withVersion(c, s.Store.Update, func(tx *bbolt.Tx, k *key, v *version) error {
		if v.Version.State != destroyScheduled {
			return api.FailedPrecondition("%s cannot be restored, current state is: %s.", v.Version.Name, v.Version.State)
		}
		v.Version.State, v.Version.DestroyTime = disabled, ""
		return putVersion(tx, k.Key.Name, v)
	})
}
