// Package gke is the target gke. It runs the layers on Google Cloud, up and down, with the engineer's own pulumi, login,
// stacks and configuration. The guide for platform teams describes the same steps by hand.
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
	// cluster is the client configuration of the cluster, once it has been read. clusterName is Google's name of the
	// cluster.
	cluster     *rest.Config
	clusterName string
}

// Open opens the platform of an environment, whether or not it exists. root is Strata's repository.
func Open(root, environment string) *Platform {
	return &Platform{Root: root, Environment: environment}
}

// folder returns a layer's folder, relative to the repository's root.
func folder(layer string) string {
	if layer == BootstrapLayer {
		return "bootstrap"
	}
	return "."
}

// pulumi finds the engineer's pulumi: on PATH, or in the default folder of its installer.
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

// project returns a layer as a Pulumi project.
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

// pulumiLine returns the command line of pulumi for a layer's stack, run in the repository's root.
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

// LayerUp runs one layer. It returns an error, and changes nothing, if a team that is no longer in teams.yaml has Stacks.
// Before layer 2, it reverts the effects of an interrupted Down.
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
	p.cluster = nil // Layer 1 may output another one.
	summary, err := project.Up(ctx, refresh, progress)
	return summary, p.interrupted(err)
}

// LayerPreview returns the changes that LayerUp would make.
func (p *Platform) LayerPreview(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error) {
	project, err := p.project(layer)
	if err != nil {
		return layers.Summary{}, err
	}
	return project.Preview(ctx, progress)
}

// LayerOutputs returns the outputs of one layer; none if it has not run. Secret outputs are in plain text only if secrets
// is true.
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

// Prepare does nothing: the layers use the engineer's own tools and configuration.
func (p *Platform) Prepare(context.Context, *progress.Reporter, bool) error { return nil }

// Lock does nothing: the backend locks each stack for all of its users.
func (p *Platform) Lock() (release func(), err error) { return func() {}, nil }

// Made always returns true: pulumi itself knows whether resources of a layer exist.
func (p *Platform) Made(string) bool { return true }

// Place describes the target of `down`.
func (p *Platform) Place() string { return "the platform on Google Cloud, stack " + p.Environment }

// noStack is pulumi's message for a stack that does not exist.
const noStack = "no stack named"

// errNoCluster is the error if layer 1 outputs no cluster.
var errNoCluster = errors.New("there is no cluster: run `strata up --target gke`")

// clusterConfig returns the administrator's client configuration of the cluster, from the kubeconfig that layer 1
// outputs. The kubeconfig stays in memory.
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
		// The content of the kubeconfig must not end up in a log.
		return nil, errors.New("the kubeconfig that layer bootstrap hands on cannot be read: run `strata layer up bootstrap --target gke`")
	}
	config.QPS, config.Burst = 50, 100
	p.cluster = config
	p.clusterName, _ = outputs[handoff.OutputCluster].(string)
	return config, nil
}
