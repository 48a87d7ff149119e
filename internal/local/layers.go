package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/local/layerrecord"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/states"
	"github.com/strata-platform/strata/operator/runrecord"
	"github.com/strata-platform/strata/teams"
)

// layer returns a layer with its configuration for the local target.
func (p *Platform) layer(ctx context.Context, name string) (layers.Layer, error) {
	status, err := p.status(ctx, name)
	if err != nil {
		return layers.Layer{}, err
	}
	project, err := lifecycle.ProjectOf(name)
	if err != nil {
		return layers.Layer{}, err
	}
	// The program reads teams.yaml too, but errors in it should show before anything runs.
	list, err := p.Teams()
	if err != nil {
		return layers.Layer{}, err
	}
	l, err := p.program(layers.Layer{Name: name, Project: project.Name}, project)
	if err != nil {
		return l, err
	}
	if l.Config, err = p.config(name, status, list); err == nil && p.Reconfigure != nil {
		l.Config, err = p.Reconfigure(name, l.Config)
	}
	return l, err
}

// config returns the configuration of a layer.
func (p *Platform) config(layer string, status supervisor.Status, list []teams.Team) (auto.ConfigMap, error) {
	if layer == lifecycle.BootstrapLayer {
		return layerconfig.Bootstrap(p.Home, p.teamsFile())
	}
	all, err := p.repositories(status)
	if err != nil {
		return nil, err
	}
	return layerconfig.Platform(all, list, p.teamsFile())
}

// Made reports whether a layer ever ran in this home.
func (p *Platform) Made(layer string) bool {
	_, err := os.Stat(p.Home.Layer(layer))
	return err == nil
}

// State returns the state of a layer's stack from the files of its backend.
func (p *Platform) State(ctx context.Context, layer string) (apitype.DeploymentV3, error) {
	project, err := lifecycle.ProjectOf(layer)
	if err != nil {
		return apitype.DeploymentV3{}, err
	}
	// Reading a file backend needs only its location.
	runner := layers.Runner{Stack: p.Environment, WorkDir: p.Home.Layer, Env: map[string]string{"PULUMI_BACKEND_URL": p.layerStates().Address()}}
	return runner.Deployment(ctx, layers.Layer{Name: layer, Project: project.Name})
}

// Open returns a layer whose outputs can be read. The supervisor must run.
func (p *Platform) Open(ctx context.Context, name string) (lifecycle.Run, error) {
	l, err := p.layer(ctx, name)
	if err != nil {
		return lifecycle.Run{}, err
	}
	runner, err := p.runner(ctx, name)
	return lifecycle.Run{Layer: l, Runner: runner}, err
}

// Hold prepares a layer for a run. The supervisor must run.
func (p *Platform) Hold(ctx context.Context, name string) (lifecycle.Run, func(), error) {
	l, err := p.layer(ctx, name)
	if err != nil {
		return lifecycle.Run{}, nil, err
	}
	runner, err := p.runner(ctx, name)
	if err != nil {
		return lifecycle.Run{}, nil, err
	}
	runner, release, err := p.hold(ctx, l, runner)
	if err != nil {
		return lifecycle.Run{}, nil, fmt.Errorf("layer %s: %w", name, err)
	}
	account := controlplane.Admin
	if name == lifecycle.BootstrapLayer {
		account = supervisor.Engineer
	}
	recorded := layerrecord.New(p.Home.RunRecords(), name, account, p.Repository.Root)
	runner = runner.With(map[string]string{runrecord.ReasonVariable: recorded.Reason()})
	run := lifecycle.Run{Layer: l, Runner: checked{runner, p}, Began: recorded.Begin, Forget: func() error { return os.RemoveAll(p.Home.Layer(name)) }}
	if name == lifecycle.BootstrapLayer {
		run.Above = p.above
		// A team's state without a passphrase is left by an interrupted destroy, by plain pulumi, or by the removal of the team
		// from teams.yaml. The run will create a new passphrase, which cannot decrypt that state. The state is moved and not
		// deleted, because somebody may still know its passphrase.
		run.BeforeUp = func(ctx context.Context) error {
			return states.EachUnreadable(ctx, p.Home, runner, l, func(namespace string) error { return states.SetAside(p.Home, namespace) })
		}
		// On Google Cloud, the teams' state is in layer 1's buckets and is deleted with them.
		run.AfterDestroy = func(ctx context.Context) error {
			return states.EachUnreadable(ctx, p.Home, runner, l, func(namespace string) error { return os.RemoveAll(p.Home.TenantState(namespace)) })
		}
	}
	return run, release, nil
}

