package platform

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/platform/commitstatus"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/platform/origins"
	"github.com/strata-platform/strata/teams"
)

// Project is the name of the layer's Pulumi project.
const Project = "strata-platform"

// TeamPlaceholder stands for a team's name in Config.TeamURL.
const TeamPlaceholder = origins.TeamPlaceholder

var (
	targetName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	fluxTag    = regexp.MustCompile(`^v2\.[0-9]+\.[0-9]+$`)
)

// Config is the configuration of layer 2. Pulumi.yaml at the repository's root declares the same keys, types and
// defaults.
type Config struct {
	// BootstrapStack is the full name of layer 1's stack; empty means the stack of the same name in the same backend.
	BootstrapStack string `setting:"bootstrapStack"`
	// Target is where the platform runs: gke, local or, as the name of homes with upstream's operator, local-upstream; or the name
	// of an entry point of one's own below sync/clusters. It names the folder below clusters in the fleet repository.
	Target string `setting:"target" default:"gke"`
	// Operator is the operator that runs Stacks: operators.Embedded or operators.Upstream, which reads every Secret of the cluster.
	Operator string `setting:"operator" default:"embedded"`
	// OperatorImage is the image, with its digest, of the embedded operator. Required where that operator runs in a pod, and
	// without effect elsewhere.
	OperatorImage string `setting:"operatorImage"`
	// TeamsFile is the path of teams.yaml, relative to the folder of Pulumi.yaml.
	TeamsFile string `setting:"teamsFile" default:"teams.yaml"`

	// FleetURL is the repository that Flux installs itself from. Required.
	FleetURL string `setting:"fleetUrl" required:"true"`
	// GitUsername and GitPassword may push to the fleet repository, and to no other. Required.
	GitUsername string         `setting:"gitUsername" required:"true"`
	GitPassword handoff.Secret `setting:"gitPassword" required:"true"`
	// FleetUsername and FleetPassword may only read the fleet repository. If both are empty, the cluster reads it with
	// GitUsername and GitPassword.
	FleetUsername string         `setting:"fleetUsername"`
	FleetPassword handoff.Secret `setting:"fleetPassword"`
	// FluxVersion is the version of Flux.
	FluxVersion string `setting:"fluxVersion" default:"v2.9.4"`
	// FluxComponents are the controllers of Flux.
	FluxComponents []string `setting:"fluxComponents" default:"[\"source-controller\",\"kustomize-controller\",\"helm-controller\",\"notification-controller\"]"`
	// Interval is the polling interval of sources and syncs. A notification of a push triggers a check at once.
	Interval string `setting:"interval" default:"1m"`

	// PlatformURL is the repository whose sync folder Flux applies under the platform account: a Git repository, or with the scheme
	// oci:// the repository of artifacts that `strata publish --platform` signs. Required.
	PlatformURL string `setting:"platformUrl" required:"true"`
	// PlatformBranch is the branch of a Git repository. PlatformVersions is the range of versions of artifacts; empty means all.
	PlatformBranch   string `setting:"platformBranch" default:"main"`
	PlatformVersions string `setting:"platformVersions"`
	// PlatformUsername and PlatformPassword may read that repository; both are empty for a public repository.
	PlatformUsername string         `setting:"platformUsername"`
	PlatformPassword handoff.Secret `setting:"platformPassword"`
	// PlatformPublishers are the public keys whose signatures Flux demands: of OpenPGP or SSH for commits, where empty means that
	// they need none; in PEM for artifacts, which need at least one.
	PlatformPublishers origins.Publishers `setting:"platformPublishers" default:"[]"`

	// StrataFile is the path of strata.yaml, relative to the folder of Pulumi.yaml; empty means that PlatformURL contains
	// all of layer 3, as a clone of Strata does. With the file, Flux applies the commit that the file pins under the
	// platform account, and then sync/ of PlatformURL.
	StrataFile string `setting:"strataFile"`
	// StrataURL is a repository to fetch the pinned commit from instead of the one in StrataFile.
	StrataURL string `setting:"strataUrl"`
	// StrataUsername and StrataPassword may read that repository; both are empty for a public repository.
	StrataUsername string         `setting:"strataUsername"`
	StrataPassword handoff.Secret `setting:"strataPassword"`

	// PrivateRanges are private address ranges that the pods of teams and of Flux may connect to, such as those of the
	// database or of Git servers. They need not contain the control plane: layer 1 hands its addresses over.
	PrivateRanges []string `setting:"privateRanges" default:"[]"`
	// WorkspaceImage is the image, with its digest, of the pods in which upstream's operator runs Stacks; empty leaves the choice
	// to the Stacks. WorkspaceCPU and WorkspaceMemory are the requests of such a pod, and WorkspaceMemoryLimit is the limit that
	// no Stack may lower.
	WorkspaceImage       string `setting:"workspaceImage"`
	WorkspaceCPU         string `setting:"workspaceCpu" default:"100m"`
	WorkspaceMemory      string `setting:"workspaceMemory" default:"512Mi"`
	WorkspaceMemoryLimit string `setting:"workspaceMemoryLimit" default:"2Gi"`
	// Contact is the contact that messages of admission policies name to a refused team.
	Contact string `setting:"contact" default:"the platform team"`

	// TeamURL is the URL of a team's repository, with {team} for the team's name. Required.
	TeamURL string `setting:"teamUrl" required:"true"`
	// ArtifactURL is the URL of the repository of a team's artifacts, with {team} for the team's name, for teams with source:
	// oci. ArtifactInsecure uses HTTP, for PlatformURL, too. ArtifactKeys are the public keys, in PEM, that sign the artifacts of a team, in addition
	// to publishers in teams.yaml. ArtifactCredentials may read the artifacts; the team can read them too.
	ArtifactURL         string                 `setting:"artifactUrl"`
	ArtifactInsecure    bool                   `setting:"artifactInsecure" default:"false"`
	ArtifactKeys        map[string]string      `setting:"artifactKeys"`
	ArtifactCredentials map[string]Credentials `setting:"artifactCredentials" secret:"true"`
	// ArtifactTrustedRoot is the trusted_root.json of the Sigstore that issues the identities of teams with identity; empty means the
	// public one.
	ArtifactTrustedRoot string `setting:"artifactTrustedRoot"`
	// BucketCredentials may read the bucket of a team with source: bucket; the team can read them too.
	BucketCredentials origins.BucketLogins `setting:"bucketCredentials" secret:"true"`
	// TeamCredentials may read a team's repository, by the team's name. The team can read them too, so each must be valid
	// for one repository only. A team without credentials has a public repository.
	TeamCredentials map[string]Credentials `setting:"teamCredentials" secret:"true"`
	// NotifyTokens may write statuses of a team's commits, by the team's name. No team can read them. NotifyProxy is the proxy to forges.
	NotifyTokens map[string]handoff.Secret `setting:"notifyTokens" secret:"true"`
	NotifyProxy  string                    `setting:"notifyProxy"`
}

