package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/gke"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
)

// Names of the targets.
const (
	targetLocal = "local"
	targetGKE   = "gke"

	defaultEnvironment = "dev"
)

// target says where the layers run.
type target struct {
	name, environment string
}

func (t *target) bind(command *cobra.Command) {
	command.Flags().StringVar(&t.name, "target", targetLocal, "where the layers run: local, or gke for Google Cloud")
	command.Flags().StringVar(&t.environment, "env", defaultEnvironment, "name of the environment: the Pulumi stack of every layer")
}

// bindAny binds the flags of a command that works on the existing platform. On this machine, the home determines the
// environment.
func (t *target) bindAny(command *cobra.Command) {
	t.bind(command)
	environment := command.Flags().Lookup("env")
	environment.DefValue, environment.Usage = "", "name of the environment; by default that of the home, on Google Cloud "+defaultEnvironment
	t.environment = ""
}

// carrier runs the layers on one target.
type carrier interface {
	Up(context.Context, *progress.Reporter) (status.Report, error)
	Describe(context.Context) ([]string, error)
	NextSteps(context.Context) ([]string, error)
	Status(context.Context) (status.Report, error)
	// Watch is like Status, but reads from a watch of the cluster instead of new lists.
	Watch(context.Context, *status.Watch) (status.Report, error)

	// Lock keeps other strata processes from changing the platform.
	Lock() (release func(), err error)
	// Made reports whether resources of a layer may exist.
	Made(layer string) bool
	Prepare(ctx context.Context, show *progress.Reporter, repositories bool) error
	LayerUp(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error)
	LayerPreview(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error)
	LayerDestroy(ctx context.Context, layer string, progress layers.Progress) (layers.Summary, error)
	LayerOutputs(ctx context.Context, layer string, secrets bool) (map[string]any, error)
}

// open opens the platform of the target.
func (t *target) open() (carrier, error) {
	if t.name == targetGKE {
		return t.openGKE()
	}
	return t.openLocal()
}

func (t *target) openGKE() (*gke.Platform, error) {
	root, err := findRepository()
	if err != nil {
		return nil, err
	}
	return gke.Open(root, cmp.Or(t.environment, defaultEnvironment)), nil
}

// openLocal opens the local platform. It returns an error for any other target.
func (t *target) openLocal() (*local.Platform, error) {
	switch t.name {
	case targetLocal:
		return openLocal(t.environment)
	case targetGKE:
		return nil, usageError{errors.New("target gke: there pulumi runs with your own environment: this is for the target local")}
	}
	return nil, usageError{fmt.Errorf("there is no target %q: the targets are %s and %s", t.name, targetLocal, targetGKE)}
}

// downGKE takes down the platform on Google Cloud.
func (t *target) downGKE(ctx context.Context, io streams, purge, yes, dryRun bool) error {
	if purge {
		return usageError{errors.New("--purge removes the home of a platform on this machine: it has no meaning with --target gke")}
	}
	p, err := t.openGKE()
	if err != nil {
		return err
	}
	if dryRun {
		p.Plan(ctx).Print(io.out)
		return nil
	}
	if !yes {
		if err := canAnswer(io); err != nil {
			return err
		}
		p.Plan(ctx).Print(io.err)
		if err := confirm(ctx, io, "\nDestroy "+p.Place()+", its cluster and its databases included?"); err != nil {
			return err
		}
	}
	return p.Down(ctx, progress.New(io.err))
}
