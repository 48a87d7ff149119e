package bootstrap

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/teams"
)

// Project is the name of the layer's Pulumi project.
const Project = handoff.BootstrapProject

// Placeholders in Config.StateBucket and Config.TenantBackend.
const (
	// TeamPlaceholder stands for a team's name.
	TeamPlaceholder = "{team}"
	// ProjectPlaceholder stands for Config.Project.
	ProjectPlaceholder = "{project}"
)

var (
	projectID = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	location  = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+(-[a-z])?$`)
)

// Config is the configuration of layer 1. Pulumi.yaml in this folder declares the same keys, types and defaults.
//
// The layer's own state holds everything that it makes, keys included: keep it in a backend that only the platform's
// engineers read, layer 2's next to it. The state of the teams' Stacks lies elsewhere, one backend for each team that its
// account alone reads: see StateBucket.
type Config struct {
	// Project is the id of the Google project that holds everything. Required.
	Project string `setting:"project" required:"true"`
	// Region is where the database runs, and the cluster unless Zone is set.
	Region string `setting:"region" default:"europe-west1"`
	// Zone puts the cluster into one zone of Region; empty spreads it over the region.
	Zone string `setting:"zone"`

	// ClusterName is the name of the GKE cluster.
	ClusterName string `setting:"clusterName" default:"strata"`
	// NodeCount is the number of nodes in each of the cluster's zones, with MaxNodeCount the lowest number.
	NodeCount int `setting:"nodeCount" default:"1"`
	// MaxNodeCount is the highest number of nodes in each of the cluster's zones; zero keeps it at NodeCount.
	MaxNodeCount int `setting:"maxNodeCount" default:"0"`
	// MachineType is the machine of the nodes.
	MachineType string `setting:"machineType" default:"e2-standard-4"`
	// ReleaseChannel decides when new versions of Kubernetes arrive: RAPID, REGULAR or STABLE.
	ReleaseChannel string `setting:"releaseChannel" default:"REGULAR"`
	// IssueClientCertificate puts a client certificate into the kubeconfig, in place of gke-gcloud-auth-plugin.
	IssueClientCertificate bool `setting:"issueClientCertificate" default:"false"`

	// Network and Subnetwork are names or links of an existing VPC network and of its part in Region, for the cluster; empty
	// means the network "default".
	Network    string `setting:"network"`
	Subnetwork string `setting:"subnetwork"`
	// PrivateNodes gives the nodes no public addresses: Network then needs a Cloud NAT, through which images come. It cannot
	// be changed later.
	PrivateNodes bool `setting:"privateNodes" default:"false"`
	// ControlPlaneRange is the /28 of a private cluster's control plane, such as 172.16.0.0/28; empty leaves it to Google
	// Cloud.
	ControlPlaneRange string `setting:"controlPlaneRange"`
	// PrivateEndpoint takes the control plane's public address away: both layers must then run inside Network. Only with
	// PrivateNodes.
	PrivateEndpoint bool `setting:"privateEndpoint" default:"false"`
	// AuthorizedNetworks are the ranges, such as 203.0.113.0/24, from which the control plane is reached; none means from
	// everywhere, guarded by authentication alone.
	AuthorizedNetworks []string `setting:"authorizedNetworks" default:"[]"`

	// InstanceName is the name of the shared Cloud SQL instance.
	InstanceName string `setting:"instanceName" default:"strata"`
	// InstanceVersion is the instance's engine, such as MYSQL_8_0 or POSTGRES_16.
	InstanceVersion string `setting:"instanceVersion" default:"MYSQL_8_0"`
	// InstanceTier is the machine of the instance.
	InstanceTier string `setting:"instanceTier" default:"db-custom-1-3840"`

	// InstanceHighAvailability keeps a second machine of the instance in another zone.
	InstanceHighAvailability bool `setting:"instanceHighAvailability" default:"false"`
	// InstanceNetwork is the self link of the VPC network, with private services access, that alone reaches the instance;
	// empty gives it a public address for the Cloud SQL Auth Proxy only.
	InstanceNetwork string `setting:"instanceNetwork"`
	// InstanceRequireTLS refuses connections to the instance that are not encrypted.
	InstanceRequireTLS bool `setting:"instanceRequireTls" default:"false"`

	// DeletionProtection refuses to delete anything that the layer made but keys: by destroy, by the removal of a team, or
	// because a change would need a new cluster or instance. Without it, state buckets are deleted with all they hold.
	DeletionProtection bool `setting:"deletionProtection" default:"true"`

	// TeamsFile is the path of teams.yaml, relative to the folder of Pulumi.yaml.
	TeamsFile string `setting:"teamsFile" default:"../teams.yaml"`
	// StateBucket is the name of the bucket for the state of a team's Stacks, with {team} for the team's name and {project}
	// for Project. The layer makes it for the team's account alone; gs:// and the name is the team's backend.
	StateBucket string `setting:"stateBucket" default:"{project}-strata-{team}"`
	// TenantBackend is the URL of another backend for that state, with {team} for the team's name; empty means a bucket that
	// the layer makes. Teams must not share a backend. Empty it before the layer is made again after a destroy, with which the
	// passphrases of what it holds are gone.
	TenantBackend string `setting:"tenantBackend"`
	// TenantRoles are roles that a team's Google account has on Project besides TenantRole, which every team has.
	TenantRoles []string `setting:"tenantRoles" default:"[]"`
	// TenantKeys makes a key for each team's Google account. Without it the Kubernetes accounts under which the team's Stacks
	// run act as that account by Workload Identity, which is to be preferred wherever it is there.
	TenantKeys bool `setting:"tenantKeys" default:"false"`
	// TenantKeyRotation is any text; another one than before replaces the keys. Hand them on with layer 2 right after.
	TenantKeyRotation string `setting:"tenantKeyRotation"`
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
	refuse(c.MaxNodeCount != 0 && c.MaxNodeCount < c.NodeCount, "maxNodeCount is %d, which is below nodeCount %d", c.MaxNodeCount, c.NodeCount)
	refuse(!slices.Contains(gke.Channels(), c.ReleaseChannel), "releaseChannel %q is none of %s", c.ReleaseChannel, strings.Join(gke.Channels(), ", "))
	refuse(c.Subnetwork != "" && c.Network == "", "subnetwork is given without its network")
	refuse(c.ControlPlaneRange != "" && !c.PrivateNodes, "controlPlaneRange is for private clusters only: set privateNodes as well")
	refuse(c.PrivateEndpoint && !c.PrivateNodes, "privateEndpoint is for private clusters only: set privateNodes as well")
	for _, problem := range gke.CheckNetworks(c.AuthorizedNetworks) {
		problems = append(problems, "authorizedNetworks: "+problem)
	}
	refuse(c.TenantBackend != "" && !strings.Contains(c.TenantBackend, TeamPlaceholder),
		"tenantBackend %q does not contain %s: teams would share their state", c.TenantBackend, TeamPlaceholder)
	refuse(c.TenantBackend != "" && !strings.Contains(c.TenantBackend, "://"),
		"tenantBackend %q is not a URL, such as s3://acme-state-{team}", c.TenantBackend)
	refuse(c.TenantBackend == "" && !strings.Contains(c.StateBucket, TeamPlaceholder),
		"stateBucket %q does not contain %s: teams would share their state", c.StateBucket, TeamPlaceholder)
	refuse(c.TenantKeyRotation != "" && !c.TenantKeys, "tenantKeyRotation is for keys: set tenantKeys as well")
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

// checkTeams refuses what fits the rules for settings, and yet not these teams.
func (c Config) checkTeams(list []teams.Team) error {
	if c.TenantBackend != "" {
		return nil
	}
	var problems []string
	for _, team := range list {
		if problem := statebucket.CheckName(c.bucket(team.Name)); problem != "" {
			problems = append(problems, fmt.Sprintf("the bucket of team %s %s", team.Name, problem))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("setting stateBucket %q does not do: %s", c.StateBucket, strings.Join(problems, "; "))
	}
	return nil
}

// bucket is the name of one team's bucket.
func (c Config) bucket(team string) string {
	return strings.NewReplacer(TeamPlaceholder, team, ProjectPlaceholder, c.Project).Replace(c.StateBucket)
}

// backend is the URL of one team's backend where the layer makes no bucket.
func (c Config) backend(team string) string {
	return strings.ReplaceAll(c.TenantBackend, TeamPlaceholder, team)
}
