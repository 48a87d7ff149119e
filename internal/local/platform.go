// Package local implements the target of package lifecycle for one machine: from an empty folder to running Stacks, and
// back.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/cloudclient"
	"github.com/strata-platform/strata/internal/local/kubeconfig"
	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/local/logs"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/states"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/teams"
)

// Platform is the local platform of one home.
type Platform struct {
	Home      home.Home
	Toolchain *toolchain.Toolchain
	// Repository is the clone of Strata, or an organisation's repository.
	Repository repository.Repository
	// Environment is the name of the stack in every layer.
	Environment string

	// Reconfigure changes the configuration of a layer; nil means that it stays as it is. A rehearsal gives its home the settings of
	// the platform that it copies.
	Reconfigure func(layer string, config auto.ConfigMap) (auto.ConfigMap, error)

	// operator is the argument of UseOperator, and source that of UseSource.
	operator   string
	source     string
	executable string
	client     *supervisor.Client
	pulumi     func() (auto.PulumiCommand, error)
}

// Open opens the platform of a home. The home need not exist: Start creates it. root is the root folder of a clone of Strata
// or of an organisation's repository. An empty environment means that of the home.
func Open(root, dir, environment string) (*Platform, error) {
	h, err := home.At(dir)
	if err == nil && h.Exists() {
		h, err = home.Open(dir)
	}
	if err != nil {
		return nil, err
	}
	if h.Environment() != "" {
		if err := h.KeepEnvironment(environment); err != nil {
			return nil, err
		}
		environment = h.Environment()
	}
	tc, err := toolchain.Open(root)
	if err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find strata's own executable: %w", err)
	}
	return &Platform{
		Home: h, Toolchain: tc, Repository: repository.At(root), Environment: cmp.Or(environment, h.Environment()),
		executable: executable, client: supervisor.Connect(h), pulumi: layers.Pinned(h.ToolsRoot(), tc.Version("pulumi")),
	}, nil
}

// UseOperator sets the operator of a new home: home.EmbeddedOperator or home.UpstreamOperator. It returns an error if the home
// exists with another one. An empty name has no effect: without a name, a new home has the embedded operator.
func (p *Platform) UseOperator(name string) error {
	if name != "" && name != home.EmbeddedOperator && name != home.UpstreamOperator {
		return fmt.Errorf("unknown operator %q: the operators are %s and %s", name, home.EmbeddedOperator, home.UpstreamOperator)
	}
	p.operator = name
	if !p.Home.Exists() {
		return nil
	}
	return p.Home.KeepOperator(name)
}

// UseSource sets where Flux fetches the platform from, from the next up on: home.GitSource or home.OCISource. An empty name has no
// effect: without a name, a new home has home.GitSource.
func (p *Platform) UseSource(name string) error {
	if name != "" && name != home.GitSource && name != home.OCISource {
		return fmt.Errorf("unknown source %q: the sources are %s and %s", name, home.GitSource, home.OCISource)
	}
	p.source = name
	return nil
}

// Supervisor returns the client of the home's supervisor.
func (p *Platform) Supervisor() *supervisor.Client { return p.client }

// Teams reads the teams of teams.yaml.
func (p *Platform) Teams() ([]teams.Team, error) {
	file, err := lifecycle.ReadTeams(p.Repository.Root)
	if err != nil {
		return nil, err
	}
	return file.Teams, nil
}

// Tenants returns the teams of teams.yaml, and after them the platform's own.
func (p *Platform) Tenants() ([]teams.Team, error) {
	file, err := lifecycle.ReadTeams(p.Repository.Root)
	if err != nil {
		return nil, err
	}
	return file.All(), nil
}

// teamsFile returns the path of teams.yaml.
func (p *Platform) teamsFile() string { return filepath.Join(p.Repository.Root, lifecycle.TeamsFile) }

// CreateHome creates the home if it does not exist.
func (p *Platform) CreateHome() error {
	home.KeepPrivate()
	_, err := home.Open(p.Home.Dir())
	return err
}

