package plancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/operator/plan"
)

func newList(o cli.Options) *cobra.Command {
	var a *access
	command := &cobra.Command{
		Use:   "list",
		Short: "List the Plans of a team, the newest first",
		Long: fmt.Sprintf(`List the Plans of a team, the newest first. The operator keeps the newest %d Plans of a team. On the local platform, the Git server
creates a Plan for each pushed branch that Flux does not apply, and deletes it with the branch.`, plans.Most),
		Example: `  strata plan list
  strata plan list --team web -o json`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			in, err := a.open(command.Context(), command)
			if err != nil {
				return err
			}
			all, err := in.List(command.Context(), in.namespace)
			if err != nil {
				return err
			}
			return a.Print(o.Out, resultOf(all), func() error { return table(o.Out, all, time.Now()) })
		},
	}
	a = bind(command, o)
	return command
}

// mostCell is the maximum number of characters in a cell of the table.
const mostCell = 60

// table prints a line for each Plan.
func table(w io.Writer, all []*plan.Plan, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no Plans")
		return err
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "NAME\tBRANCH\tCOMMIT\tPHASE\tAGE\tCHANGES")
	for _, p := range all {
		phase := p.Status.Phase
		if phase == "" {
			phase = "Waiting"
		}
		fmt.Fprintf(lines, "%s\t%s\t%.10s\t%s\t%s\t%s\n", terminal.Line(p.Name, mostCell), terminal.Line(p.Spec.Branch, mostCell), terminal.Line(p.Spec.Commit, mostCell),
			terminal.Line(phase, mostCell), now.Sub(p.CreationTimestamp.Time).Round(time.Second), report.Brief(p))
	}
	return lines.Flush()
}

func newShow(o cli.Options) *cobra.Command {
	var a *access
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a Plan: what its commit would do to each resource",
		Long:  "Show a Plan: what its commit would do to each resource. The exit code is that of `strata plan`.",
		Example: `  strata plan show add-database-3f2504e04f
  strata plan show add-database-3f2504e04f -o markdown`,
		Args: o.Arguments(positional.One),
		RunE: func(command *cobra.Command, args []string) error {
			in, err := a.open(command.Context(), command)
			if err != nil {
				return err
			}
			p, err := in.Get(command.Context(), in.namespace, args[0])
			if err != nil {
				return err
			}
			if err := write(command, o.Out, a, []*plan.Plan{p}); err != nil {
				return err
			}
			if !plans.Done(p) {
				return errors.New("the Plan has no result yet: run the command again")
			}
			return verdict([]*plan.Plan{p})
		},
	}
	a = bind(command, o, markdown)
	command.ValidArgsFunction = complete.One(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(command.Context(), time.Second)
		defer cancel()
		in, err := a.open(ctx, command)
		if err != nil {
			return nil, err
		}
		all, err := in.List(ctx, in.namespace)
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names, err
	})
	return command
}