// Credentials are a login to a Git server or a registry.
type Credentials = origins.Credentials

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
	refuse(!targetName.MatchString(c.Target), "target %q is not the name of a folder below sync/clusters", c.Target)
	problems = append(problems, c.choice().Problems()...)
	refuse(!fluxTag.MatchString(c.FluxVersion), "fluxVersion %q is not a version of Flux 2, such as v2.9.4", c.FluxVersion)
	for _, required := range []string{"source-controller", "kustomize-controller"} {
		refuse(!slices.Contains(c.FluxComponents, required), "fluxComponents does not contain %s, without which Flux applies nothing", required)
	}
	interval, err := time.ParseDuration(c.Interval)
	refuse(err != nil || interval < time.Second, "interval %q is not a duration of at least a second, such as 1m", c.Interval)
	for _, address := range []struct{ key, url string }{
		{"fleetUrl", c.FleetURL}, {"platformUrl", c.PlatformURL}, {"teamUrl", c.TeamURL},
	} {
		if problem := origins.GitURLProblem(address.url); problem != "" && (address.key != "platformUrl" || !c.platform().Artifacts()) {
			refuse(true, "%s %s", address.key, problem)
		}
	}
	problem := origins.GitURLProblem(c.StrataURL)
	refuse(c.StrataURL != "" && problem != "", "strataUrl %s", problem)
	refuse(c.StrataFile == "" && c.StrataURL+c.StrataUsername+string(c.StrataPassword) != "", "strataUrl and its login need strataFile, which pins the commit")
	refuse((c.StrataUsername == "") != (c.StrataPassword == ""), "strataUsername and strataPassword must be given together")
	refuse(!strings.Contains(c.TeamURL, TeamPlaceholder), "teamUrl does not contain %s: teams would share a repository", TeamPlaceholder)
	refuse((c.FleetUsername == "") != (c.FleetPassword == ""), "fleetUsername and fleetPassword must be given together")
	refuse((c.PlatformUsername == "") != (c.PlatformPassword == ""), "platformUsername and platformPassword must be given together")
	for _, each := range c.PrivateRanges {
		_, err := netip.ParsePrefix(each)
		refuse(err != nil, "privateRanges: %q is not a range of addresses, such as 10.8.0.0/24", each)
	}
	for _, problem := range c.workspace().Problems() {
		problems = append(problems, "workspace"+strings.ToUpper(problem[:1])+problem[1:])
	}
	problems = append(problems, c.credentialProblems()...)
	return slices.Concat(problems, c.artifacts().Problems(), c.platform().Problems(), c.BucketCredentials.Problems())
}

