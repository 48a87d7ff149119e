package gcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

// instanceNameLength is the longest name of a Cloud SQL instance.
const instanceNameLength = 97

type instanceArgs struct {
	DatabaseVersion    string            `json:"databaseVersion"`
	DeletionProtection bool              `json:"deletionProtection"`
	Name               string            `json:"name"`
	Project            string            `json:"project"`
	Region             string            `json:"region"`
	RootPassword       string            `json:"rootPassword,omitempty"`
	Settings           *instanceSettings `json:"settings,omitempty"`
}

type instanceState struct {
	// DeletionProtection is the provider's own: the service does not know it.
	DeletionProtection *bool             `json:"deletionProtection,omitempty"`
	DatabaseVersion    string            `json:"databaseVersion"`
	Name               string            `json:"name"`
	Project            string            `json:"project"`
	Region             string            `json:"region"`
	Settings           *instanceSettings `json:"settings,omitempty"`

	AvailableMaintenanceVersions []string              `json:"availableMaintenanceVersions"`
	ConnectionName               string                `json:"connectionName"`
	DNSName                      string                `json:"dnsName"`
	FirstIPAddress               string                `json:"firstIpAddress"`
	InstanceType                 string                `json:"instanceType"`
	IPAddresses                  []*sqladmin.IpMapping `json:"ipAddresses"`
	MaintenanceVersion           string                `json:"maintenanceVersion"`
	MasterInstanceName           string                `json:"masterInstanceName"`
	PrivateIPAddress             string                `json:"privateIpAddress"`
	PscServiceAttachmentLink     string                `json:"pscServiceAttachmentLink"`
	PublicIPAddress              string                `json:"publicIpAddress"`
	SelfLink                     string                `json:"selfLink"`
	ServerCaCerts                []serverCaCert        `json:"serverCaCerts"`
	ServiceAccountEmailAddress   string                `json:"serviceAccountEmailAddress"`
}

type serverCaCert struct {
	Cert            string `json:"cert"`
	CommonName      string `json:"commonName"`
	CreateTime      string `json:"createTime"`
	ExpirationTime  string `json:"expirationTime"`
	Sha1Fingerprint string `json:"sha1Fingerprint"`
}

type instanceRequest = provider.Request[instanceArgs, instanceState]

func (g *plugin) instance() provider.Resource {
	return provider.Resource{
		Args:  sql.DatabaseInstanceArgs{},
		State: sql.DatabaseInstance{},
		Replace: []string{
			"encryptionKeyName", "masterInstanceName", "name", "project", "region", "settings.collation",
			"replicaConfiguration",
		},
		Identity: []string{"name", "project"},
		Computed: []string{
			"encryptionKeyName", "instanceType", "maintenanceVersion", "masterInstanceName", "project", "region", "settings",
			"settings.activationPolicy", "settings.availabilityType", "settings.backupConfiguration",
			"settings.backupConfiguration.backupRetentionSettings", "settings.backupConfiguration.startTime",
			"settings.backupConfiguration.transactionLogRetentionDays", "settings.connectorEnforcement", "settings.diskAutoresize", "settings.diskAutoresizeLimit", "settings.diskSize",
			"settings.diskType", "settings.edition", "settings.ipConfiguration", "settings.ipConfiguration.sslMode",
			"settings.locationPreference",
			"settings.pricingPlan", "settings.userLabels", "settings.version",
		},
		Secrets:  []string{"replicaConfiguration", "rootPassword", "serverCaCerts"},
		AutoName: &provider.AutoName{Property: "name", MaxLength: instanceNameLength},
		Defaults: map[string]property.Value{"deletionProtection": property.New(true)},
		Operations: provider.Handle(provider.CRUD[instanceArgs, instanceState]{
			Create: g.createInstance,
			Read:   g.readInstance,
			Update: g.updateInstance,
			Delete: g.deleteInstance,
		}),
	}
}

func (g *plugin) createInstance(ctx context.Context, r instanceRequest) (string, instanceState, error) {
	project, err := g.project(r.Args.Project)
	if err != nil {
		return "", instanceState{}, err
	}
	if r.Args.Settings == nil {
		return "", instanceState{}, errors.New("settings are missing: a new instance needs at least settings.tier")
	}
	region := r.Args.Region
	if region == "" {
		region = g.clients.settings.Region
	}
	if region == "" {
		return "", instanceState{}, errors.New("no region: set the property, the provider's region or GOOGLE_REGION")
	}
	started := false
	err = g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		op, err := svc.Instances.Insert(project, &sqladmin.DatabaseInstance{
			Name: r.Args.Name, Region: region, DatabaseVersion: r.Args.DatabaseVersion,
			RootPassword: r.Args.RootPassword, Settings: r.Args.Settings.api(),
		}).Context(ctx).Do()
		started = started || err == nil
		return op, err
	})
	switch {
	case err != nil && !started:
		return "", instanceState{}, err
	case err != nil:
		return r.Args.Name, instanceState{Name: r.Args.Name, Project: project, Region: region}, err
	}
	state, err := g.liveInstance(ctx, project, r.Args.Name)
	return r.Args.Name, state, err
}

