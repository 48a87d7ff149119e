package main

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/positional"
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
		Short: "Open a team's page in the browser",
		Long:  render.OpenHelp,
		Example: `  strata open wordpress
  strata open wordpress --team web`,
		Args: arguments(positional.One),
	}, browser.Open)
}

// newForwarding returns a command that forwards until it is interrupted. It calls open, unless nil, with the address. With open,
// it does not forward to a page that this machine serves anyway.
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
		config, found, err := t.find(command.Context(), query, team)
		if err != nil {
			return err
		}
		if open != nil && found.Address != "" {
			page := found.Result(found.Address)
			if err := render.Page(io.out, page, asJSON); err != nil {
				return err
			}
			render.Open(io.err, page.URL, open)
			return nil
		}
		f, err := forward.Listen(config, found, query.Local)
		if err != nil {
			return err
		}
		return render.Serve(command.Context(), io.err, f, open, render.Forward(io.out, f.Result(), asJSON))
	}
	t.bindAny(&command)
	o.bind(&command)
	command.Flags().StringVar(&team, "team", "", "look in this team's namespace only")
	return &command
}

// find returns a Service or a pod of the teams, or of one team, and the configuration of clients of its cluster.
func (t *target) find(ctx context.Context, query forward.Query, team string) (*rest.Config, forward.Target, error) {
	p, err := t.open()
	if err != nil {
		return nil, forward.Target{}, err
	}
	config, namespaces, err := p.TeamNamespaces(ctx, team)
	if err != nil {
		return nil, forward.Target{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, forward.Target{}, err
	}
	found, err := forward.Find(ctx, client, namespaces, query.Name, query.Port)
	if err != nil {
		return nil, found, err
	}
	if page, err := forward.Page(ctx, client, found.Namespace, found.Name); err != nil {
		return nil, found, err
	} else if found.Kind == forward.KindService && page.Port == found.Port {
		found = page
	}
	return config, found, found.Check(ctx, client)
}
