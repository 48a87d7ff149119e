package sql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

type instanceArgs struct {
	Clone                any               `json:"clone,omitempty"`
	DatabaseVersion      string            `json:"databaseVersion"`
	DeletionProtection   bool              `json:"deletionProtection"`
	EncryptionKeyName    string            `json:"encryptionKeyName,omitempty"`
	InstanceType         string            `json:"instanceType,omitempty"`
	MaintenanceVersion   string            `json:"maintenanceVersion,omitempty"`
	MasterInstanceName   string            `json:"masterInstanceName,omitempty"`
	Name                 string            `json:"name"`
	Project              string            `json:"project"`
	Region               string            `json:"region"`
	ReplicaConfiguration any               `json:"replicaConfiguration,omitempty"`
	RestoreBackupContext any               `json:"restoreBackupContext,omitempty"`
	RootPassword         string            `json:"rootPassword,omitempty"`
	Settings             *instanceSettings `json:"settings,omitempty"`
}

type instanceRequest = frame.Request[instanceArgs, instanceState]

// DatabaseInstance returns the resource type of instances.
func DatabaseInstance(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  sql.DatabaseInstanceArgs{},
		State: sql.DatabaseInstance{},
		Rules: rules.ByPath{
			"deletionProtection":   {Default: true},
			"encryptionKeyName":    {Replace: true, Computed: true},
			"instanceType":         {Computed: true},
			"maintenanceVersion":   {Computed: true},
			"masterInstanceName":   {Computed: true},
			"name":                 {Replace: true, Computed: true},
			"project":              core.FromProvider(),
			"region":               core.FromProvider(),
			"replicaConfiguration": {Computed: true, Secret: true},
			"rootPassword":         {Secret: true},
			"serverCaCerts":        {Secret: true},
			"settings":             {Computed: true},
		}.With("settings", settingsRules()),
		Identity: []string{"name", "project"},
		AutoName: "name",
		Differ:   replacingSettings,
		Operations: frame.Handle(frame.CRUD[instanceArgs, instanceState]{
			Check:  checkInstance,
			Create: g.createInstance,
			Read:   g.readInstance,
			Update: g.updateInstance,
			Delete: g.deleteInstance,
		}),
	}
}

// checkInstance rejects the inputs whose features the emulator does not have, and settings that do not apply to the
// database.
func checkInstance(args instanceArgs) []frame.Failure {
	var failures []frame.Failure
	reject := func(path, format string, args ...any) {
		failures = append(failures, frame.Failure{Path: path, Reason: path + " " + fmt.Sprintf(format, args...)})
	}
	for path, value := range map[string]any{
		"clone": args.Clone, "replicaConfiguration": args.ReplicaConfiguration, "restoreBackupContext": args.RestoreBackupContext,
	} {
		if value != nil {
			reject(path, "is not emulated: remove it")
		}
	}
	if args.Settings == nil {
		return failures
	}
	backup, version := args.Settings.BackupConfiguration, args.DatabaseVersion
	if backup != nil && backup.PointInTimeRecoveryEnabled && strings.HasPrefix(version, "MYSQL") {
		reject("settings.backupConfiguration.pointInTimeRecoveryEnabled", "does not apply to %s: use binaryLogEnabled", version)
	}
	return failures
}

// createInstance creates an instance. It returns the name with an error if the service has begun to create the
// instance.
func (g provider) createInstance(ctx context.Context, r instanceRequest) (string, instanceState, error) {
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", instanceState{}, err
	}
	if r.Args.Settings == nil {
		return "", instanceState{}, errors.New("settings are missing: a new instance needs at least settings.tier")
	}
	region, err := g.Region(r.Args.Region)
	if err != nil {
		return "", instanceState{}, err
	}
	wanted := &sqladmin.DatabaseInstance{
		Name: r.Args.Name, Region: region, DatabaseVersion: r.Args.DatabaseVersion, InstanceType: r.Args.InstanceType,
		MaintenanceVersion: r.Args.MaintenanceVersion, MasterInstanceName: r.Args.MasterInstanceName,
		RootPassword: r.Args.RootPassword, Settings: r.Args.Settings.api(),
	}
	if r.Args.EncryptionKeyName != "" {
		wanted.DiskEncryptionConfiguration = &sqladmin.DiskEncryptionConfiguration{KmsKeyName: r.Args.EncryptionKeyName}
	}
	started := false
	err = g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		op, err := svc.Instances.Insert(project, wanted).Context(ctx).Do()
		started = started || err == nil
		return op, err
	})
	if err == nil && r.Args.MasterInstanceName == "" {
		err = g.removeDefaultRoot(ctx, project, r.Args.Name, r.Timeout)
	}
	switch {
	case err != nil && !started:
		return "", instanceState{}, err
	case err != nil:
		return r.Args.Name, instanceState{Name: r.Args.Name, Project: project, Region: region}, err
	}
	state, err := g.liveInstance(ctx, project, r.Args.Name)
	return r.Args.Name, state, err
}

// removeDefaultRoot deletes the user root@%, which Cloud SQL creates in every MySQL instance. The official provider
// does the same, because the user would have no password.
func (g provider) removeDefaultRoot(ctx context.Context, project, instance string, limit time.Duration) error {
	svc, err := g.SQL(ctx)
	if err != nil {
		return err
	}
	users, err := svc.Users.List(project, instance).Context(ctx).Do()
	if err != nil {
		return fmt.Errorf("list the users for the default user root: %w", core.Explain(err))
	}
	for _, u := range users.Items {
		if u.Name != rootUser || u.Host != anyHost {
			continue
		}
		err := g.sqlCall(ctx, project, limit, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			return svc.Users.Delete(project, instance).Host(u.Host).Name(u.Name).Context(ctx).Do()
		})
		if err != nil {
			return fmt.Errorf("delete the default user root: %w", err)
		}
	}
	return nil
}

var instanceIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/instances/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<name>[^/]+)$`),
}

// deleteInstance deletes an instance unless deletionProtection is set, which only the provider enforces. The setting
// deletionProtectionEnabled is the service's own.
func (g provider) deleteInstance(ctx context.Context, r instanceRequest) error {
	if r.State.DeletionProtection != nil && *r.State.DeletionProtection {
		return errors.New("deletionProtection of the instance is true: set it to false and run up, then delete the instance")
	}
	return g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Instances.Delete(r.State.Project, r.State.Name).Context(ctx).Do()
	})
}
