// Package kms emulates Cloud Key Management Service: key rings, symmetric keys, their versions, and encryption with them.
package kms

import (
	"fmt"
	"regexp"

	"go.etcd.io/bbolt"
	"google.golang.org/api/cloudkms/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Host is the name of the service, and the host of its gRPC calls.
const Host = "cloudkms.googleapis.com"

const (
	keyRings store.Table = "kmsKeyRings" // <full name>
	keys     store.Table = "kmsKeys"     // <full name>
	versions store.Table = "kmsVersions" // <full name of the key>/<number of the version with leading zeros>
)

// Tables returns the tables of the service.
func Tables() []store.Table { return []store.Table{keyRings, keys, versions} }

// service handles the calls.
type service struct{ *core.Core }

// Register adds Cloud Key Management Service to the emulator.
func Register(c *core.Core) {
	const (
		rings  = "v1/projects/{project}/locations/{location}/keyRings"
		ring   = rings + "/{ring}"
		allKey = ring + "/cryptoKeys"
		key    = allKey + "/{key}"
		all    = key + "/cryptoKeyVersions"
		one    = all + "/{version}"
	)
	s := &service{c}
	c.Register(&api.Service{
		Name:   Host,
		Title:  "Cloud Key Management Service (KMS) API",
		Prefix: "cloudkms",
		Scopes: []string{cloudkms.CloudkmsScope},
		Denied: func(_ api.Principal, permission string, on api.Resource) *api.Error {
			return api.PermissionDenied("Permission '%s' denied on resource '%s' (or it may not exist).", permission, on.Name).WithInfo(
				"IAM_PERMISSION_DENIED", Host, map[string]string{"permission": permission, "resource": on.Name})
		},
		Routes: []api.Route{
			{Method: "GET", Pattern: rings, Permission: "cloudkms.keyRings.list", Handle: s.listRings},
			{Method: "POST", Pattern: rings, Permission: "cloudkms.keyRings.create", Handle: s.createRing},
			{Method: "GET", Pattern: ring + ":getIamPolicy", Permission: "cloudkms.keyRings.getIamPolicy", On: onRing, Handle: s.ringPolicy(s.GetPolicy)},
			{Method: "POST", Pattern: ring + ":setIamPolicy", Permission: "cloudkms.keyRings.setIamPolicy", On: onRing, Handle: s.ringPolicy(s.setPolicy)},
			// The call returns only the caller's own permissions, so it requires none.
			{Method: "POST", Pattern: ring + ":testIamPermissions", Handle: func(c *api.Call) (any, error) { return s.TestPermissions(c, onRing(c)) }},
			{Method: "GET", Pattern: ring, Permission: "cloudkms.keyRings.get", On: onRing, Handle: s.getRing},
			{Method: "GET", Pattern: allKey, Permission: "cloudkms.cryptoKeys.list", On: onRing, Handle: s.listKeys},
			{Method: "POST", Pattern: allKey, Permission: "cloudkms.cryptoKeys.create", On: onRing, Handle: s.createKey},
			{Method: "GET", Pattern: key + ":getIamPolicy", Permission: "cloudkms.cryptoKeys.getIamPolicy", On: onKey, Handle: s.keyPolicy(s.GetPolicy)},
			{Method: "POST", Pattern: key + ":setIamPolicy", Permission: "cloudkms.cryptoKeys.setIamPolicy", On: onKey, Handle: s.keyPolicy(s.setPolicy)},
			{Method: "POST", Pattern: key + ":testIamPermissions", Handle: func(c *api.Call) (any, error) { return s.TestPermissions(c, onKey(c)) }},
			{Method: "POST", Pattern: key + ":encrypt", Permission: "cloudkms.cryptoKeyVersions.useToEncrypt", On: onKey, Handle: s.encrypt},
			{Method: "POST", Pattern: key + ":decrypt", Permission: "cloudkms.cryptoKeyVersions.useToDecrypt", On: onKey, Handle: s.decrypt},
			{Method: "POST", Pattern: key + ":updatePrimaryVersion", Permission: "cloudkms.cryptoKeys.update", On: onKey, Handle: s.setPrimary},
			{Method: "GET", Pattern: key, Permission: "cloudkms.cryptoKeys.get", On: onKey, Handle: s.getKey},
			{Method: "PATCH", Pattern: key, Permission: "cloudkms.cryptoKeys.update", On: onKey, Handle: s.patchKey},
			{Method: "GET", Pattern: all, Permission: "cloudkms.cryptoKeyVersions.list", On: onKey, Handle: s.listVersions},
			{Method: "POST", Pattern: all, Permission: "cloudkms.cryptoKeyVersions.create", On: onKey, Handle: s.createVersion},
			{Method: "POST", Pattern: one + ":encrypt", Permission: "cloudkms.cryptoKeyVersions.useToEncrypt", On: onKey, Handle: s.encrypt},
			{Method: "POST", Pattern: one + ":destroy", Permission: "cloudkms.cryptoKeyVersions.destroy", On: onKey, Handle: s.destroyVersion},
			{Method: "POST", Pattern: one + ":restore", Permission: "cloudkms.cryptoKeyVersions.restore", On: onKey, Handle: s.restoreVersion},
			{Method: "GET", Pattern: one, Permission: "cloudkms.cryptoKeyVersions.get", On: onKey, Handle: s.getVersion},
			{Method: "PATCH", Pattern: one, Permission: "cloudkms.cryptoKeyVersions.update", On: onKey, Handle: s.patchVersion},
		},
		Start: s.eraseDestroyed,
	})
}

// ringName returns the full name of the call's key ring.
func ringName(c *api.Call) string {
	return "projects/" + c.ProjectID() + "/locations/" + c.Vars["location"] + "/keyRings/" + c.Vars["ring"]
}

// keyName returns the full name of the call's key.
func keyName(c *api.Call) string { return ringName(c) + "/cryptoKeys/" + c.Vars["key"] }

func onRing(c *api.Call) api.Resource {
	name := ringName(c)
	return api.Resource{Project: c.ProjectID(), Name: name, Policy: name, Path: name, Kind: Host + "/KeyRing"}
}

func onKey(c *api.Call) api.Resource {
	name := keyName(c)
	return api.Resource{Project: c.ProjectID(), Name: name, Policy: name, ParentPolicy: ringName(c), Path: name, Kind: Host + "/CryptoKey"}
}

// setPolicy handles a setIamPolicy call.
func (s *service) setPolicy(c *api.Call, key string) (any, error) { return s.SetPolicy(c, key, nil) }

// ringPolicy returns the handler of a call about the policy of an existing key ring.
func (s *service) ringPolicy(handle func(c *api.Call, key string) (any, error)) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		if _, err := s.getRing(c); err != nil {
			return nil, err
		}
		return handle(c, ringName(c))
	}
}

