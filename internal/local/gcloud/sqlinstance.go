package gcloud

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"
)

var instanceNames = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,96}[a-z0-9])?$`)

func (s *Server) insertInstance(c *call) (any, error) {
	instance := &sqladmin.DatabaseInstance{}
	if err := c.decode(instance); err != nil {
		return nil, err
	}
	if !instanceNames.MatchString(instance.Name) {
		return nil, invalidSQL("Invalid request: Invalid value for field: name: %q must match %s.", instance.Name, instanceNames)
	}
	setDefault(&instance.DatabaseVersion, "MYSQL_8_0")
	if !strings.HasPrefix(instance.DatabaseVersion, "MYSQL_") {
		return nil, invalidSQL("Invalid request: databaseVersion %s is not emulated: use MYSQL_8_0.", instance.DatabaseVersion)
	}
	if instance.Settings == nil || instance.Settings.Tier == "" {
		return nil, invalidSQL("Invalid request: Missing required field: settings.tier.")
	}
	if s.databases == nil {
		return nil, invalidSQL("Invalid request: this emulated Google Cloud has nothing to run instances with.")
	}
	secret := instance.RootPassword
	instance.RootPassword = ""
	s.fillInstance(c, instance)
	var op *sqladmin.Operation
	err := s.store.update(func(tx *bbolt.Tx) error {
		key := instanceKey(instance.Project, instance.Name)
		existing, err := get[sqladmin.DatabaseInstance](tx, instances, key)
		if err != nil {
			return err
		}
		if existing != nil {
			return sqlError(http.StatusConflict, "instanceAlreadyExists", "The Cloud SQL instance already exists. "+
				"When you delete an instance, you can't reuse the name of the deleted instance until one week from the deletion date.")
		}
		if err := put(tx, instances, key, instance); err != nil {
			return err
		}
		op, err = s.newInstanceOperation(tx, c, instance, "CREATE", instance.SelfLink)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := *op
	s.background(func(ctx context.Context) { _ = s.runInstanceOperation(ctx, op, secret) })
	return &answer, nil
}

// fillInstance sets what Google Cloud sets in a new instance.
func (s *Server) fillInstance(c *call, instance *sqladmin.DatabaseInstance) {
	setDefault(&instance.Region, "us-central1")
	setDefault(&instance.GceZone, instance.Region+"-b")
	instance.Kind = "sql#instance"
	instance.Project = c.project.ID
	instance.State = "PENDING_CREATE"
	instance.BackendType = "SECOND_GEN"
	instance.InstanceType = "CLOUD_SQL_INSTANCE"
	instance.ConnectionName = instance.Project + ":" + instance.Region + ":" + instance.Name
	instance.SelfLink = s.instanceLink(instance.Project, instance.Name)
	instance.CreateTime = timestamp(s.now())
	instance.ServiceAccountEmailAddress = "p" + randomDigits(12) + "-" + randomDigits(6) + "@gcp-sa-cloud-sql.iam.gserviceaccount.com"
	fillSettings(instance.Settings)
	instance.Settings.SettingsVersion = 1
	instance.Etag = randomText(32)
}

func fillSettings(settings *sqladmin.Settings) {
	settings.Kind = "sql#settings"
	setDefault(&settings.ActivationPolicy, "ALWAYS")
	setDefault(&settings.AvailabilityType, "ZONAL")
	setDefault(&settings.ConnectorEnforcement, "NOT_REQUIRED")
	setDefault(&settings.DataDiskType, "PD_SSD")
	setDefault(&settings.Edition, "ENTERPRISE")
	setDefault(&settings.PricingPlan, "PER_USE")
	setDefault(&settings.ReplicationType, "SYNCHRONOUS")
	if settings.DataDiskSizeGb == 0 {
		settings.DataDiskSizeGb = 10
	}
	if settings.StorageAutoResize == nil {
		yes := true
		settings.StorageAutoResize = &yes
	}
	if settings.IpConfiguration == nil {
		settings.IpConfiguration = &sqladmin.IpConfiguration{Ipv4Enabled: true}
	}
	setDefault(&settings.IpConfiguration.SslMode, "ALLOW_UNENCRYPTED_AND_ENCRYPTED")
	if settings.BackupConfiguration == nil {
		settings.BackupConfiguration = &sqladmin.BackupConfiguration{Kind: "sql#backupConfiguration"}
	}
	setDefault(&settings.BackupConfiguration.StartTime, "12:00")
}

// instance returns the instance that the path names.
func (s *Server) instance(c *call) (found *sqladmin.DatabaseInstance, err error) {
	err = s.store.view(func(tx *bbolt.Tx) error {
		found, err = get[sqladmin.DatabaseInstance](tx, instances, instanceKey(c.projectID(), c.vars["instance"]))
		if err == nil && found == nil {
			return noInstance()
		}
		return err
	})
	return found, err
}

func (s *Server) getInstance(c *call) (any, error) {
	found, err := s.instance(c)
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (s *Server) listInstances(c *call) (any, error) {
	answer := &sqladmin.InstancesListResponse{Kind: "sql#instancesList"}
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		answer.Items, err = list[sqladmin.DatabaseInstance](tx, instances, c.project.ID+"/")
		return err
	})
	return answer, err
}

// How a request changes an instance.
type change func(old, wanted map[string]any) map[string]any

// merge changes what the request names.
func merge(old, wanted map[string]any) map[string]any {
	for field, value := range wanted {
		part, isObject := value.(map[string]any)
		whole, wasObject := old[field].(map[string]any)
		if isObject && wasObject && field != "userLabels" {
			value = merge(whole, part)
		}
		old[field] = value
	}
	return old
}

// replace takes the request's settings in place of those there were.
func replace(old, wanted map[string]any) map[string]any {
	maps.Copy(old, wanted)
	return old
}

// changeInstance answers patch and update calls. Only the settings and the version of the database can be changed.
func (s *Server) changeInstance(apply change) func(*call) (any, error) {
	return func(c *call) (any, error) {
		wanted := map[string]any{}
		if err := c.decode(&wanted); err != nil {
			return nil, err
		}
		var op *sqladmin.Operation
		err := s.store.update(func(tx *bbolt.Tx) error {
			old, err := get[sqladmin.DatabaseInstance](tx, instances, instanceKey(c.project.ID, c.vars["instance"]))
			if err != nil {
				return err
			}
			if old == nil {
				return noInstance()
			}
			if old.State != "RUNNABLE" {
				return operationInProgress()
			}
			changed, err := applyChange(apply, old, wanted)
			if err != nil {
				return err
			}
			if err := put(tx, instances, instanceKey(changed.Project, changed.Name), changed); err != nil {
				return err
			}
			if op, err = s.newInstanceOperation(tx, c, changed, "UPDATE", changed.SelfLink); err != nil {
				return err
			}
			return s.endInstanceOperation(tx, op, nil)
		})
		return op, err
	}
}

func applyChange(apply change, old *sqladmin.DatabaseInstance, wanted map[string]any) (*sqladmin.DatabaseInstance, error) {
	settings, _ := wanted["settings"].(map[string]any)
	if version, ok := settings["settingsVersion"]; ok && fmt.Sprint(version) != strconv.FormatInt(old.Settings.SettingsVersion, 10) {
		return nil, sqlError(http.StatusPreconditionFailed, "staleData",
			"The settings version %v is not the current one, %d: get the instance again and retry.", version, old.Settings.SettingsVersion)
	}
	data, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	before := map[string]any{}
	if err := json.Unmarshal(data, &before); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(apply(before, wanted)); err != nil {
		return nil, err
	}
	changed := &sqladmin.DatabaseInstance{}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(changed); err != nil {
		return nil, invalidArgument("Invalid JSON payload received. %s", payloadFault(err))
	}
	if changed.Name != old.Name || changed.Region != old.Region || changed.Settings == nil {
		return nil, invalidSQL("Invalid request: the name and the region of an instance cannot be changed.")
	}
	if !strings.HasPrefix(changed.DatabaseVersion, "MYSQL_") {
		return nil, invalidSQL("Invalid request: databaseVersion cannot be changed from %s to %s.", old.DatabaseVersion, changed.DatabaseVersion)
	}
	// What only the server sets stays as it was.
	kept := *old
	kept.Settings, kept.DatabaseVersion = changed.Settings, changed.DatabaseVersion
	fillSettings(kept.Settings)
	kept.Settings.SettingsVersion = old.Settings.SettingsVersion + 1
	kept.Etag = randomText(32)
	return &kept, nil
}

func operationInProgress() *apiError {
	return sqlError(http.StatusConflict, "operationInProgress",
		"Operation failed because another operation was already in progress. Try your request after the current operation is complete.")
}

func (s *Server) deleteInstance(c *call) (any, error) {
	var op *sqladmin.Operation
	err := s.store.update(func(tx *bbolt.Tx) error {
		key := instanceKey(c.project.ID, c.vars["instance"])
		instance, err := get[sqladmin.DatabaseInstance](tx, instances, key)
		if err != nil {
			return err
		}
		switch {
		case instance == nil:
			return noInstance()
		case instance.State != "RUNNABLE" && instance.State != "FAILED":
			return operationInProgress()
		case instance.Settings.DeletionProtectionEnabled:
			return invalidSQL("The instance is protected. Please disable the deletion protection and try again. " +
				"To disable deletion protection, update the instance settings with deletionProtectionEnabled set to false.")
		}
		instance.State = "PENDING_DELETE"
		if err := put(tx, instances, key, instance); err != nil {
			return err
		}
		op, err = s.newInstanceOperation(tx, c, instance, "DELETE", instance.SelfLink)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := *op
	s.background(func(ctx context.Context) { _ = s.runInstanceOperation(ctx, op, "") })
	return &answer, nil
}