// hold keeps other runs of layers out, ends the programs and removes the half-written lock that a killed one has left, and
// returns the runner for a run.
func (p *Platform) hold(ctx context.Context, l layers.Layer, runner layers.Runner) (held layers.Runner, release func(), err error) {
	free, err := p.acquire()
	if err != nil {
		return layers.Runner{}, nil, err
	}
	var remove func()
	// Plugins outlive a killed pulumi. Their HOME variable identifies them.
	if _, err = process.EndLeftovers(ctx, p.Home.Layers()); err == nil {
		held, remove, err = p.ready(ctx, l, runner)
	}
	if err != nil {
		free()
		return layers.Runner{}, nil, err
	}
	return held, func() {
		remove()
		free()
	}, nil
}

// shortLived is Go's GOGC for Pulumi and its plugins: they end before less frequent garbage collection uses much memory.
const shortLived = "400"

// ready removes the half-written lock that a killed run has left, and returns the runner for a run. The caller holds the
// layers.
func (p *Platform) ready(ctx context.Context, l layers.Layer, runner layers.Runner) (held layers.Runner, remove func(), err error) {
	if err := p.layerStates().DropHalfWritten(ctx, l.Project); err != nil {
		return layers.Runner{}, nil, err
	}
	env := map[string]string{"HOME": p.Home.Layer(l.Name), "GOGC": shortLived}
	return runner.With(env).WithTemp(filepath.Join(p.Home.Layer(l.Name), "tmp"))
}

// above returns layer 2 for a run that begins while layer 1 runs. The caller holds layer 1. If there is an error, ok is
// false: the run after layer 1 reports it.
func (p *Platform) above(ctx context.Context) (run lifecycle.Run, remove func(), ok bool) {
	open, err := p.Open(ctx, lifecycle.PlatformLayer)
	if err != nil {
		return lifecycle.Run{}, nil, false
	}
	runner, is := open.Runner.(layers.Runner)
	// A compiled program cannot wait for layer 1.
	if !is || open.Layer.Executable != "" || !runner.Prepared(open.Layer) {
		return lifecycle.Run{}, nil, false
	}
	runner, remove, err = p.ready(ctx, open.Layer, runner)
	return lifecycle.Run{Layer: open.Layer, Runner: runner}, remove, err == nil
}

// acquire takes the lock that allows one strata at a time to work on the layers.
func (p *Platform) acquire() (release func(), err error) {
	release, err = p.Home.AcquireLayers()
	if err != nil {
		return nil, fmt.Errorf("%w: wait for it, then run this again", err)
	}
	return release, nil
}

// team returns a team of teams.yaml. An entry of the catalogue is none: its account runs the orders of all teams.
func (p *Platform) team(name string) (teams.Team, error) {
	list, err := p.Tenants()
	if err != nil {
		return teams.Team{}, err
	}
	for _, t := range list {
		switch {
		case t.Name == name && t.Offer != "":
			return teams.Team{}, fmt.Errorf("%s is an entry of the catalogue and no team: nobody acts as its account, and its files are in catalogue/%s of the platform's repository", name, t.Offer)
		case t.Name == name:
			return t, nil
		}
	}
	return teams.Team{}, fmt.Errorf("there is no team %q in %s: add it there", name, p.teamsFile())
}
