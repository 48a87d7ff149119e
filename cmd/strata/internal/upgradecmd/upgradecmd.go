// Package upgradecmd contains the command `strata upgrade`.
package upgradecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/upgrade"
)

// Result is the output of -o json.
type Result struct {
	repository.Upgrade
	// Platform is what --plan has found; nil without --plan, without a platform, or while the repository pins another Strata.
	Platform *upgrade.Plan `json:"platform,omitempty"`
}

var (
	// errChanges sets the exit code of --check with changes.
	errChanges = errors.New("the repository pins another Strata")
	// errRefused sets the exit code of --plan for an upgrade that would change nothing.
	errRefused = errors.New("the upgrade would be refused")
)

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var check, plan bool
	var work cli.Work
	var call cli.Call
	command := &cobra.Command{
		Use:   "upgrade",
		Short: "Bring the repository, and then the platform, to this strata",
		Long: `Bring the repository, and then the platform, to the versions of this strata.

In an organisation's repository that pins another Strata, the command pins this one: in strata.yaml its version, the commit of its
layer 3 and the versions that it runs; in go.mod the version of its module. It changes no other file, and then ends: you commit the
files, and call it again for the platform. A clone of Strata contains its version.

The platform follows one step at a time:
  1. layer 1, bootstrap
  2. layer 2, platform
  3. Flux, which the run of layer 2 installs
  4. layer 3, the kinds of the operator, which Flux applies; with --target gke, from the repository to which you push
  5. layer 3, the operator, which Flux applies after its kinds

After each step it waits until the platform is ready up to this step, and stops with one line if that fails. After a failure, an
interrupt or a kill, the next call continues at the step that had begun. It refuses, before it changes anything, a step that would
delete data, such as a database instance, and new kinds that would drop a version in use or a field that an object sets.

--plan prints the steps with their versions, and the resources that each step would create, update, replace or delete. It changes
nothing. --check compares only the files of an organisation's repository, and exits with code 1 if they change.

-o json prints {"strata", "changes": [{"name", "pinned", "offered"}], "next"}, and with --plan also "platform".`,
		Example: `  strata upgrade --check
  strata upgrade --plan
  strata upgrade

  # the platform on Google Cloud, with the stacks called prod
  strata upgrade --plan --target gke --env prod`,
		Args: o.Arguments(positional.None),
	}
	call = o.Bind(command)
	work.Bind(command)
	command.Flags().BoolVar(&check, "check", false, "print the changes of the repository, and change nothing")
	command.Flags().BoolVar(&plan, "plan", false, "print the changes of the repository and the steps for the platform, and change nothing")
	command.MarkFlagsMutuallyExclusive("check", "plan")
	command.RunE = func(command *cobra.Command, _ []string) error {
		files, err := ofRepository(check, plan)
		if err != nil {
			return err
		}
		result := Result{Upgrade: files}
		if check || len(files.Changes) > 0 {
			if err := call.Print(o.Out, result, func() error { printFiles(o.Out, files); return nil }); err != nil {
				return err
			}
			if check && len(files.Changes) > 0 {
				return errChanges
			}
			return nil
		}
		p, err := call.Platform()
		if err != nil {
			return err
		}
		return work.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
			return ofPlatform(ctx, o, call, p, result, plan, show)
		})
	}
	return command
}

// ofRepository changes the files of an organisation's repository, or compares them. A clone of Strata has no pins to change.
func ofRepository(check, plan bool) (repository.Upgrade, error) {
	none := repository.Upgrade{Strata: buildinfo.Version, Changes: []repository.Difference{}, Next: []string{}}
	found, err := repository.Here()
	if err != nil || !found.Organisation && !check {
		return none, err
	}
	if check || plan {
		return found.Compare(buildinfo.Version)
	}
	files, err := found.Upgrade(buildinfo.Version)
	if err == nil && len(files.Next) > 0 {
		files.Next = files.Next[1:] // Without the command itself.
	}
	return files, err
}

// ofPlatform plans or runs the upgrade of the platform.
func ofPlatform(ctx context.Context, o cli.Options, call cli.Call, p *lifecycle.Platform, result Result, plan bool, show *progress.Reporter) error {
	err := upgrade.Exists(ctx, p)
	switch {
	case errors.Is(err, upgrade.ErrNone):
		result.Next = []string{p.About().Call("up")}
		return call.Print(o.Out, result, func() error {
			_, err := fmt.Fprintf(o.Out, "%v: `%s` creates it\n", upgrade.ErrNone, p.About().Call("up"))
			return err
		})
	case err != nil:
		return err
	case !plan:
		if err := upgrade.Run(ctx, p, show); err != nil {
			return err
		}
		result.Next = []string{p.About().Call("status")}
		return call.Print(o.Out, result, func() error {
			_, err := fmt.Fprintf(o.Out, "the platform has Strata %s\n", buildinfo.Version)
			return err
		})
	}
	made, err := upgrade.PlanOf(ctx, p, show)
	if err != nil {
		return err
	}
	result.Platform = &made
	if err := call.Print(o.Out, result, func() error { made.Print(o.Out); return nil }); err != nil {
		return err
	}
	if made.Refused != "" {
		return errRefused
	}
	return nil
}

func printFiles(out io.Writer, u repository.Upgrade) {
	if len(u.Changes) == 0 {
		fmt.Fprintf(out, "the repository pins this strata %s\n", u.Strata)
		return
	}
	for _, each := range u.Changes {
		fmt.Fprintf(out, "%-26s %s -> %s\n", each.Name, each.Pinned, each.Offered)
	}
	fmt.Fprintln(out, "\nNext:")
	for _, each := range u.Next {
		fmt.Fprintln(out, "  "+each)
	}
}
