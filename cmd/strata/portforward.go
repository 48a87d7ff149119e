package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/browser"
	"github.com/strata-platform/strata/internal/forward"
)

// newPortForward returns the command port-forward.
func newPortForward(io streams) *cobra.Command {
	return newForwarding(io, cobra.Command{
		Use:   "port-forward SERVICE|POD [[LOCAL:]PORT]",
		Short: "Connect a port of this machine with a team's Service or pod, until interrupted",
		Long:  render.PortForwardHelp,
		Example: `  strata port-forward wordpress
  strata port-forward svc/wordpress 8080:80 --team web
  strata port-forward wordpress --target gke`,
		Args: arguments(cobra.RangeArgs(1, 2)),
	}, nil)
}

// newOpen returns the command open.
func newOpen(io streams) *cobra.Command {
	return newForwarding(io, cobra.Command{
		Use:   "open NAME",
		Short: "Open a team's page in the browser, until interrupted",
		Long:  render.OpenHelp,
		Example: `  strata open wordpress
  strata open wordpress --team web`,
		Args: arguments(oneArgument),
	}, browser.Open)
}

// newForwarding returns a command that forwards until it is interrupted. It calls open, unless nil, with the address.
func newForwarding(io streams, command cobra.Command, open func(url string) error) *cobra.Command {
	var t target
	var o output
	var team string
	command.RunE = func(command *cobra.Command, args []string) error {
		asJSON, err := o.json()
		if err != nil {
			return err
		}
		query, err := forward.Parse(args)
		if err != nil {
			return usageError{err}
		}
		f, err := t.forward(command.Context(), query, team)
		if err != nil {
			return err
		}
		if asJSON {
			err = printJSON(io.out, f.Result())
		} else {
			err = render.Forward(io.out, f.Result())
		}
		return render.Serve(command.Context(), io.err, f, open, err)
	}
	t.bindAny(&command)
	o.bind(&command)
	command.Flags().StringVar(&team, "team", "", "look in this team's namespace only")
	return &command
}

// forward listens for connections to a Service or a pod of the teams, or of one team.
func (t *target) forward(ctx context.Context, query forward.Query, team string) (*forward.Forward, error) {
	p, err := t.open()
	if err != nil {
		return nil, err
	}
	config, namespaces, err := p.TeamNamespaces(ctx, team)
	if err != nil {
		return nil, err
	}
	return forward.Open(ctx, config, namespaces, query)
}
