package sql

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/settings"
)

// patchInstance changes the fields that the request names. A null resets a setting to its default.
func (s *service) patchInstance(c *api.Call) (any, error) {
	return s.changeInstance(c, func(old, wanted map[string]any) (map[string]any, error) { return api.MergePatch(old, wanted), nil })
}

// updateInstance replaces the settings. The request must carry the settings version that it replaces.
func (s *service) updateInstance(c *api.Call) (any, error) {
	return s.changeInstance(c, func(old, wanted map[string]any) (map[string]any, error) {
		settings, _ := wanted["settings"].(map[string]any)
		if settings["settingsVersion"] == nil {
			return nil, api.LegacyInvalid("Invalid request: Missing required field: settings.settingsVersion.")
		}
		old["settings"] = settings
		if version, ok := wanted["databaseVersion"]; ok {
			old["databaseVersion"] = version
		}
		return old, nil
	})
}

// changeInstance changes an instance that runs. apply merges the request into the old instance. Like Cloud SQL, it rejects a
// change while another operation is in progress.
func (s *service) changeInstance(c *api.Call, apply func(old, wanted map[string]any) (map[string]any, error)) (any, error) {
	wanted := map[string]any{}
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	var op *sqladmin.Operation
	background := false
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		found, err := requireInstance(tx, instanceKey(c.Project.ID, c.Vars["instance"]))
		if err != nil {
			return err
		}
		if err := found.idle(); err != nil {
			return err
		}
		if found.Instance.State != "RUNNABLE" {
			return api.LegacyInvalid("Invalid request: Invalid request since instance is not running.")
		}
		ran := found.runs()
		if err := found.change(apply, wanted); err != nil {
			return err
		}
		found.Instance.Etag = api.RandomText(32)
		// Starting or stopping the server takes time and runs in the background. Any other change affects only the
		// record.
		if background = ran != found.runs() && found.family().Served; background {
			op, err = s.beginInstanceOperation(tx, c, found, "UPDATE")
			return err
		}
		if address := found.address(); address != "" {
			found.Instance.IpAddresses = found.addresses(address)
		}
		if err := store.Put(tx, instances, found.key(), found); err != nil {
			return err
		}
		op, err = s.doneOperation(tx, c, found, "UPDATE", found.Instance.SelfLink)
		return err
	})
	if err != nil {
		return nil, err
	}
	if background {
		return s.inBackground(op), nil
	}
	return op, nil
}

// address returns the last known address of the instance's server, or "".
func (i *instance) address() string {
	if len(i.Instance.IpAddresses) == 0 {
		return ""
	}
	return i.Instance.IpAddresses[0].IpAddress
}

// change applies a request to the instance. A request can change only the settings and the database version.
func (i *instance) change(apply func(old, wanted map[string]any) (map[string]any, error), wanted map[string]any) error {
	old := i.Instance
	object, _ := wanted["settings"].(map[string]any)
	if version, ok := object["settingsVersion"]; ok && fmt.Sprint(version) != strconv.FormatInt(old.Settings.SettingsVersion, 10) {
		return api.LegacyError(http.StatusPreconditionFailed, "staleData",
			"The settings version %v is not the current one, %d: get the instance again and retry.", version, old.Settings.SettingsVersion)
	}
	before, err := api.AsObject(old)
	if err != nil {
		return err
	}
	after, err := apply(before, wanted)
	if err != nil {
		return err
	}
	changed, err := api.DecodeStrictly[sqladmin.DatabaseInstance](after)
	if err != nil {
		return err
	}
	if changed.Name != old.Name || changed.Region != old.Region {
		return api.LegacyInvalid("Invalid request: the name and the region of an instance cannot be changed.")
	}
	if family := i.family(); !strings.HasPrefix(changed.DatabaseVersion, family.Prefix) {
		return api.LegacyInvalid("Invalid request: databaseVersion cannot be changed from %s to %s.", old.DatabaseVersion, changed.DatabaseVersion)
	}
	if err := settings.Check(changed.Settings); err != nil {
		return err
	}
	// Clients cannot change fields that the emulator sets.
	kept := *old
	kept.Settings, kept.DatabaseVersion = changed.Settings, changed.DatabaseVersion
	kept.DatabaseInstalledVersion = i.family().Installed(kept.DatabaseVersion)
	settings.Fill(kept.Settings)
	kept.Settings.SettingsVersion = old.Settings.SettingsVersion + 1
	i.Instance = &kept
	return nil
}
