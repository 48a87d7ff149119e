package kms

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

const (
	purpose   = "ENCRYPT_DECRYPT"
	level     = "SOFTWARE"
	algorithm = "GOOGLE_SYMMETRIC_ENCRYPTION"

	// keptBeforeDestruction is the default time between the destroy call and the destruction of a version.
	keptBeforeDestruction = 30 * 24 * time.Hour
)

// key is the record of a key.
type key struct {
	Key *cloudkms.CryptoKey `json:"key"`
	// Primary is the number of the primary version, or 0 if the key has none.
	Primary int `json:"primary,omitempty"`
	// Last is the number of the newest version.
	Last int `json:"last"`
}

// createKey creates a key with its first version. As on Google Cloud, the name of a key is never free again.
func (s *service) createKey(c *api.Call) (any, error) {
	wanted := &cloudkms.CryptoKey{}
	if err := c.Decode(wanted); err != nil {
		return nil, err
	}
	query := c.Request.URL.Query()
	if err := checkID("cryptoKeyId", query.Get("cryptoKeyId")); err != nil {
		return nil, err
	}
	c.Vars["key"] = query.Get("cryptoKeyId")
	made := &key{Key: &cloudkms.CryptoKey{
		Name: keyName(c), CreateTime: api.Timestamp(s.Now()), Purpose: purpose, Labels: wanted.Labels,
		VersionTemplate:          &cloudkms.CryptoKeyVersionTemplate{ProtectionLevel: level, Algorithm: algorithm},
		DestroyScheduledDuration: fmt.Sprintf("%ds", int(keptBeforeDestruction.Seconds())),
		RotationPeriod:           wanted.RotationPeriod, NextRotationTime: wanted.NextRotationTime,
	}}
	if wanted.DestroyScheduledDuration != "" {
		made.Key.DestroyScheduledDuration = wanted.DestroyScheduledDuration
	}
	if err := checkKey(wanted, made.Key); err != nil {
		return nil, err
	}
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		if _, err := find[cloudkms.KeyRing](tx, keyRings, "KeyRing", ringName(c)); err != nil {
			return err
		}
		if err := create(tx, keys, "CryptoKey", made.Key.Name, made); err != nil {
			return err
		}
		if query.Get("skipInitialVersionCreation") == "true" {
			return nil
		}
		first, err := s.addVersion(tx, made)
		if err != nil {
			return err
		}
		made.Primary = first.Number
		made.Key.Primary = first.Version
		return putKey(tx, made)
	})
	return made.Key, err
}

// checkKey returns an error for settings of a key that Google Cloud rejects or the emulator does not support. wanted is the
// request, made the new record.
func checkKey(wanted, made *cloudkms.CryptoKey) error {
	template := wanted.VersionTemplate
	switch {
	case wanted.Purpose != purpose:
		return api.InvalidArgument("A CryptoKey of the purpose '%s' is not emulated: use %s.", wanted.Purpose, purpose)
	case template != nil && !api.OneOf("|PROTECTION_LEVEL_UNSPECIFIED|"+level, template.ProtectionLevel):
		return api.InvalidArgument("The protection level %s is not emulated: use %s.", template.ProtectionLevel, level)
	case template != nil && !api.OneOf("|"+algorithm, template.Algorithm):
		return api.InvalidArgument("The algorithm %s is not valid for the purpose %s: use %s.", template.Algorithm, purpose, algorithm)
	case wanted.ImportOnly || wanted.CryptoKeyBackend != "" || wanted.KeyAccessJustificationsPolicy != nil:
		return api.InvalidArgument("importOnly, cryptoKeyBackend and keyAccessJustificationsPolicy are not emulated.")
	}
	if kept, err := time.ParseDuration(made.DestroyScheduledDuration); err != nil || kept < 24*time.Hour || kept > 120*24*time.Hour {
		return api.InvalidArgument("destroyScheduledDuration must be between 24 hours and 120 days.")
	}
	return checkRotation(made)
}

