package local

import (
	"context"
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// These are the names of the layers.
const (
	BootstrapLayer = "bootstrap"
	PlatformLayer  = "platform"
)

// layer returns a layer with its configuration for the local target.
func (p *Platform) layer(ctx context.Context, name string) (layers.Layer, error) {
	status, err := p.status(ctx, name)
	if err != nil {
		return layers.Layer{}, err
	}
	switch name {
	case BootstrapLayer:
		config, err := p.bootstrapConfig()
		return layers.Layer{Name: name, Project: bootstrap.Project, Program: bootstrap.Program, Config: config}, err
	case PlatformLayer:
		config, err := p.platformConfig(status)
		return layers.Layer{Name: name, Project: platform.Project, Program: platform.Program, Config: config}, err
	}
	return layers.Layer{}, fmt.Errorf("there is no layer %q: the layers are %s and %s", name, BootstrapLayer, PlatformLayer)
}

// bootstrapConfig returns Google Cloud's configuration without the protections against loss, because a home is
// disposable.
func (p *Platform) bootstrapConfig() (auto.ConfigMap, error) {
	config, err := bootstrap.NewConfig()
	if err != nil {
		return nil, err
	}
	// The program reads teams.yaml too, but errors in it should show before anything runs.
	if _, err := p.Teams(); err != nil {
		return nil, err
	}
	config.Project, config.Region, config.Zone = home.Project, home.Region, home.Zone
	// gke-gcloud-auth-plugin is not available here, so the emulated cluster issues a client certificate.
	config.IssueClientCertificate = true
	config.DeletionProtection = false
	config.TeamsFile = p.teamsFile()
	config.TenantBackend = "file://" + p.Home.TenantState(teams.Team{Name: bootstrap.TeamPlaceholder}.Namespace())
	// Workload Identity needs a metadata server, which the local target lacks.
	config.TenantKeys = true
	return config.ConfigMap()
}

func (p *Platform) platformConfig(status supervisor.Status) (auto.ConfigMap, error) {
	config, err := platform.NewConfig()
	if err != nil {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	login := func(account string) (string, handoff.Secret) {
		password, passwordErr := p.gitPassword(account)
		if passwordErr != nil {
			err = passwordErr
		}
		return account, handoff.Secret(password)
	}
	config.Target = "local"
	config.TeamsFile = p.teamsFile()
	config.FleetURL = repositoryURL(status, fleetRepository)
	config.GitUsername, config.GitPassword = login(fleetRepository)
	config.FleetUsername, config.FleetPassword = login(gitserver.Reader(fleetRepository))
	config.Interval = "10s"
	config.PlatformURL = repositoryURL(status, platformRepository)
	config.PlatformUsername, config.PlatformPassword = login(gitserver.Reader(platformRepository))
	config.TeamURL = repositoryURL(status, platform.TeamPlaceholder)
	config.TeamCredentials = map[string]platform.Credentials{}
	for _, team := range list {
		username, password := login(gitserver.Reader(team.Name))
		config.TeamCredentials[team.Name] = platform.Credentials{Username: username, Password: password}
	}
	if err != nil {
		return nil, err
	}
	return config.ConfigMap()
}

// LayerUp runs one layer.
func (p *Platform) LayerUp(ctx context.Context, name string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, name, progress, p.up, p.noFormerStacks)
}

// LayerPreview returns what LayerUp would do.
func (p *Platform) LayerPreview(ctx context.Context, name string, progress layers.Progress) (layers.Summary, error) {
	return p.operate(ctx, name, progress, layers.Runner.Preview, nil)
}

type operation func(layers.Runner, context.Context, layers.Layer, layers.Progress) (layers.Summary, error)

// operate runs an operation on a layer, under the layers' lock. If refuse is not nil and returns an error, operate
// returns the error and does nothing.
func (p *Platform) operate(ctx context.Context, name string, progress layers.Progress, do operation,
	refuse func(context.Context, string, layers.Runner) error,
) (layers.Summary, error) {
	l, err := p.layer(ctx, name)
	if err != nil {
		return layers.Summary{}, err
	}
	runner, err := p.runner(ctx, name)
	if err != nil {
		return layers.Summary{}, err
	}
	release, err := p.acquire(name)
	if err != nil {
		return layers.Summary{}, err
	}
	defer release()
	// Plugins outlive a killed pulumi. Their HOME variable identifies them.
	if _, err := process.EndLeftovers(ctx, p.Home.Layers()); err != nil {
		return layers.Summary{}, fmt.Errorf("layer %s: %w", name, err)
	}
	if refuse != nil {
		if err := refuse(ctx, name, runner); err != nil {
			return layers.Summary{}, err
		}
	}
	runner.Env["HOME"] = p.Home.Layer(name)
	temp := p.layerTemp(name)
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return layers.Summary{}, fmt.Errorf("layer %s: %w", name, err)
	}
	defer os.RemoveAll(temp)
	return do(runner, ctx, l, progress)
}

// acquire takes the lock that allows one strata at a time to work on the layers.
func (p *Platform) acquire(name string) (release func(), err error) {
	release, err = p.Home.AcquireLayers()
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w: wait for it, then run this again", name, err)
	}
	return release, nil
}

// LayerOutputs returns the outputs of one layer. It returns secret outputs in plain text only if secrets is true. A
// layer that never ran has no outputs.
func (p *Platform) LayerOutputs(ctx context.Context, name string, secrets bool) (map[string]any, error) {
	l, err := p.layer(ctx, name)
	if err != nil {
		return nil, err
	}
	runner, err := p.runner(ctx, name)
	if err != nil {
		return nil, err
	}
	if !secrets {
		return runner.MaskedOutputs(ctx, l)
	}
	outputs, err := runner.Outputs(ctx, l)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for name, output := range outputs {
		values[name] = output.Value
	}
	return values, nil
}

// team returns a team of teams.yaml.
func (p *Platform) team(name string) (teams.Team, error) {
	list, err := p.Teams()
	if err != nil {
		return teams.Team{}, err
	}
	for _, t := range list {
		if t.Name == name {
			return t, nil
		}
	}
	return teams.Team{}, fmt.Errorf("there is no team %q in %s: add it there", name, p.teamsFile())
}
