package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
)

// options connects the groups of commands below internal to this command line.
func options(io streams) cli.Options {
	return cli.Options{
		In: io.in, Out: io.out, Err: io.err, Group: group, Arguments: arguments,
		Usage: func(err error) error { return usageError{err} },
		Local: atHome, Root: repositoryRoot, Toolchain: openToolchain,
		Bind: func(command *cobra.Command, formats ...string) cli.Call {
			c := &callFlags{}
			c.Bind(command, formats...)
			c.target.bindAny(command)
			return c
		},
	}
}

// callFlags are the flags of one call of a command in a group.
type callFlags struct {
	cli.Output
	target target
}

// Open opens the local platform.
func (c *callFlags) Open(elsewhere error) (*local.Platform, error) {
	if c.target.name == targetGKE && elsewhere != nil {
		return nil, usageError{elsewhere}
	}
	return c.target.openLocal()
}

// Platform opens the platform of the target.
func (c *callFlags) Platform() (*lifecycle.Platform, error) { return c.target.open() }

// Namespaces returns the namespaces of a team, or of all teams.
func (c *callFlags) Namespaces(ctx context.Context, team string) (*rest.Config, []string, error) {
	p, err := c.target.open()
	if err != nil {
		return nil, nil, err
	}
	return p.TeamNamespaces(ctx, team)
}