// checkRotation returns an error for an invalid schedule of rotations. The emulator stores the schedule without effect.
func checkRotation(k *cloudkms.CryptoKey) error {
	if k.RotationPeriod == "" {
		return nil
	}
	if period, err := time.ParseDuration(k.RotationPeriod); err != nil || period < 24*time.Hour {
		return api.InvalidArgument("rotationPeriod must be at least 24 hours.")
	}
	if _, err := time.Parse(time.RFC3339, k.NextRotationTime); err != nil {
		return api.InvalidArgument("nextRotationTime is required with rotationPeriod.")
	}
	return nil
}

// putKey stores a key without its primary version, which has a record of its own.
func putKey(tx *bbolt.Tx, k *key) error {
	stored := *k
	stored.Key = new(cloudkms.CryptoKey)
	*stored.Key = *k.Key
	stored.Key.Primary = nil
	return store.Put(tx, keys, k.Key.Name, &stored)
}

// withKey runs fn in a transaction with the key that the path names, and returns the key as the response.
func (s *service) withKey(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *key) error) (any, error) {
	var found *key
	err := run(func(tx *bbolt.Tx) (err error) {
		if found, err = find[key](tx, keys, "CryptoKey", keyName(c)); err != nil {
			return err
		}
		if err := fn(tx, found); err != nil {
			return err
		}
		return s.showPrimary(tx, found)
	})
	if err != nil {
		return nil, err
	}
	return found.Key, nil
}

// showPrimary adds the primary version to a key for a response.
func (s *service) showPrimary(tx *bbolt.Tx, k *key) error {
	if k.Primary == 0 {
		return nil
	}
	primary, err := s.findVersion(tx, k.Key.Name, k.Primary)
	if err == nil {
		k.Key.Primary = primary.Version
	}
	return err
}

func (s *service) getKey(c *api.Call) (any, error) {
	return s.withKey(c, s.Store.View, func(*bbolt.Tx, *key) error { return nil })
}

func (s *service) listKeys(c *api.Call) (any, error) {
	answer := &cloudkms.ListCryptoKeysResponse{}
	return answer, s.Store.View(func(tx *bbolt.Tx) error {
		if _, err := find[cloudkms.KeyRing](tx, keyRings, "KeyRing", ringName(c)); err != nil {
			return err
		}
		all, err := store.List[key](tx, keys, ringName(c)+"/cryptoKeys/")
		if err != nil {
			return err
		}
		answer.TotalSize = int64(len(all))
		page, next, err := api.Page(c, all, func(k *key) string { return k.Key.Name }, 100, 1000)
		for _, k := range page {
			if err := s.showPrimary(tx, k); err != nil {
				return err
			}
			answer.CryptoKeys = append(answer.CryptoKeys, k.Key)
		}
		answer.NextPageToken = next
		return err
	})
}

// patchKey changes the fields of a key that the mask names: the labels and the schedule of rotations.
func (s *service) patchKey(c *api.Call) (any, error) {
	wanted := &cloudkms.CryptoKey{}
	if err := c.Decode(wanted); err != nil {
		return nil, err
	}
	return s.withKey(c, s.Store.Update, func(tx *bbolt.Tx, k *key) error {
		for field := range strings.SplitSeq(c.Request.URL.Query().Get("updateMask"), ",") {
			switch strings.TrimSpace(field) {
			case "labels":
				k.Key.Labels = maps.Clone(wanted.Labels)
			case "rotationPeriod", "rotation_period":
				k.Key.RotationPeriod = wanted.RotationPeriod
			case "nextRotationTime", "next_rotation_time":
				k.Key.NextRotationTime = wanted.NextRotationTime
			default:
				return api.InvalidArgument("Invalid value at 'update_mask': the emulator cannot change %q.", api.Printable(field))
			}
		}
		if err := checkRotation(k.Key); err != nil {
			return err
		}
		return putKey(tx, k)
	})
}

// setPrimary makes another version the one that encrypts.
func (s *service) setPrimary(c *api.Call) (any, error) {
	var request cloudkms.UpdateCryptoKeyPrimaryVersionRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	return s.withKey(c, s.Store.Update, func(tx *bbolt.Tx, k *key) error {
		number, err := versionNumber(request.CryptoKeyVersionId)
		if err != nil {
			return err
		}
		found, err := s.findVersion(tx, k.Key.Name, number)
		if err != nil {
			return err
		}
		if err := usable(found); err != nil {
			return err
		}
		k.Primary = number
		return putKey(tx, k)
	})
}
