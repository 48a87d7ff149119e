// Package forwardcmd contains the commands that lead to the teams' Services: `strata port-forward` and `strata open`.
package forwardcmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/browser"
	"github.com/strata-platform/strata/internal/forward"
)

// Options connect the commands to the command line of strata. All fields are required.
type Options struct {
	Out, Err io.Writer
	// Bind adds the flags that choose the output and the platform to a command, and returns their values.
	Bind func(*cobra.Command) Call
	// Arguments makes errors of a check of the positional arguments errors of usage.
	Arguments func(cobra.PositionalArgs) cobra.PositionalArgs
	// Usage turns an error into one about the arguments of the call.
	Usage func(error) error
}

// Call are the values of the flags of one call.
type Call interface {
	// JSON reports whether the output is JSON.
	JSON() (bool, error)
	// Namespaces returns the namespaces of a team, or of all teams, and the configuration of clients of their cluster.
	Namespaces(ctx context.Context, team string) (*rest.Config, []string, error)
}

// PortForward returns the command port-forward.
func PortForward(o Options) *cobra.Command {
	return o.command(cobra.Command{
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
func Open(o Options) *cobra.Command {
	return o.command(cobra.Command{
		Use:   "open NAME",
		Short: "Open a team's page in the browser",
		Long:  render.OpenHelp,
		Example: `  strata open wordpress
  strata open wordpress --team web`,
		Args: o.Arguments(positional.One),
	}, browser.Open)
}

// command returns a command that forwards until it is interrupted. It calls open, unless nil, with the address. With open, it does
// not forward to a page that this machine serves anyway.
func (o Options) command(command cobra.Command, open func(url string) error) *cobra.Command {
	call := o.Bind(&command)
	var team string
	command.RunE = func(command *cobra.Command, args []string) error {
		asJSON, err := call.JSON()
		if err != nil {
			return err
		}
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
			if err := render.Page(o.Out, page, asJSON); err != nil {
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
		return render.Serve(command.Context(), o.Err, f, open, render.Forward(o.Out, result, asJSON))
	}
	command.Flags().StringVar(&team, "team", "", "look in this team's namespace only")
	return &command
}

// find returns a Service or a pod of the teams, or of one team, and the configuration of clients of its cluster.
func find(ctx context.Context, call Call, query forward.Query, team string) (*rest.Config, forward.Target, error) {
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
