// Package driftcmd contains the command `strata drift`.
package driftcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/drift"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/terminal"
	checks "github.com/strata-platform/strata/operator/controller/drift"
)

// Result is the output of -o json.
type Result struct {
	Stacks []drift.Stack `json:"stacks"`
}

// longestCheck is how long the command waits for the operator's checks.
const longestCheck = 5 * time.Minute

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var team string
	var check bool
	var call cli.Call
	command := &cobra.Command{
		Use:   "drift [STACK...]",
		Short: "Show which resources somebody has changed behind the Stacks",
		Long: `Show which resources differ from what the last update of their Stack left: the field, the wanted value, and the value found.

The operator checks each Stack every hour, and at once with --check. A check reads the resources and changes nothing. A Stack
with refresh: true in its spec is repaired after the check. Another Stack keeps its drift until its spec has this field.

The exit code is 0 only if no Stack has drifted and no check has failed.`,
		Example: `  strata drift
  strata drift --check --team web
  strata drift wordpress-infra -o json`,
		RunE: func(command *cobra.Command, names []string) error {
			config, namespaces, err := call.Namespaces(command.Context(), team)
			if err != nil {
				return err
			}
			stacks, err := drift.Of(lifecycle.Brief(config), namespaces, names)
			if err != nil {
				return err
			}
			if check {
				ctx, cancel := context.WithTimeout(command.Context(), longestCheck)
				defer cancel()
				if err := stacks.Check(ctx); err != nil {
					return err
				}
			}
			list, err := stacks.List(command.Context())
			if err != nil {
				return err
			}
			if err := call.Print(o.Out, Result{list}, func() error { return Print(o.Out, list, time.Now()) }); err != nil {
				return err
			}
			return verdict(list)
		},
	}
	call = o.Bind(command)
	complete.Team(command, &team, "only the Stacks of this team", o.Local)
	command.ValidArgsFunction = complete.Stacks(func(ctx context.Context, team string) (*rest.Config, []string, error) {
		return call.Namespaces(ctx, team)
	})
	command.Flags().BoolVar(&check, "check", false, "check now, and wait for the results")
	return command
}

// verdict returns an error if a Stack has drifted or could not be checked.
func verdict(list []drift.Stack) error {
	drifted, failed := 0, 0
	for _, stack := range list {
		switch {
		case stack.Drifted():
			drifted++
		case stack.Checked != nil && stack.Problem != "":
			failed++
		}
	}
	switch {
	case drifted > 0:
		return fmt.Errorf("%d of %d Stacks have drifted", drifted, len(list))
	case failed > 0:
		return fmt.Errorf("the drift checks of %d of %d Stacks failed", failed, len(list))
	}
	return nil
}

// Limits of texts that a team may choose.
const longestName, longestText = 160, 400

// Print prints the Stacks and what has drifted.
func Print(w io.Writer, list []drift.Stack, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no Stacks")
		return err
	}
	for _, stack := range list {
		mark, state := "✓", "no drift"
		switch {
		case stack.Drifted():
			mark, state = "✗", "drifted"
		case stack.Checked == nil:
			mark, state = " ", "not checked"
		case stack.Problem != "":
			mark, state = "✗", "the check failed"
		}
		if stack.Problem != "" {
			state += ": " + terminal.Line(stack.Problem, longestText)
		}
		if stack.Checked != nil {
			state += fmt.Sprintf(", checked %s ago", now.Sub(*stack.Checked).Round(time.Second))
		}
		if _, err := fmt.Fprintf(w, "%s %s  %s\n", mark, terminal.Line(stack.Namespace+"/"+stack.Name, longestName), state); err != nil {
			return err
		}
		if err := printResources(w, stack); err != nil {
			return err
		}
	}
	return nil
}

func printResources(w io.Writer, stack drift.Stack) error {
	for _, r := range stack.Resources {
		var lines []string
		for _, field := range r.Fields {
			lines = append(lines, checks.Differs(field))
		}
		switch {
		case r.Missing:
			lines = []string{"no longer exists"}
		case len(lines) == 0:
			lines = []string{"differs"}
		}
		if r.More > 0 {
			lines = append(lines, fmt.Sprintf("and %d more fields", r.More))
		}
		for _, line := range lines {
			if _, err := fmt.Fprintf(w, "    %s: %s\n", terminal.Line(r.Name+" ("+r.Type+")", longestName), terminal.Line(line, longestText)); err != nil {
				return err
			}
		}
	}
	if stack.More > 0 {
		_, err := fmt.Fprintf(w, "    and %d more resources\n", stack.More)
		return err
	}
	return nil
}
