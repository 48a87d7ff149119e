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
	// projectPlaceholder stands for Config.Project.
	projectPlaceholder = "{project}"
)

var (
	projectID = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	keyURL    = regexp.MustCompile(`^` + keyScheme + `projects/[a-z0-9:.-]+/locations/[a-z0-9-]+/keyRings/[a-zA-Z0-9_-]{1,63}/cryptoKeys/[a-zA-Z0-9_-]{1,63}$`)
	location  = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+(-[a-z])?$`)
)

// Config is the configuration of layer 1. Pulumi.yaml in this folder declares the same keys, types and defaults.
//
// The layer's own state contains all of its outputs, keys included. Keep that state in a backend that only the platform's
// engineers can read, as with the state of layer 2. The state of a team's Stacks is elsewhere, in a backend that only the
// team's account can read: see StateBucket.
type Config struct {
	// Project is the ID of the Google project that contains all resources. Required.
	Project string `setting:"project" required:"true"`
	// Region is the region of the database instance, and of the cluster unless Zone is set.
	Region string `setting:"region" default:"europe-west1"`
	// Zone is the zone of Region for a zonal cluster; empty means a regional cluster.
	Zone string `setting:"zone"`

	// ClusterName is the name of the GKE cluster.
	ClusterName string `setting:"clusterName" default:"strata"`
	// NodeCount is the number of nodes in each of the cluster's zones; with MaxNodeCount, the minimum.
	NodeCount int `setting:"nodeCount" default:"1"`
	// MaxNodeCount is the maximum number of nodes in each of the cluster's zones; zero keeps the number at NodeCount.
	MaxNodeCount int `setting:"maxNodeCount" default:"0"`
	// MachineType is the machine type of the nodes.
	MachineType string `setting:"machineType" default:"e2-standard-4"`
	// ReleaseChannel decides when new versions of Kubernetes arrive: RAPID, REGULAR or STABLE.
	ReleaseChannel string `setting:"releaseChannel" default:"REGULAR"`
	// IssueClientCertificate puts a client certificate into the kubeconfig instead of gke-gcloud-auth-plugin.
	IssueClientCertificate bool `setting:"issueClientCertificate" default:"false"`

	// Network and Subnetwork are names or links of an existing VPC network and of its subnetwork in Region, for the
	// cluster; empty means the network "default".
	Network    string `setting:"network"`
	Subnetwork string `setting:"subnetwork"`
	// PrivateNodes creates nodes without public addresses. Network then needs a Cloud NAT, because the nodes pull images
	// through it. PrivateNodes cannot be changed later.
	PrivateNodes bool `setting:"privateNodes" default:"false"`
	// ControlPlaneRange is the /28 range of a private cluster's control plane, such as 172.16.0.0/28; empty lets Google
	// Cloud choose.
	ControlPlaneRange string `setting:"controlPlaneRange"`
	// PrivateEndpoint removes the control plane's public address. Both layers must then run inside Network. It requires
	// PrivateNodes.
	PrivateEndpoint bool `setting:"privateEndpoint" default:"false"`
	// AuthorizedNetworks are the ranges, such as 203.0.113.0/24, that may connect to the control plane, and no others, not
	// even addresses of Google Cloud; none means any address, so that only authentication protects the control plane.
	AuthorizedNetworks []string `setting:"authorizedNetworks" default:"[]"`

	// MaintenanceStart is the start, in UTC, of the window in which Google Cloud upgrades the cluster by itself.
	MaintenanceStart string `setting:"maintenanceStart" default:"03:00"`
	// MaintenanceHours is the length of the window, 4 to 24 hours.
	MaintenanceHours int `setting:"maintenanceHours" default:"4"`
	// MaintenanceDays are the days of the window, such as SA and SU; none means every day.
	MaintenanceDays []string `setting:"maintenanceDays" default:"[]"`
	// MaintenanceExclusions are times without upgrades, by name.
	MaintenanceExclusions map[string]Exclusion `setting:"maintenanceExclusions"`
	// MaxSurge and MaxUnavailable limit the extra and the missing nodes of each zone while Google Cloud upgrades the nodes.
	MaxSurge       int `setting:"maxSurge" default:"1"`
	MaxUnavailable int `setting:"maxUnavailable" default:"0"`
	// NotificationTopic is the ID of a Pub/Sub topic in Project for messages about upgrades and security bulletins; empty
	// means none.
	NotificationTopic string `setting:"notificationTopic"`
	// Logging are the components of the cluster that log to Cloud Logging.
	Logging []string `setting:"logging" default:"[\"SYSTEM_COMPONENTS\",\"WORKLOADS\"]"`
	// SecretsKey is the name of a Cloud KMS key that encrypts the cluster's Secrets; empty means Google's encryption of disks.
	SecretsKey string `setting:"secretsKey"`
	// SecurityGroup is the group gke-security-groups@DOMAIN, whose groups RoleBindings may name; empty means none.
	SecurityGroup string `setting:"securityGroup"`
	// BinaryAuthorization lets the project's policy for Binary Authorization decide which images run.
	BinaryAuthorization bool `setting:"binaryAuthorization" default:"false"`
	// IntranodeVisibility sends the traffic between pods of one node through the VPC network, so that flow logs contain it.
	IntranodeVisibility bool `setting:"intranodeVisibility" default:"false"`

	// InstanceName is the name of the shared Cloud SQL instance.
	InstanceName string `setting:"instanceName" default:"strata"`
	// InstanceVersion is the instance's engine, such as MYSQL_8_0 or POSTGRES_16.
	InstanceVersion string `setting:"instanceVersion" default:"MYSQL_8_0"`
	// InstanceTier is the machine type of the instance.
	InstanceTier string `setting:"instanceTier" default:"db-custom-1-3840"`

	// InstanceHighAvailability adds a standby machine in another zone to the instance.
	InstanceHighAvailability bool `setting:"instanceHighAvailability" default:"false"`
	// InstanceNetwork is the self link of the only VPC network that reaches the instance; the network must have private
	// services access. Empty gives the instance a public address that only the Cloud SQL Auth Proxy can use.
	InstanceNetwork string `setting:"instanceNetwork"`
	// InstanceRequireTLS refuses unencrypted connections to the instance.
	InstanceRequireTLS bool `setting:"instanceRequireTls" default:"false"`

	// DeletionProtection refuses to delete any resource of the layer except keys, whether a destroy, the removal of a
	// team, or a replacement of the cluster or instance asks for it. Without it, the layer deletes state buckets with all
	// of their content.
	DeletionProtection bool `setting:"deletionProtection" default:"true"`

	// TeamsFile is the path of teams.yaml, relative to the folder of Pulumi.yaml.
	TeamsFile string `setting:"teamsFile" default:"../teams.yaml"`
	// StateBucket is the name of the bucket for the state of a team's Stacks, with {team} for the team's name and
	// {project} for Project. The layer creates the bucket for the team's account alone. The URL of the team's backend is
	// gs:// and the name.
	StateBucket string `setting:"stateBucket" default:"{project}-strata-{team}"`
	// TenantBackend is the URL of another backend for that state, with {team} for the team's name; empty means a bucket
	// that the layer creates. Teams must not share a backend. Empty the backend before you run the layer again after a
	// destroy: the destroy has deleted the passphrases of its content.
	TenantBackend string `setting:"tenantBackend"`
	// TenantSecretsProvider is the URL of the Cloud KMS key that encrypts the secrets in that state, with {team} for the team's
	// name; empty means a passphrase that the layer creates. The keys must exist: the layer gives each team's account the use
	// of its key, and no other. Teams must not share a key. Whoever loses the key of a state loses the state's secrets, so the
	// layer creates and destroys no key.
	TenantSecretsProvider string `setting:"tenantSecretsProvider"`
	// PassphraseGenerations are, by the team's name, the generations of the passphrase that exist, the newest first: [0] for the
	// first one, [1, 0] while states move from it to the next one, and then [1]. A team without an entry has [0].
	PassphraseGenerations map[string][]int `setting:"passphraseGenerations"`
	// TenantRoles are roles on Project for every team's Google account, in addition to TenantRole.
	TenantRoles []string `setting:"tenantRoles" default:"[]"`
	// TenantKeys creates a key for each team's Google account, in addition to Workload Identity, by which the Kubernetes
	// accounts of the team's Stacks impersonate the Google account. Neither operator needs keys. Set it only for a workload
	// outside of the cluster that has no other way to authenticate: a key does not expire.
	TenantKeys bool `setting:"tenantKeys" default:"false"`
	// KeyGenerations are the generations of the keys that exist, as in PassphraseGenerations; none means [0].
	KeyGenerations []int `setting:"keyGenerations" default:"[]"`
	// TenantKeyRotation is any text. A change of it replaces the keys. Run layer 2 right after, which distributes the new
	// keys.
	TenantKeyRotation string `setting:"tenantKeyRotation"`
}

// Exclusion is a time without upgrades of the cluster, with the fields of gke.MaintenanceExclusion.
type Exclusion struct {
	Start string `json:"start"`
	End   string `json:"end"`
	Scope string `json:"scope,omitempty"`
}

// NewConfig returns a configuration with every default set.
func NewConfig() (Config, error) {
	var config Config
	err := settings.Defaults(&config)
	return config, err
}

// ConfigMap returns the configuration in the form of the Automation API. Start from NewConfig: ConfigMap sets a field at
// its zero value to that value, not to its default.
func (c Config) ConfigMap() (auto.ConfigMap, error) { return settings.Encode(Project, c) }

// Problems implements settings.Checked.
func (c Config) Problems() []string {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(!projectID.MatchString(c.Project), "project %q is not the ID of a Google project", c.Project)
	refuse(!location.MatchString(c.Region), "region %q is not a region, such as europe-west1", c.Region)
	refuse(c.Zone != "" && (!location.MatchString(c.Zone) || !strings.HasPrefix(c.Zone, c.Region+"-")),
		"zone %q is not a zone of region %s", c.Zone, c.Region)
	refuse(c.NodeCount < 1, "nodeCount is %d: at least 1 is needed", c.NodeCount)
	refuse(c.MaxNodeCount != 0 && c.MaxNodeCount < c.NodeCount, "maxNodeCount is %d, which is below nodeCount %d", c.MaxNodeCount, c.NodeCount)
	refuse(!slices.Contains(gke.Channels(), c.ReleaseChannel), "releaseChannel %q is not one of %s", c.ReleaseChannel, strings.Join(gke.Channels(), ", "))
	refuse(c.Subnetwork != "" && c.Network == "", "subnetwork is set without network")
	refuse(c.ControlPlaneRange != "" && !c.PrivateNodes, "controlPlaneRange is for private clusters only: set privateNodes too")
	refuse(c.PrivateEndpoint && !c.PrivateNodes, "privateEndpoint is for private clusters only: set privateNodes too")
	for _, problem := range gke.CheckNetworks(c.AuthorizedNetworks) {
		problems = append(problems, "authorizedNetworks: "+problem)
	}
	problems = append(problems, c.clusterProblems()...)
	refuse(c.TenantBackend != "" && !strings.Contains(c.TenantBackend, TeamPlaceholder),
		"tenantBackend %q does not contain %s: teams would share their state", c.TenantBackend, TeamPlaceholder)
	refuse(c.TenantBackend != "" && !strings.Contains(c.TenantBackend, "://"),
		"tenantBackend %q is not a URL, such as s3://acme-state-{team}", c.TenantBackend)
	refuse(c.TenantBackend == "" && !strings.Contains(c.StateBucket, TeamPlaceholder),
		"stateBucket %q does not contain %s: teams would share their state", c.StateBucket, TeamPlaceholder)
	refuse(c.TenantSecretsProvider != "" && !keyURL.MatchString(strings.ReplaceAll(c.TenantSecretsProvider, TeamPlaceholder, "web")),
		"tenantSecretsProvider %q is not a key of Cloud KMS, such as "+
			"gcpkms://projects/acme/locations/europe-west1/keyRings/strata/cryptoKeys/{team}", c.TenantSecretsProvider)
	refuse(c.TenantSecretsProvider != "" && !strings.Contains(c.TenantSecretsProvider, TeamPlaceholder),
		"tenantSecretsProvider %q does not contain %s: teams would share a key", c.TenantSecretsProvider, TeamPlaceholder)
	refuse(c.TenantKeyRotation != "" && !c.TenantKeys, "tenantKeyRotation is for keys only: set tenantKeys too")
	problems = append(problems, c.generationProblems()...)
	for _, problem := range identity.CheckRoles(c.TenantRoles, nil) {
		problems = append(problems, "tenantRoles: "+problem)
	}
	return problems
}

// location returns the location of the cluster: Zone, or Region.
func (c Config) location() string {
	if c.Zone != "" {
		return c.Zone
	}
	return c.Region
}

// checkTeams refuses settings that are valid by themselves but not for these teams.
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
		return fmt.Errorf("setting stateBucket %q gives an invalid name: %s", c.StateBucket, strings.Join(problems, "; "))
	}
	return nil
}

// bucket returns the name of a team's bucket.
func (c Config) bucket(team string) string {
	return strings.NewReplacer(TeamPlaceholder, team, projectPlaceholder, c.Project).Replace(c.StateBucket)
}

// backend returns the URL of a team's backend if TenantBackend is set.
func (c Config) backend(team string) string {
	return strings.ReplaceAll(c.TenantBackend, TeamPlaceholder, team)
}