// credentialProblems refuses credentials that would let their readers write to the fleet repository. A team can read its
// own credentials.
func (c Config) credentialProblems() []string {
	var problems []string
	for _, team := range slices.Sorted(maps.Keys(c.TeamCredentials)) {
		login := c.TeamCredentials[team]
		switch {
		case login.Username == "" || login.Password == "":
			problems = append(problems, fmt.Sprintf("teamCredentials.%s needs both username and password", team))
		case login.Password == c.GitPassword:
			problems = append(problems, fmt.Sprintf("teamCredentials.%s is the login that writes the fleet repository: the team could read it and control the cluster", team))
		}
	}
	if c.upstreamOperator() && (c.FleetPassword == "" || c.FleetPassword == c.GitPassword) {
		problems = append(problems, "fleetUsername and fleetPassword must be a login that only reads: the upstream operator reads every Secret of the cluster, and the login that writes the fleet repository controls the cluster")
	}
	for _, login := range []struct {
		key      string
		password handoff.Secret
	}{{"platformPassword", c.PlatformPassword}, {"strataPassword", c.StrataPassword}} {
		if login.password != "" && login.password == c.GitPassword {
			problems = append(problems, login.key+" is the login that writes the fleet repository: give the platform account a login that only reads")
		}
	}
	return problems
}

// choice returns the operator, and upstreamOperator reports whether it is upstream's.
func (c Config) choice() operators.Choice {
	return operators.Choice{Target: c.Target, Operator: c.Operator, Image: c.OperatorImage}
}

func (c Config) upstreamOperator() bool { return c.choice().Upstream() }

// checkTeams refuses credentials for teams that are not in the list: their names are misspelt, or their removal was
// incomplete.
func (c Config) checkTeams(list []teams.Team) error {
	known := names(list)
	for _, team := range slices.Sorted(maps.Keys(c.TeamCredentials)) {
		if !slices.Contains(known, team) {
			return fmt.Errorf("setting teamCredentials names team %s, which is not in %s: add the team to the file, or remove the login", team, c.TeamsFile)
		}
	}
	for _, team := range list {
		if team.Approval.Set() && c.upstreamOperator() {
			return fmt.Errorf("%s sets approval of team %s, and upstream's operator waits for no approval: remove it, or use the embedded operator", c.TeamsFile, team.Name)
		}
	}
	return c.commitStatus().Check(list)
}

func (c Config) commitStatus() commitstatus.Settings {
	return commitstatus.Settings{
		Tokens: c.NotifyTokens, Proxy: c.NotifyProxy, TeamURL: c.TeamURL, TeamsFile: c.TeamsFile, Readable: c.TeamCredentials,
		Notifies: c.hasReceivers(), Plans: !c.upstreamOperator(),
	}
}
