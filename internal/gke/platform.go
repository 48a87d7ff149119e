// Package gke is the target gke: it carries the layers on Google Cloud with the engineer's own pulumi, login, stacks and
// configuration, as the guide for platform teams does by hand, and back.
package gke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/teams"
)

// Names of the layers.
const (
	BootstrapLayer = "bootstrap"
	PlatformLayer  = "platform"
)

// Platform is the platform of one environment on Google Cloud.
type Platform struct {
	// Root is the folder of Strata's repository.
	Root string
	// Environment is the name of the stack in every layer.
	Environment string

	command auto.PulumiCommand
	// cluster is how the cluster is reached, once that has been read, and clusterName what Google calls it.
	cluster     *rest.Config
	clusterName string
}

// Open opens the platform of an environment, whether or not it has been made. root is Strata's repository.
func Open(root, environment string) *Platform {
	return &Platform{Root: root, Environment: environment}
}

// folder is a layer's folder, relative to the root as a person types it there.
func folder(layer string) string {
	if layer == BootstrapLayer {
		return "bootstrap"
	}
	return "."
}

// pulumi finds the engineer's pulumi: on PATH, or where its installer puts it.
func (p *Platform) pulumi() (auto.PulumiCommand, error) {
	if p.command != nil {
		return p.command, nil
	}
	root := ""
	if _, err := exec.LookPath("pulumi"); err != nil {
		home, homeErr := os.UserHomeDir()
		if homeErr != nil {
			return nil, errors.New("it is not on PATH")
		}
		root = filepath.Join(home, ".pulumi")
		if _, err := os.Stat(filepath.Join(root, "bin", "pulumi")); err != nil {
			return nil, fmt.Errorf("it is neither on PATH nor in %s", filepath.Join(root, "bin"))
		}
	}
	command, err := layers.Patient(root)
	if err != nil {
		return nil, err
	}
	p.command = command
	return command, nil
}

// project is a layer as a Pulumi project.
func (p *Platform) project(layer string) (layers.Project, error) {
	command, err := p.pulumi()
	if err != nil {
		return layers.Project{}, fmt.Errorf("layer %s: find pulumi: %w: install it: %s", layer, err, pulumiInstall)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return layers.Project{}, fmt.Errorf("layer %s: find a folder for its log: %w", layer, err)
	}
	return layers.Project{
		Name: layer, Dir: filepath.Join(p.Root, folder(layer)), Stack: p.Environment, Command: command,
		Line: func(command string) string { return p.pulumiLine(layer, command) },
		Log:  filepath.Join(cache, "strata", "gke", p.Environment, layer+".log"),
	}, nil
}

// pulumiLine is how a person runs pulumi on a layer's stack, in the repository's root.
func (p *Platform) pulumiLine(layer, command string) string {
	line := "pulumi " + command + " --stack " + p.Environment
	if layer == BootstrapLayer {
		line += " --cwd bootstrap"
	}
	return line
}

// Teams reads teams.yaml.
func (p *Platform) Teams() ([]teams.Team, error) {
	file, err := teams.Load(filepath.Join(p.Root, "teams.yaml"))
	if err != nil {
		return nil, err
	}
	return file.Teams, nil
}

// LayerUp runs one layer. It refuses, and changes nothing, while a team that is not in teams.yaml any more has Stacks. Before
// layer 2 it undoes what an interrupted Down has begun.
func (p *Platform) LayerUp(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	project, err := p.project(layer)
	if err != nil {
		return layers.Summary{}, err
	}
	if err := p.refuseFormer(ctx, layer); err != nil {
		return layers.Summary{}, err
	}
	refresh := false
	if layer == PlatformLayer {
		if refresh, err = p.restore(ctx, progress); err != nil {
			return layers.Summary{}, fmt.Errorf("layer %s: bring back what an interrupted `down` has left: %w", layer, err)
		}
	}
	p.cluster = nil // Layer 1 may hand on another one.
	summary, err := project.Up(ctx, refresh, progress)
	return summary, p.interrupted(err)
}

// LayerPreview tells what LayerUp would do.
func (p *Platform) LayerPreview(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	project, err := p.project(layer)
	if err != nil {
		return layers.Summary{}, err
	}
	return project.Preview(ctx, progress)
}

// LayerOutputs returns the outputs of one layer, in plain text those that are secret only where secrets is true; none
// where it has not run.
func (p *Platform) LayerOutputs(ctx context.Context, layer string, secrets bool) (map[string]any, error) {
	project, err := p.project(layer)
	if err != nil {
		return nil, err
	}
	args := []string{"stack", "output", "--json"}
	if secrets {
		args = append(args, "--show-secrets")
	}
	text, err := project.Pulumi(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("read the outputs of layer %s, stack %s: %w", layer, p.Environment, err)
	}
	var outputs map[string]any
	if err := json.Unmarshal([]byte(text), &outputs); err != nil {
		return nil, fmt.Errorf("read the outputs of layer %s, stack %s: %w", layer, p.Environment, err)
	}
	return outputs, nil
}

// Prepare does nothing: what a layer needs is the engineer's own.
func (p *Platform) Prepare(context.Context, *progress.Reporter, bool) error { return nil }

// Lock does nothing: the backend locks each stack for those who share it.
func (p *Platform) Lock() (release func(), err error) { return func() {}, nil }

// Made tells whether there may be something of a layer; pulumi itself knows.
func (p *Platform) Made(string) bool { return true }

// Place says what `down` takes down.
func (p *Platform) Place() string { return "the platform on Google Cloud, stack " + p.Environment }

// noStack is what pulumi says where there is no such stack.
const noStack = "no stack named"

// errNoCluster says that layer 1 hands no cluster on.
var errNoCluster = errors.New("there is no cluster: run `strata up --target gke`")

// clusterConfig reaches the cluster as its administrator, by the kubeconfig that layer 1 hands on. It stays in memory.
func (p *Platform) clusterConfig(ctx context.Context) (*rest.Config, error) {
	if p.cluster != nil {
		return p.cluster, nil
	}
	outputs, err := p.LayerOutputs(ctx, BootstrapLayer, true)
	if err != nil && strings.Contains(err.Error(), noStack) {
		return nil, errNoCluster
	}
	if err != nil {
		return nil, err
	}
	kubeconfig, _ := outputs[handoff.OutputKubeconfig].(string)
	if kubeconfig == "" {
		return nil, errNoCluster
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		// What it holds is not for logs.
		return nil, errors.New("the kubeconfig that layer bootstrap hands on cannot be read: run `strata layer up bootstrap --target gke`")
	}
	config.QPS, config.Burst = 50, 100
	p.cluster = config
	p.clusterName, _ = outputs[handoff.OutputCluster].(string)
	return config, nil
}
