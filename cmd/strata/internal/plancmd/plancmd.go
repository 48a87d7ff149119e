// Package plancmd contains the commands `strata plan`, `strata plan list` and `strata plan show`.
package plancmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/access"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/internal/plans/clone"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/operator/plan"
)

// exitUnplanned is the exit code if a Stack cannot be planned.
const exitUnplanned = 3

// markdown is the format for the comments of forges.
const markdown = "markdown"

// longest is how long the command waits for the operator, unless --timeout says otherwise.
const longest = 10 * time.Minute

// Result is the output of -o json.
type Result struct {
	Plans []Plan `json:"plans"`
}

// Plan is a Plan in the output.
type Plan struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Branch    string `json:"branch"`
	Commit    string `json:"commit"`
	Sync      string `json:"sync"`
	// Stack is the Stack that waits for an approval of the Plan.
	Stack   string       `json:"stack"`
	Created time.Time    `json:"created"`
	Phase   string       `json:"phase"`
	Message string       `json:"message"`
	Digest  string       `json:"digest"`
	Stacks  []plan.Stack `json:"stacks"`
	// Approval says whether the Plan needs an approval, and who has given it.
	Approval approvals.State `json:"approval"`
}

func resultOf(all []report.Subject) Result {
	result := Result{Plans: []Plan{}}
	for _, p := range all {
		shown := Plan{
			Namespace: p.Namespace, Name: p.Name, Branch: p.Spec.Branch, Commit: p.Spec.Commit, Sync: p.Spec.Sync, Stack: p.Spec.Stack, Created: p.CreationTimestamp.UTC(),
			Phase: p.Status.Phase, Message: p.Status.Message, Digest: p.Status.Digest, Stacks: []plan.Stack{}, Approval: p.Approval,
		}
		shown.Stacks = append(shown.Stacks, p.Status.Stacks...)
		result.Plans = append(result.Plans, shown)
	}
	return result
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var work cli.Work
	var f *access.Flags
	command := &cobra.Command{
		Use:   "plan [REF]",
		Short: "Show what a commit of a team's repository would do, before Flux applies it",
		Long: `Show what a commit of a team's repository would do, before Flux applies it. In a clone of the repository, the command

  1. builds the commit REF as Flux would; the default is HEAD. Files that are not committed do not count.
  2. creates a Plan in the team's namespace: the Stacks, Programs and orders, and the ConfigMaps that the Stacks read, without Secrets.
  3. waits until the operator has run a preview of each Stack that the commit changes, and prints the result.

The preview may only read, and sees no secret. REF is a branch, a tag or a commit; it need not be pushed. The command connects with the
kubeconfig of --context or $KUBECONFIG, and otherwise as the platform's engineer.

It exits with 0 if each Stack is planned, whatever the plan says, with 3 if a Stack cannot be planned, and with 1 if there is no plan.`,
		Example: `  # the latest commit of this clone
  strata plan

  # a branch, as a comment for a pull request
  strata plan origin/add-database -o markdown

  # as the platform's engineer
  strata plan --folder ../web --team web`,
		Args: o.Arguments(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			var all []report.Subject
			err := work.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) (err error) {
				all, err = create(ctx, command, f, name, show)
				return err
			})
			if err != nil {
				return err
			}
			if err := write(command, o.Out, f, all); err != nil {
				return err
			}
			return verdict(all)
		},
	}
	f = access.Bind(command, o, markdown)
	work.BindTimeout(command)
	command.ValidArgsFunction = complete.One(func() ([]string, error) {
		opened, err := clone.Open(command.Context(), f.Folder)
		if err != nil {
			return nil, err
		}
		return opened.Branches(command.Context())
	})
	command.AddCommand(newList(o), newShow(o))
	return command
}

// create creates the Plans of a commit, and waits for their results.
func create(ctx context.Context, command *cobra.Command, f *access.Flags, name string, show *progress.Reporter) ([]report.Subject, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("%s have passed", longest))
	defer cancel()
	opened, err := clone.Open(ctx, f.Folder)
	if err != nil {
		return nil, err
	}
	commit, err := opened.Commit(ctx, name)
	if err != nil {
		return nil, err
	}
	if name == "" {
		count, err := opened.Uncommitted(ctx)
		if err != nil {
			return nil, err
		}
		if count > 0 {
			show.Note("not committed, and so not in the plan: %d files", count)
		}
	}
	in, err := open(ctx, command, f)
	if err != nil {
		return nil, err
	}
	var all []*plan.Plan
	err = show.Run(fmt.Sprintf("build commit %.10s", commit.ID), func() (string, error) {
		syncs, err := in.Syncs(ctx, in.Namespace, in.Team)
		if err != nil {
			return "", err
		}
		all, err = opened.Plans(ctx, commit, syncs)
		return "", err
	})
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		err := show.Run("plan "+p.Namespace+"/"+p.Name, func() (string, error) {
			made, err := in.Create(ctx, p)
			if err != nil {
				return "", err
			}
			all[i], err = in.Follow(ctx, made, func(state string) { show.Detail("%s", state) })
			return "", err
		})
		if err != nil {
			return nil, err
		}
	}
	return in.subjects(ctx, all...)
}

// write prints Plans in the format of the flag -o.
func write(command *cobra.Command, w io.Writer, f *access.Flags, all []report.Subject) error {
	return f.Print(w, resultOf(all), func() error {
		if command.Flag(cli.OutputFlag).Value.String() == markdown {
			_, err := io.WriteString(w, report.Markdown(all...))
			return err
		}
		var texts []string
		for _, p := range all {
			texts = append(texts, strings.Join(report.Text(p), "\n")+"\n")
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	})
}

// verdict returns an error with exitUnplanned if something could not be planned.
func verdict(all []report.Subject) error {
	var names []string
	for _, p := range all {
		if p.Status.Phase == plan.Failed {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &cli.Exit{Code: exitUnplanned, Err: fmt.Errorf("Plan %s: not all Stacks can be planned: correct the commit, or ask the platform team", strings.Join(names, ", "))}
}
