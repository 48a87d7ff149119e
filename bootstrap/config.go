package bootstrap

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/settings"
)

// Project is the name of the layer's Pulumi project.
const Project = handoff.BootstrapProject

// TeamPlaceholder stands for a team's name in Config.TenantBackend.
const TeamPlaceholder = "{team}"

var (
	projectID = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	location  = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+(-[a-z])?$`)
	channels  = []string{"RAPID", "REGULAR", "STABLE", "EXTENDED"}
)

// Config is the configuration of layer 1. Pulumi.yaml in this folder declares the same keys, types and defaults.
type Config struct {
	// Project is the id of the Google project that holds everything. Required.
	Project string `setting:"project" required:"true"`
	// Region is where the database runs, and the cluster unless Zone is set.
	Region string `setting:"region" default:"europe-west1"`
	// Zone puts the cluster into one zone of Region; empty spreads it over the region.
	Zone string `setting:"zone"`

	// ClusterName is the name of the GKE cluster.
	ClusterName string `setting:"clusterName" default:"strata"`
	// NodeCount is the number of nodes in each of the cluster's zones.
	NodeCount int `setting:"nodeCount" default:"1"`
	// MachineType is the machine of the nodes.
	MachineType string `setting:"machineType" default:"e2-standard-4"`
	// ReleaseChannel decides when new versions of Kubernetes arrive: RAPID, REGULAR, STABLE or EXTENDED.
	ReleaseChannel string `setting:"releaseChannel" default:"REGULAR"`
	// IssueClientCertificate puts a client certificate into the kubeconfig, in place of gke-gcloud-auth-plugin.
	IssueClientCertificate bool `setting:"issueClientCertificate" default:"false"`

	// InstanceName is the name of the shared Cloud SQL instance.
	InstanceName string `setting:"instanceName" default:"strata"`
	// InstanceVersion is the instance's version of MySQL.
	InstanceVersion string `setting:"instanceVersion" default:"MYSQL_8_0"`
	// InstanceTier is the machine of the instance.
	InstanceTier string `setting:"instanceTier" default:"db-custom-1-3840"`

	// DeletionProtection refuses to delete the cluster and the instance.
	DeletionProtection bool `setting:"deletionProtection" default:"true"`

	// TeamsFile is the path of teams.yaml, relative to the folder of Pulumi.yaml.
	TeamsFile string `setting:"teamsFile" default:"../teams.yaml"`
	// TenantBackend is the URL of the backend for the state of a team's Stacks, with {team} for the team's name. Teams
	// must not share a backend. Required.
	TenantBackend string `setting:"tenantBackend" required:"true"`
	// TenantRoles are roles that a team's Google account has on Project besides TenantRole, which every team has.
	TenantRoles []string `setting:"tenantRoles" default:"[]"`
	// TenantKeys makes a key for each team's Google account. Leave it off where the teams prove who they are without one.
	TenantKeys bool `setting:"tenantKeys" default:"false"`
}

// NewConfig returns a configuration with every default set.
func NewConfig() (Config, error) {
	var config Config
	err := settings.Defaults(&config)
	return config, err
}

// ConfigMap is the configuration as the Automation API takes it. Start from NewConfig: a field at its zero value is
// set to that value, not to its default.
func (c Config) ConfigMap() (auto.ConfigMap, error) { return settings.Encode(Project, c) }

// Problems implements settings.Checked.
func (c Config) Problems() []string {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(!projectID.MatchString(c.Project), "project %q is not the id of a Google project", c.Project)
	refuse(!location.MatchString(c.Region), "region %q is not a region, such as europe-west1", c.Region)
	refuse(c.Zone != "" && (!location.MatchString(c.Zone) || !strings.HasPrefix(c.Zone, c.Region+"-")),
		"zone %q is not a zone of region %s", c.Zone, c.Region)
	refuse(c.NodeCount < 1, "nodeCount is %d: at least 1 is needed", c.NodeCount)
	refuse(!slices.Contains(channels, c.ReleaseChannel), "releaseChannel %q is none of %s", c.ReleaseChannel, strings.Join(channels, ", "))
	refuse(!strings.Contains(c.TenantBackend, TeamPlaceholder),
		"tenantBackend %q does not contain %s: teams would share their state", c.TenantBackend, TeamPlaceholder)
	refuse(!strings.Contains(c.TenantBackend, "://"), "tenantBackend %q is not a URL, such as gs://acme-state-{team}", c.TenantBackend)
	for _, problem := range identity.CheckRoles(c.TenantRoles, nil) {
		problems = append(problems, "tenantRoles: "+problem)
	}
	return problems
}

// location is where the cluster runs.
func (c Config) location() string {
	if c.Zone != "" {
		return c.Zone
	}
	return c.Region
}

// backend is the URL of one team's backend.
func (c Config) backend(team string) string {
	return strings.ReplaceAll(c.TenantBackend, TeamPlaceholder, team)
}
