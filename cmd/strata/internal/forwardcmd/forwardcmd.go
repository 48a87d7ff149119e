// Package forwardcmd contains the commands that connect to the teams' Services: `strata port-forward` and `strata open`.
package forwardcmd

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/browser"
	"github.com/strata-platform/strata/internal/forward"
)

// PortForward returns the command port-forward.
func PortForward(o cli.Options) *cobra.Command {
	return forwarding(o, cobra.Command{
		Use:   "port-forward SERVICE|POD [[LOCAL:]PORT]",
		Short: "Connect a port of this machine with a team's Service or pod, until interrupted",
		Long:  render.PortForwardHelp,
		Example: `  strata port-forward wordpress
  strata port-forward svc/wordpress 8080:80 --team web
  strata port-forward wordpress --target gke`,
		Args: o.Arguments(cobra.RangeArgs(1, 2)),
	}, nil)
}

// Open returns the command open.
func Open(o cli.Options) *cobra.Command {
	return forwarding(o, cobra.Command{
		Use:   "open NAME",
		Short: "Open a team's page in the browser",
		Long:  render.OpenHelp,
		Example: `  strata open wordpress
  strata open wordpress --team web`,
		Args: o.Arguments(positional.One),
	}, browser.Open)
}

// forwarding returns a command that forwards a port until the user interrupts it. If open is not nil, the command calls open with
// the address, and forwards no port to a page that this machine already serves.
func forwarding(o cli.Options, command cobra.Command, open func(url string) error) *cobra.Command {
	call := o.Bind(&command)
	var team string
	command.RunE = func(command *cobra.Command, args []string) error {
		query, err := forward.Parse(args)
		if err != nil {
			return o.Usage(err)
		}
		config, found, err := find(command.Context(), call, query, team)
		if err != nil {
			return err
		}
		if open != nil && found.Address != "" {
			page := found.Result(found.Address)
			if err := call.Print(o.Out, page, func() error { return render.Page(o.Out, page) }); err != nil {
				return err
			}
			render.Open(o.Err, page.URL, open)
			return nil
		}
		f, err := forward.Listen(config, found, query.Local)
		if err != nil {
			return err
		}
		result := f.Result()
		if open != nil {
			result = f.Page()
		}
		return render.Serve(command.Context(), o.Err, f, open, call.Print(o.Out, result, func() error { return render.Forward(o.Out, result) }))
	}
	complete.Team(&command, &team, "look in this team's namespace only", o.Local)
	command.ValidArgsFunction = complete.Services(call.Namespaces)
	return &command
}

// find returns a Service or a pod of the teams, or of one team, and the configuration of clients of its cluster.
func find(ctx context.Context, call cli.Call, query forward.Query, team string) (*rest.Config, forward.Target, error) {
	config, namespaces, err := call.Namespaces(ctx, team)
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
	return config, found, found.Check(ctx, client)
}
