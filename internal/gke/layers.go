package gke

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
)

// Made returns true: Pulumi itself knows whether a layer has resources.
func (p *Platform) Made(string) bool { return true }

// Open returns a layer with the engineer's pulumi.
func (p *Platform) Open(_ context.Context, name string) (lifecycle.Run, error) {
	runner, layer, err := p.layer(name)
	return lifecycle.Run{Layer: layer, Runner: runner}, err
}

// Hold prepares a layer for a run by the engineer's pulumi. The backend, not Hold, keeps other runs out.
func (p *Platform) Hold(ctx context.Context, name string) (lifecycle.Run, func(), error) {
	runner, layer, err := p.layer(name)
	if err != nil {
		return lifecycle.Run{}, nil, err
	}
	temp, err := os.MkdirTemp("", "strata-layer-")
	if err != nil {
		return lifecycle.Run{}, nil, fmt.Errorf("layer %s: %w", name, err)
	}
	runner, remove, err := runner.WithTemp(temp)
	if err != nil {
		return lifecycle.Run{}, nil, fmt.Errorf("layer %s: %w", name, err)
	}
	if runner.Refreshes, err = p.lost(ctx, runner, layer); err != nil {
		remove()
		return lifecycle.Run{}, nil, fmt.Errorf("layer %s: %w", name, err)
	}
	run := lifecycle.Run{Layer: layer, Runner: runner, Refreshes: runner.Refreshes}
	if name == lifecycle.PlatformLayer {
		installed := flux{p, runner, layer}
		run.BeforeUp, run.Drift, run.Mend = installed.beforeUp, installed.drift, installed.mend
	}
	return run, func() {
		remove()
		p.forgetCluster()
	}, nil
}

// State returns the state of a layer's stack; empty if the stack does not exist.
func (p *Platform) State(ctx context.Context, name string) (apitype.DeploymentV3, error) {
	runner, layer, err := p.layer(name)
	if err != nil {
		return apitype.DeploymentV3{}, err
	}
	return runner.Deployment(ctx, layer)
}

// Instance describes the database instance by its name.
func (p *Platform) Instance(_ context.Context, name string) (string, error) { return name, nil }

// layer returns a layer and its runner.
func (p *Platform) layer(name string) (layers.Runner, layers.Layer, error) {
	project, err := lifecycle.ProjectOf(name)
	if err != nil {
		return layers.Runner{}, layers.Layer{}, err
	}
	if _, err := p.pulumi(); err != nil {
		return layers.Runner{}, layers.Layer{}, fmt.Errorf("layer %s: find pulumi: %w: install it: %s", name, err, pulumiInstall)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return layers.Runner{}, layers.Layer{}, fmt.Errorf("layer %s: find a folder for its log: %w", name, err)
	}
	runner := layers.Runner{
		Stack: p.Environment, Pulumi: p.pulumi, Line: p.pulumiLine,
		WorkDir: func(layer string) string { return filepath.Join(cache, "strata", "gke", p.Environment, layer) },
	}
	folder, err := p.folder(name)
	return runner, layers.Layer{Name: name, Project: project.Name, Folder: filepath.Join(p.Root, folder)}, err
}

// pulumiLine returns the command line of pulumi for a layer's stack, run in the repository's root.
func (p *Platform) pulumiLine(layer, command string) string {
	line := "pulumi " + command + " --stack " + p.Environment
	if folder, err := p.folder(layer); err == nil && folder != "." {
		line += " --cwd " + folder
	}
	return line
}

// runPulumi runs a command of pulumi on a layer's stack and returns its output.
func (p *Platform) runPulumi(ctx context.Context, name string, args ...string) (string, error) {
	runner, layer, err := p.layer(name)
	if err != nil {
		return "", err
	}
	return runner.Call(ctx, layer, args...)
}