// liveInstance returns an instance as the service has it.
func (g *plugin) liveInstance(ctx context.Context, project, name string) (instanceState, error) {
	svc, err := g.clients.sql(ctx)
	if err != nil {
		return instanceState{}, fmt.Errorf("make Cloud SQL client: %w", err)
	}
	i, err := svc.Instances.Get(project, name).Context(ctx).Do()
	if err != nil {
		return instanceState{}, explained(err)
	}
	state := instanceState{
		DatabaseVersion: i.DatabaseVersion, Name: i.Name, Project: project, Region: i.Region, Settings: settingsOf(i.Settings),
		AvailableMaintenanceVersions: i.AvailableMaintenanceVersions, ConnectionName: i.ConnectionName, DNSName: i.DnsName,
		InstanceType: i.InstanceType, IPAddresses: i.IpAddresses, MaintenanceVersion: i.MaintenanceVersion,
		MasterInstanceName:       strings.TrimPrefix(i.MasterInstanceName, project+":"),
		PscServiceAttachmentLink: i.PscServiceAttachmentLink, SelfLink: i.SelfLink,
		ServerCaCerts: []serverCaCert{}, ServiceAccountEmailAddress: i.ServiceAccountEmailAddress,
	}
	for _, ip := range i.IpAddresses {
		if state.FirstIPAddress == "" {
			state.FirstIPAddress = ip.IpAddress
		}
		if ip.Type == "PRIMARY" && state.PublicIPAddress == "" {
			state.PublicIPAddress = ip.IpAddress
		}
		if ip.Type == "PRIVATE" && state.PrivateIPAddress == "" {
			state.PrivateIPAddress = ip.IpAddress
		}
	}
	if c := i.ServerCaCert; c != nil {
		state.ServerCaCerts = []serverCaCert{{c.Cert, c.CommonName, c.CreateTime, c.ExpirationTime, c.Sha1Fingerprint}}
	}
	return state, nil
}

var instanceIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/instances/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<name>[^/]+)$`),
}

func (g *plugin) readInstance(ctx context.Context, r instanceRequest) (string, instanceState, error) {
	parts, err := parseID(r.ID, instanceIDPatterns)
	if err != nil {
		return "", instanceState{}, err
	}
	project, err := g.project(first(parts["project"], r.State.Project))
	if err != nil {
		return "", instanceState{}, err
	}
	state, err := g.liveInstance(ctx, project, parts["name"])
	if err == nil && r.Importing {
		protected := true
		state.DeletionProtection = &protected
	}
	return parts["name"], state, err
}

func (g *plugin) updateInstance(ctx context.Context, r instanceRequest) (instanceState, error) {
	project, name := r.State.Project, r.State.Name
	if r.Args.DatabaseVersion != r.Old.DatabaseVersion {
		err := g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			return svc.Instances.Patch(project, name, &sqladmin.DatabaseInstance{DatabaseVersion: r.Args.DatabaseVersion}).Context(ctx).Do()
		})
		if err != nil {
			return instanceState{}, fmt.Errorf("upgrade to %s: %w", r.Args.DatabaseVersion, err)
		}
	}
	if r.Args.RootPassword != r.Old.RootPassword {
		err := g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			root := &sqladmin.User{Name: "root", Instance: name, Password: r.Args.RootPassword}
			return svc.Users.Update(project, name, root).Host("%").Name(root.Name).Context(ctx).Do()
		})
		if err != nil {
			return instanceState{}, fmt.Errorf("change the root password: %w", err)
		}
	}
	if r.Args.Settings != nil {
		live, err := g.liveInstance(ctx, project, name)
		if err != nil {
			return instanceState{}, err
		}
		settings := r.Args.Settings.api()
		settings.SettingsVersion = live.Settings.Version
		err = g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			return svc.Instances.Patch(project, name, &sqladmin.DatabaseInstance{Settings: settings}).Context(ctx).Do()
		})
		if err != nil {
			return instanceState{}, fmt.Errorf("change the settings: %w", err)
		}
	}
	return g.liveInstance(ctx, project, name)
}

func (g *plugin) deleteInstance(ctx context.Context, r instanceRequest) error {
	if r.State.DeletionProtection != nil && *r.State.DeletionProtection {
		return errors.New("deletionProtection is set: set it to false, run up, and delete the instance then")
	}
	return g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Instances.Delete(r.State.Project, r.State.Name).Context(ctx).Do()
	})
}

type lookupInstanceArgs struct {
	Name    string `json:"name"`
	Project string `json:"project"`
}

type lookupInstanceResult struct {
	instanceState
	ID       string           `json:"id"`
	Settings []map[string]any `json:"settings"`
}

func (g *plugin) getInstance() provider.Function {
	return provider.Function{
		Args:   sql.LookupDatabaseInstanceArgs{},
		Result: sql.LookupDatabaseInstanceResult{},
		Call: provider.Call(func(ctx context.Context, args lookupInstanceArgs) (lookupInstanceResult, error) {
			project, err := g.project(args.Project)
			if err != nil {
				return lookupInstanceResult{}, err
			}
			state, err := g.liveInstance(ctx, project, args.Name)
			if err != nil {
				return lookupInstanceResult{}, fmt.Errorf("instance %q: %w", args.Name, err)
			}
			return lookupInstanceResult{
				instanceState: state,
				ID:            fmt.Sprintf("projects/%s/instances/%s", project, args.Name),
				Settings:      []map[string]any{state.Settings.lookup()},
			}, nil
		}),
	}
}
