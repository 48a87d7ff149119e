package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/gke"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/repository"
)

// Names of the targets.
const (
	targetLocal = "local"
	targetGKE   = "gke"

	defaultEnvironment = "dev"
)

// target says where the layers run.
type target struct {
	name, environment, operator, source string
}

// bind adds the flags to a command that may create a platform.
func (t *target) bind(command *cobra.Command) {
	command.Flags().StringVar(&t.name, "target", targetLocal, "where the layers run: local, or gke for Google Cloud")
	complete.Flag(command, "target", complete.Values(targetLocal, targetGKE))
	command.Flags().StringVar(&t.environment, "env", defaultEnvironment, "name of the environment: the Pulumi stack of every layer")
	complete.Flag(command, "env", complete.Nothing)
}

// bindAny binds the flags of a command that works on the existing platform. On this machine, the home determines the
// environment.
func (t *target) bindAny(command *cobra.Command) {
	t.bind(command)
	environment := command.Flags().Lookup("env")
	environment.DefValue, environment.Usage = "", "name of the environment; by default that of the home, on Google Cloud "+defaultEnvironment
	t.environment = ""
}

// open opens the platform of the target.
func (t *target) open() (*lifecycle.Platform, error) {
	if t.name == targetGKE {
		if t.operator != "" {
			return nil, usageError{errors.New("target gke: the setting operator of layer 2 decides which operator runs: run `pulumi config set operator " + t.operator + "` and leave out --operator")}
		}
		if t.source != "" {
			return nil, usageError{errors.New("target gke: platformUrl in layer 2's configuration decides where Flux fetches the platform from: leave out --source")}
		}
		p, err := t.openGoogle()
		if err != nil {
			return nil, err
		}
		return lifecycle.New(p), nil
	}
	p, err := t.openLocal()
	if err != nil {
		return nil, err
	}
	return lifecycle.New(p), errors.Join(p.UseSource(t.source), p.UseOperator(t.operator))
}

// openGoogle opens the platform on Google Cloud.
func (t *target) openGoogle() (*gke.Platform, error) {
	found, err := repository.Here()
	if err != nil {
		return nil, err
	}
	return gke.Open(found.Root, cmp.Or(t.environment, defaultEnvironment)), nil
}

// openLocal opens the local platform. It returns an error for any other target.
func (t *target) openLocal() (*local.Platform, error) {
	if err := t.isLocal(); err != nil {
		return nil, err
	}
	return openLocal(t.environment)
}

// isLocal returns an error for any other target.
func (t *target) isLocal() error {
	switch t.name {
	case targetLocal:
		return nil
	case targetGKE:
		return usageError{errors.New("target gke: use your own pulumi environment: this command is for the target local")}
	}
	return usageError{fmt.Errorf("unknown target %q: the targets are %s and %s", t.name, targetLocal, targetGKE)}
}
