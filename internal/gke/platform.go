// Package gke is the target gke. It runs the layers on Google Cloud, up and down, with the engineer's own pulumi, login,
// stacks and configuration. The guide for platform teams describes the same steps by hand.
package gke

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/teams"
)

// Platform is the platform of one environment on Google Cloud.
type Platform struct {
	// Root is the folder of the clone of Strata, or of an organisation's repository.
	Root string
	// Environment is the name of the stack in every layer.
	Environment string

	command auto.PulumiCommand
	// cluster is the client configuration of the cluster, once it has been read. clusterName is Google's name of the
	// cluster.
	cluster     *rest.Config
	clusterName string
}

// Open opens the platform of an environment, which need not exist. root is the folder of a clone of Strata or of an
// organisation's repository.
func Open(root, environment string) *Platform {
	return &Platform{Root: root, Environment: environment}
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

// folder returns the folder of a layer's project, relative to Root.
func (p *Platform) folder(layer string) (string, error) { return repository.At(p.Root).Folder(layer) }

// Teams reads the teams of teams.yaml.
func (p *Platform) Teams() ([]teams.Team, error) {
	file, err := lifecycle.ReadTeams(p.Root)
	if err != nil {
		return nil, err
	}
	return file.Teams, nil
}

// Tenants returns the teams of teams.yaml, and after them the platform's own.
func (p *Platform) Tenants() ([]teams.Team, error) {
	file, err := lifecycle.ReadTeams(p.Root)
	if err != nil {
		return nil, err
	}
	return file.All(), nil
}

// Config returns the administrator's client configuration of the cluster, from the kubeconfig that layer 1 outputs; nil if
// there is no cluster. The kubeconfig stays in memory.
func (p *Platform) Config(ctx context.Context, _ bool) (*rest.Config, error) {
	if p.cluster != nil {
		return p.cluster, nil
	}
	outputs, err := p.outputs(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, _ := outputs[handoff.OutputKubeconfig].Value.(string)
	if kubeconfig == "" {
		return nil, nil
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		// The content of the kubeconfig must not end up in a log.
		return nil, errors.New("the kubeconfig in the outputs of layer bootstrap is invalid: run `strata layer up bootstrap --target gke`")
	}
	config.QPS, config.Burst = 50, 100
	p.cluster = config
	p.clusterName, _ = outputs[handoff.OutputCluster].Value.(string)
	return config, nil
}

// outputs returns the outputs of layer 1.
func (p *Platform) outputs(ctx context.Context) (auto.OutputMap, error) {
	runner, layer, err := p.layer(lifecycle.BootstrapLayer)
	if err != nil {
		return nil, err
	}
	return runner.Outputs(ctx, layer)
}

// forgetCluster makes the next Config read the outputs of layer 1 again, because an up may have created another cluster.
func (p *Platform) forgetCluster() { p.cluster = nil }