// Start creates the home if it does not exist, starts its supervisor and links the programs that Pulumi runs need.
func (p *Platform) Start(ctx context.Context) (supervisor.Status, error) {
	if err := p.CreateHome(); err != nil {
		return supervisor.Status{}, err
	}
	if err := errors.Join(p.Home.KeepEnvironment(p.Environment), p.Home.KeepOperator(p.operator), p.Home.KeepSource(p.source)); err != nil {
		return supervisor.Status{}, err
	}
	if err := pulumienv.Link(ctx, p.Home, p.Toolchain.Path, p.executable); err != nil {
		return supervisor.Status{}, err
	}
	if err := p.client.Start(ctx, p.executable, p.Repository.Root); err != nil {
		return supervisor.Status{}, err
	}
	return p.client.Status(ctx)
}

// layerStates returns the file backend of the layers.
func (p *Platform) layerStates() states.Layers {
	return states.Layers{Folder: p.Home.LayerState(), Stack: p.Environment}
}

// layerEnvironment returns the environment of a layer's runs.
func (p *Platform) layerEnvironment(ctx context.Context, layer, googleURL string) (map[string]string, error) {
	return layerconfig.Environment(ctx, p.Home, layer, p.layerStates(), googleURL, func(ctx context.Context) (string, error) {
		return p.Toolchain.Path(ctx, "flux-manifests")
	})
}

// runner returns the runner of a layer of this platform.
func (p *Platform) runner(ctx context.Context, layer string) (layers.Runner, error) {
	// Pulumi writes state and settings, which only this user may read.
	home.KeepPrivate()
	status, err := p.status(ctx, layer)
	if err != nil {
		return layers.Runner{}, err
	}
	env, err := p.layerEnvironment(ctx, layer, status.GoogleURL)
	if err != nil {
		return layers.Runner{}, err
	}
	return layers.Runner{
		Stack: p.Environment, Pulumi: p.pulumi, Env: env, WorkDir: p.Home.Layer, Unlock: p.layerStates().Unlock,
		Lost: p.cloudClient(status).DeleteOrphans,
	}, nil
}

// cloudClient returns a client of the emulated Google Cloud.
func (p *Platform) cloudClient(running supervisor.Status) cloudclient.Client {
	return cloudclient.Client{URL: running.GoogleURL, Credentials: p.Home.EngineerCredentials(), Project: p.Home.Project()}
}

// status returns the supervisor's status. Its error names the layer that needs it.
func (p *Platform) status(ctx context.Context, layer string) (supervisor.Status, error) {
	status, err := p.client.Status(ctx)
	if err != nil {
		return status, fmt.Errorf("layer %s: %w: run `%s` or `%s` first", layer, err, p.Home.Call("up"), p.Home.Call("local start"))
	}
	return status, nil
}

// Instance describes an instance by its name and address.
func (p *Platform) Instance(ctx context.Context, name string) (string, error) {
	running, err := p.client.Status(ctx)
	if err != nil {
		return "", err
	}
	client := p.cloudClient(running)
	address, err := client.InstanceAddress(ctx, name)
	return fmt.Sprintf("%s (MySQL on %s)", name, address), err
}

// AdminKubeconfig returns the path of the administrator's kubeconfig, or an error if there is no cluster.
func (p *Platform) AdminKubeconfig() (string, error) { return kubeconfig.Admin(p.Home) }

// TeamKubeconfig writes a kubeconfig with a new token of a team's service account, and returns its path.
func (p *Platform) TeamKubeconfig(ctx context.Context, name string) (string, error) {
	team, err := p.team(name)
	if err != nil {
		return "", err
	}
	return kubeconfig.Team(ctx, p.Home, team)
}

// Logs writes the log of a component of the home, as [logs.Write] does.
func (p *Platform) Logs(ctx context.Context, component string, follow bool, w io.Writer) error {
	return logs.Write(ctx, p.Home, component, follow, w)
}
