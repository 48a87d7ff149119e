package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/browser"
	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/terminal"
)

// forwarded is the output of `port-forward -o json` and `open -o json`.
type forwarded struct {
	URL string `json:"url"`
	forward.Target
}

// forwarding is a call of port-forward or open.
type forwarding struct {
	target target
	output output
	team   string
}

// bind adds the flags to a command.
func (f *forwarding) bind(command *cobra.Command) {
	f.target.bindAny(command)
	f.output.bind(command)
	command.Flags().StringVar(&f.team, "team", "", "look in this team's namespace only")
}

func newPortForward(io streams) *cobra.Command {
	var f forwarding
	command := &cobra.Command{
		Use:   "port-forward SERVICE|POD [[LOCAL:]PORT]",
		Short: "Connect a port of this machine with a team's Service or pod, until interrupted",
		Long: `Print an address of this machine that leads to a team's Service or pod, until interrupted. The command

  1. looks for the Service in the teams' namespaces, and then for a pod of the name; svc/NAME and pod/NAME give the kind
  2. listens on the local port LOCAL, or on a free one
  3. connects each client with a ready pod behind the Service, through the Kubernetes API

PORT is a number or a name; without it, the port http or the first one is used. -o json prints {"url", "kind", "namespace",
"name", "port", "portName"} first, and omits portName if the port has no name.`,
		Example: `  strata port-forward wordpress
  strata port-forward svc/wordpress 8080:80 --team web

  # on Google Cloud
  strata port-forward wordpress --target gke`,
		Args: arguments(oneOrTwo),
		RunE: func(command *cobra.Command, args []string) error {
			local, port, err := parsePorts(args[1:])
			if err != nil {
				return usageError{err}
			}
			return f.run(command.Context(), io, args[0], port, local, nil)
		},
	}
	f.bind(command)
	return command
}

func newOpen(io streams) *cobra.Command {
	var f forwarding
	command := &cobra.Command{
		Use:   "open NAME",
		Short: "Open a team's page in the browser, until interrupted",
		Long: `Connect a port of this machine with the team's Service NAME, as strata port-forward does, print the address, and open it
with $BROWSER or the browser of the desktop. Without a browser, the command only prints the address. -o json prints the
same fields as strata port-forward.`,
		Example: `  strata open wordpress
  strata open wordpress --team web`,
		Args: arguments(oneArgument),
		RunE: func(command *cobra.Command, args []string) error {
			return f.run(command.Context(), io, args[0], "", 0, browser.Open)
		},
	}
	f.bind(command)
	return command
}

// run forwards until ctx is done. It calls open with the address, unless open is nil.
func (f *forwarding) run(ctx context.Context, io streams, name, port string, local int, open func(url string) error) error {
	asJSON, err := f.output.json()
	if err != nil {
		return err
	}
	p, err := f.target.open()
	if err != nil {
		return err
	}
	target, listening, err := f.listen(ctx, p, name, port, local)
	if err != nil {
		return err
	}
	address := listening.URL()
	if asJSON {
		err = printJSON(io.out, forwarded{address, target})
	} else {
		_, err = fmt.Fprintf(io.out, "%s leads to %s, until you press Ctrl-C\n", address, target)
	}
	if err != nil {
		return err
	}
	if open != nil {
		if err := open(address); err != nil {
			fmt.Fprintf(io.err, "note: %s\n", terminal.Line(err.Error(), longestNote))
		}
	}
	return listening.Serve(ctx, func(err error) { fmt.Fprintln(io.err, terminal.Line(err.Error(), longestNote)) })
}

// longestNote bounds the length of a message about one connection.
const longestNote = 400

// listen finds the target and listens.
func (f *forwarding) listen(ctx context.Context, p *lifecycle.Platform, name, port string, local int) (forward.Target, *forward.Forward, error) {
	config, err := p.Config(ctx, false)
	if err == nil && config == nil {
		err = fmt.Errorf("there is no cluster: run `%s`", p.About().Call("up"))
	}
	if err != nil {
		return forward.Target{}, nil, err
	}
	teams, err := lifecycle.TeamNamespaces(ctx, config)
	if err != nil {
		return forward.Target{}, nil, err
	}
	maps.DeleteFunc(teams, func(_, team string) bool { return f.team != "" && team != f.team })
	if len(teams) == 0 {
		return forward.Target{}, nil, errors.New("no such team has a namespace: `strata team list` lists the teams")
	}
	client, err := kubernetes.NewForConfig(lifecycle.Brief(config))
	if err != nil {
		return forward.Target{}, nil, err
	}
	target, err := forward.Find(ctx, client, slices.Sorted(maps.Keys(teams)), name, port)
	if err != nil {
		return forward.Target{}, nil, err
	}
	listening, err := forward.Listen(ctx, config, target, local)
	return target, listening, err
}

// parsePorts parses [LOCAL:]PORT.
func parsePorts(args []string) (local int, port string, err error) {
	if len(args) == 0 {
		return 0, "", nil
	}
	before, after, both := strings.Cut(args[0], ":")
	if !both {
		return 0, before, nil
	}
	number, err := strconv.ParseUint("0"+before, 10, 16)
	if err != nil {
		return 0, "", fmt.Errorf("the local port %q is not a number up to 65535", before)
	}
	return int(number), after, nil
}

// oneOrTwo accepts a name and perhaps a port.
func oneOrTwo(command *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return fmt.Errorf("%s: give a Service or a pod, and perhaps a port", command.CommandPath())
}
