// Package approvecmd contains the command `strata approve`.
package approvecmd

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
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/operator/plan"
)

// longest is how long --wait waits, unless --timeout says otherwise.
const longest = 10 * time.Minute

// mostName is the maximum number of characters of a name that the command prints.
const mostName = 200

// Result is the output of -o json.
type Result struct {
	Namespace string `json:"namespace"`
	Plan      string `json:"plan"`
	// Digest identifies the approved result of the Plan.
	Digest string `json:"digest"`
	// By is the user who has approved the Plan, and Time the time of the approval.
	By   string    `json:"by"`
	Time time.Time `json:"time"`
	// Already says that the Plan was approved before.
	Already bool `json:"already"`
	// Applied says that the operator has applied the Plan: the command has waited for it.
	Applied bool `json:"applied"`
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var work cli.Work
	var f *access.Flags
	var yes, waits bool
	command := &cobra.Command{
		Use:   "approve PLAN",
		Short: "Approve what a Plan would do, such as the deletion of a database",
		Long: `Approve what a Plan would do, such as the deletion of a database. The operator deletes or replaces a resource that holds data only
after an approval, unless the platform says otherwise. The command

  1. shows what the Plan would do, first the data that will be lost, and asks for confirmation.
  2. creates an Approval of exactly this result. Of the steps that need an approval, the operator takes only those in the Plan: if
     program, config or state have changed, it waits for another approval, and says what has changed.

PLAN is the Plan of a waiting Stack, which strata status names, or the Plan of a branch, which you can approve before the merge. The
command connects with the kubeconfig of --context or $KUBECONFIG, and otherwise as the platform's engineer. The name in the Approval is
the one that the API server knows you by. The cluster's administrators may approve, and the users and groups that the platform
team names in teams.yaml under approval.by.`,
		Example: `  # the Plan of Stack shop, which waits
  strata approve stack.shop --team web

  # the Plan of a branch, without a question
  strata approve drop-orders-3f2504e04f --team web --yes

  # and wait until the Stack is applied
  strata approve stack.shop --team web --wait`,
		Args: o.Arguments(positional.One),
		RunE: func(command *cobra.Command, args []string) error {
			var result Result
			err := work.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
				in, err := f.Open(ctx, command)
				if err != nil {
					return err
				}
				client, err := approvals.NewClient(in.Config)
				if err != nil {
					return err
				}
				a := approver{Options: o, Client: client, yes: yes, waits: waits}
				result, err = a.approve(ctx, in.Namespace, args[0], show)
				return err
			})
			if err != nil {
				return err
			}
			return f.Print(o.Out, result, func() error { return write(o.Out, result) })
		},
	}
	f = access.Bind(command, o)
	work.BindTimeout(command)
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	command.Flags().BoolVar(&waits, "wait", false, "wait until the operator has applied the Plan")
	command.ValidArgsFunction = complete.One(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(command.Context(), time.Second)
		defer cancel()
		in, err := f.Open(ctx, command)
		if err != nil {
			return nil, err
		}
		client, err := approvals.NewClient(in.Config)
		if err != nil {
			return nil, err
		}
		return client.Waiting(ctx, in.Namespace)
	})
	return command
}

// approver approves one Plan.
type approver struct {
	cli.Options
	*approvals.Client
	yes, waits bool
}

func (a approver) approve(ctx context.Context, namespace, name string, show *progress.Reporter) (Result, error) {
	p, state, err := a.Find(ctx, namespace, name)
	if err != nil {
		return Result{}, err
	}
	result := Result{Namespace: namespace, Plan: name, Digest: p.Status.Digest, By: state.By, Already: state.By != ""}
	if result.Already {
		result.Time = *state.Time
	} else if err := a.ask(ctx, p, state); err != nil {
		return Result{}, err
	}
	before := approvals.Before{}
	if a.waits {
		if before, err = a.Before(ctx, p, state); err != nil {
			return Result{}, err
		}
	}
	if !result.Already {
		made, err := a.Approve(ctx, p)
		if err != nil {
			return Result{}, err
		}
		result.By, result.Time = made.Spec.By, made.CreationTimestamp.UTC()
	}
	if !a.waits {
		return result, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("%s have passed", longest))
	defer cancel()
	err = show.Run("wait for the operator", func() (string, error) {
		return "", a.Wait(ctx, p, before, func(state string) { show.Detail("%s", state) })
	})
	result.Applied = err == nil
	return result, err
}

// ask shows a Plan, and asks whether to approve it. It asks nobody who has no right to approve.
func (a approver) ask(ctx context.Context, p *plan.Plan, state approvals.State) error {
	if err := a.May(ctx, p.Namespace); err != nil {
		return err
	}
	if !a.yes {
		if err := a.CanAnswer(); err != nil {
			return err
		}
	}
	subject := report.On(p, approvals.State{}, func(words string) string { return words })
	fmt.Fprintln(a.Err, strings.Join(report.Text(subject), "\n"))
	if p.Spec.Commit != "" && p.Spec.Stack == "" {
		fmt.Fprintln(a.Err, "\nCommit not verified: you approve these changes, whatever commit contains them.")
	}
	if !state.Needed {
		fmt.Fprintln(a.Err, "\nThe operator would do this without an approval.")
	}
	if a.yes {
		return nil
	}
	return a.Confirm(ctx, fmt.Sprintf("\nApprove Plan %s of namespace %s?", terminal.Line(p.Name, mostName), p.Namespace))
}

// write prints a result for people.
func write(w io.Writer, r Result) error {
	line := terminal.Line
	text := fmt.Sprintf("Plan %s is approved by %s", line(r.Plan, mostName), line(r.By, mostName))
	if r.Already {
		text = fmt.Sprintf("Plan %s was approved by %s on %s", line(r.Plan, mostName), line(r.By, mostName), r.Time.Format(time.RFC3339))
	}
	if r.Applied {
		text += ", and applied"
	} else {
		text += ": `strata status` shows what the operator does"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
