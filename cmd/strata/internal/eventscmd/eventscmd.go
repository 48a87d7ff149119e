// Package eventscmd contains the command `strata events`.
package eventscmd

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/events"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/platform"
)

// Result is the output of -o json.
type Result struct {
	Events []events.Event `json:"events"`
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var team string
	var call cli.Call
	command := &cobra.Command{
		Use:   "events",
		Short: "Show the events of the platform and the teams, the latest last",
		Long: `Show the events of the last hour, the latest last: what Flux, the operator and Kubernetes have reported about their objects. "!" marks a
warning. strata status finds the root cause; the events show how the platform got there.`,
		Example: `  strata events
  strata events --team web
  strata events -o json`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			config, namespaces, err := call.Namespaces(command.Context(), team)
			if err != nil {
				return err
			}
			if team == "" {
				namespaces = append(namespaces, fluxcd.Namespace, platform.PlatformNamespace, platform.OperatorNamespace)
			}
			client, err := kubernetes.NewForConfig(lifecycle.Brief(config))
			if err != nil {
				return err
			}
			list, err := events.List(command.Context(), client, namespaces)
			if err != nil {
				return err
			}
			return call.Print(o.Out, Result{list}, func() error { return Print(o.Out, list) })
		},
	}
	call = o.Bind(command)
	complete.Team(command, &team, "only the events of this team's namespace", o.Local)
	return command
}

// Limits of a line of an event, whose texts a team may choose.
const longestName, longestMessage = 100, 300

// Print prints a line for each event.
func Print(w io.Writer, list []events.Event) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no events in the last hour")
		return err
	}
	for _, e := range list {
		mark, count := " ", ""
		if e.Warning {
			mark = "!"
		}
		if e.Count > 1 {
			count = fmt.Sprintf(" (%d times)", e.Count)
		}
		if _, err := fmt.Fprintf(w, "%s %s %s %s %s: %s%s\n", e.Time.Local().Format(time.TimeOnly), mark, e.Namespace,
			terminal.Line(e.Kind+"/"+e.Name, longestName), terminal.Line(e.Reason, longestName), terminal.Line(e.Message, longestMessage), count); err != nil {
			return err
		}
	}
	return nil
}
