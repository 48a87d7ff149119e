package plancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/access"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/internal/terminal"
)

func newList(o cli.Options) *cobra.Command {
	var f *access.Flags
	command := &cobra.Command{
		Use:   "list",
		Short: "List the Plans of a team, the newest first",
		Long: fmt.Sprintf(`List the Plans of a team, the newest first. The operator keeps the newest %d Plans of a team. On the local platform, the Git server
creates a Plan for each pushed branch that Flux does not apply, and deletes it with the branch.`, plans.Most),
		Example: `  strata plan list
  strata plan list --team web -o json`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			in, err := open(command.Context(), command, f)
			if err != nil {
				return err
			}
			all, err := in.List(command.Context(), in.Namespace)
			if err != nil {
				return err
			}
			shown, err := in.subjects(command.Context(), all...)
			if err != nil {
				return err
			}
			return f.Print(o.Out, resultOf(shown), func() error { return table(o.Out, shown, time.Now()) })
		},
	}
	f = access.Bind(command, o)
	return command
}

// mostCell is the maximum number of characters in a cell of the table.
const mostCell = 60

// table prints a line for each Plan.
func table(w io.Writer, all []report.Subject, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no Plans")
		return err
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "NAME\tBRANCH\tCOMMIT\tPHASE\tAGE\tCHANGES\tAPPROVAL")
	for _, p := range all {
		phase := p.Status.Phase
		if phase == "" {
			phase = "Waiting"
		}
		fmt.Fprintf(lines, "%s\t%s\t%.10s\t%s\t%s\t%s\t%s\n", terminal.Line(p.Name, mostCell), terminal.Line(p.Spec.Branch, mostCell), terminal.Line(p.Spec.Commit, mostCell),
			terminal.Line(phase, mostCell), now.Sub(p.CreationTimestamp.Time).Round(time.Second), report.Brief(p.Plan), consent(p))
	}
	return lines.Flush()
}

// consent describes the approval of a Plan in a few words.
func consent(p report.Subject) string {
	switch {
	case p.Approval.By != "":
		return "by " + terminal.Line(p.Approval.By, mostCell)
	case p.Approval.Waits() && p.Spec.Stack != "":
		return "Stack " + terminal.Line(p.Spec.Stack, mostCell) + " waits"
	case p.Approval.Waits():
		return "needed"
	}
	return ""
}

func newShow(o cli.Options) *cobra.Command {
	var f *access.Flags
	command := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a Plan: what its commit would do to each resource",
		Long:  "Show a Plan: what its commit would do to each resource. The exit code is that of `strata plan`.",
		Example: `  strata plan show add-database-3f2504e04f
  strata plan show add-database-3f2504e04f -o markdown`,
		Args: o.Arguments(positional.One),
		RunE: func(command *cobra.Command, args []string) error {
			in, err := open(command.Context(), command, f)
			if err != nil {
				return err
			}
			p, err := in.Get(command.Context(), in.Namespace, args[0])
			if err != nil {
				return err
			}
			shown, err := in.subjects(command.Context(), p)
			if err != nil {
				return err
			}
			if err := write(command, o.Out, f, shown); err != nil {
				return err
			}
			if !plans.Done(p) {
				return errors.New("the Plan has no result yet: run the command again")
			}
			return verdict(shown)
		},
	}
	f = access.Bind(command, o, markdown)
	command.ValidArgsFunction = complete.One(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(command.Context(), time.Second)
		defer cancel()
		in, err := open(ctx, command, f)
		if err != nil {
			return nil, err
		}
		all, err := in.List(ctx, in.Namespace)
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names, err
	})
	return command
}
