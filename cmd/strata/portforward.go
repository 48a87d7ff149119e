package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/forwardcmd"
)

func forwarding(io streams) forwardcmd.Options {
	return forwardcmd.Options{
		Out: io.out, Err: io.err, Arguments: arguments,
		Usage: func(err error) error { return usageError{err} },
		Bind: func(command *cobra.Command) forwardcmd.Call {
			c := &forwardCall{}
			c.output.bind(command)
			c.target.bindAny(command)
			return c
		},
	}
}

// forwardCall are the flags of the commands that lead to Services.
type forwardCall struct {
	output output
	target target
}

// JSON reports whether the output is JSON.
func (c *forwardCall) JSON() (bool, error) { return c.output.json() }

// Namespaces returns the namespaces of a team, or of all teams.
func (c *forwardCall) Namespaces(ctx context.Context, team string) (*rest.Config, []string, error) {
	p, err := c.target.open()
	if err != nil {
		return nil, nil, err
	}
	return p.TeamNamespaces(ctx, team)
}
