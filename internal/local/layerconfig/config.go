package layerconfig

import (
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/egress"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/platform/origins"
	"github.com/strata-platform/strata/teams"
)

// Bootstrap returns the configuration of layer 1: Google Cloud's without the protections against loss, because a home is
// disposable. teamsFile is the path of teams.yaml.
func Bootstrap(h home.Home, teamsFile string) (auto.ConfigMap, error) {
	config, err := bootstrap.NewConfig()
	if err != nil {
		return nil, err
	}
	config.Project, config.Region, config.Zone = h.Project(), home.Region, home.Zone
	// gke-gcloud-auth-plugin is not available here, so the emulated cluster issues a client certificate.
	config.IssueClientCertificate = true
	config.DeletionProtection = false
	config.TeamsFile = teamsFile
	// Upstream's operator runs Stacks in pods, which cannot read the home's folders. Their state is in buckets.
	if h.Operator() != home.UpstreamOperator {
		config.TenantBackend = "file://" + h.TenantState(teams.Team{Name: bootstrap.TeamPlaceholder}.Namespace())
	}
	made, err := h.Generations()
	if err != nil {
		return nil, err
	}
	config.PassphraseGenerations = made.Passphrases
	return config.ConfigMap()
}

// Platform returns the configuration of layer 2, with the logins of Flux at the repositories of list, the teams. teamsFile is
// the path of teams.yaml.
func Platform(all repositories.Repositories, list []teams.Team, teamsFile string) (auto.ConfigMap, error) {
	config, err := platform.NewConfig()
	if err != nil {
		return nil, err
	}
	login := func(account string) (string, handoff.Secret) {
		password, passwordErr := all.Password(account)
		if passwordErr != nil {
			err = passwordErr
		}
		return account, handoff.Secret(password)
	}
	config.Target = "local"
	if all.Home.Operator() == home.UpstreamOperator {
		config.Target, config.Operator = "local-upstream", operators.Upstream
		// The pods of Stacks call the API server. Layer 1 of a home from before the emulator had a private endpoint hands
		// over no address of it.
		config.PrivateRanges = []string{controlplane.APIServer.String() + "/32"}
	}
	config.TeamsFile = teamsFile
	config.FleetURL = all.Address(repositories.Fleet)
	config.GitUsername, config.GitPassword = login(repositories.Fleet)
	config.FleetUsername, config.FleetPassword = login(gitserver.Reader(repositories.Fleet))
	config.Interval = "10s"
	config.PlatformURL = all.Address(repositories.Platform)
	config.PlatformUsername, config.PlatformPassword = login(gitserver.Reader(repositories.Platform))
	if all.Home.Source() == home.OCISource {
		key, keyErr := PublicKey(all.Home, repositories.Platform)
		if keyErr != nil {
			return nil, keyErr
		}
		config.PlatformURL, config.PlatformPublishers = "oci://"+all.Registry+"/"+repositories.PlatformArtifacts, origins.Publishers{key}
	}
	if all.Layer3 != nil {
		config.StrataFile, config.StrataURL = filepath.Join(all.Root, pins.File), all.Address(repositories.Strata)
		config.StrataUsername, config.StrataPassword = login(gitserver.Reader(repositories.Strata))
	}
	config.TeamURL, config.NotifyProxy = all.Address(platform.TeamPlaceholder), egress.URL
	config.TeamCredentials = map[string]platform.Credentials{}
	config.ArtifactKeys, config.ArtifactCredentials = map[string]string{}, map[string]platform.Credentials{}
	if all.Registry != "" {
		config.ArtifactURL, config.ArtifactInsecure = "oci://"+all.Registry+"/"+teams.Team{Name: platform.TeamPlaceholder}.ArtifactRepository(), true
	}
	for _, team := range list {
		username, password := login(gitserver.Reader(team.Name))
		config.TeamCredentials[team.Name] = platform.Credentials{Username: username, Password: password}
		if team.Artifacts() {
			config.ArtifactCredentials[team.Name] = config.TeamCredentials[team.Name]
			if config.ArtifactKeys[team.Name], err = PublicKey(all.Home, team.Name); err != nil {
				return nil, err
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if config.NotifyTokens, err = notifyTokens(all.Home, list); err != nil {
		return nil, err
	}
	return config.ConfigMap()
}