// keyPolicy returns the handler of a call about the policy of an existing key.
func (s *service) keyPolicy(handle func(c *api.Call, key string) (any, error)) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		if _, err := s.getKey(c); err != nil {
			return nil, err
		}
		return handle(c, keyName(c))
	}
}

var (
	ids = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,63}$`)
	// multiRegions are the locations that are not regions.
	multiRegions = "global|us|europe|asia|eur3|eur4|nam3|nam4"
)

// checkID returns an error for an invalid ID of a new object.
func checkID(field, id string) error {
	if !ids.MatchString(id) {
		return api.InvalidArgument("The %s '%s' must match %s.", field, api.Printable(id), ids)
	}
	return nil
}

// checkLocation returns an error for a location without keys.
func checkLocation(location string) error {
	if _, isZone, ok := api.ParseLocation(location); ok && !isZone || api.OneOf(multiRegions, location) {
		return nil
	}
	return api.NotFound("The location %s does not exist or has no Cloud KMS: use a region or global.", api.Printable(location))
}

// createRing creates a key ring. As on Google Cloud, a key ring is never deleted.
func (s *service) createRing(c *api.Call) (any, error) {
	id := c.Request.URL.Query().Get("keyRingId")
	if err := checkID("keyRingId", id); err != nil {
		return nil, err
	}
	if err := checkLocation(c.Vars["location"]); err != nil {
		return nil, err
	}
	c.Vars["ring"] = id
	made := &cloudkms.KeyRing{Name: ringName(c), CreateTime: api.Timestamp(s.Now())}
	return made, s.Store.Update(func(tx *bbolt.Tx) error { return create(tx, keyRings, "KeyRing", made.Name, made) })
}

// create stores a new record. It returns an error if the name exists.
func create(tx *bbolt.Tx, table store.Table, kind, name string, record any) error {
	if tx.Bucket([]byte(table)).Get([]byte(name)) != nil {
		return api.AlreadyExists("%s %s already exists.", kind, name)
	}
	return store.Put(tx, table, name, record)
}

func (s *service) getRing(c *api.Call) (any, error) {
	var found *cloudkms.KeyRing
	err := s.Store.View(func(tx *bbolt.Tx) (err error) {
		found, err = find[cloudkms.KeyRing](tx, keyRings, "KeyRing", ringName(c))
		return err
	})
	return found, err
}

// find returns a record, or an API error if it does not exist.
func find[T any](tx *bbolt.Tx, table store.Table, kind, name string) (*T, error) {
	found, err := store.Get[T](tx, table, name)
	if err == nil && found == nil {
		err = api.NotFound("%s %s not found.", kind, name)
	}
	return found, err
}

func (s *service) listRings(c *api.Call) (any, error) {
	answer := &cloudkms.ListKeyRingsResponse{}
	return answer, s.Store.View(func(tx *bbolt.Tx) error {
		all, err := store.List[cloudkms.KeyRing](tx, keyRings, fmt.Sprintf("projects/%s/locations/%s/keyRings/", c.ProjectID(), c.Vars["location"]))
		if err != nil {
			return err
		}
		answer.TotalSize = int64(len(all))
		answer.KeyRings, answer.NextPageToken, err = api.Page(c, all, func(r *cloudkms.KeyRing) string { return r.Name }, 100, 1000)
		return err
	})
}
