// Package rehearsecmd contains the command `strata rehearse`.
package rehearsecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/rehearsal"
	"github.com/strata-platform/strata/internal/terminal"
)

// errElsewhere is the error for the target gke.
var errElsewhere = errors.New("target gke: leave out --target: the backup says where its platform is, and the copy is always on this machine")

// files completes the names of files.
var files = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)

// New returns the command rehearse.
func New(o cli.Options) *cobra.Command {
	var keys backup.Keys
	var from string
	var w cli.Work
	var call cli.Call
	command := &cobra.Command{
		Use:   "rehearse",
		Short: "Apply this version to a copy of a platform from a backup, and show what it changes and replaces",
		Long: `Apply this version of Strata, of the layers and of teams.yaml to a copy of a platform from a file of strata backup, and show what it
changes and replaces:

  1. create a home in a temporary folder, with other ports and other secrets; no secret of the backup is written to a disk
  2. create the resources of the backup's states again there: in an emulated Google Cloud, and in a cluster
  3. plan both layers, apply them, and wait until layers 1 to 3 are ready
  4. plan the Stacks of the teams, apply them, and wait until they are ready
  5. stop all processes, and remove the home

The backup may be that of a platform on this machine or on Google Cloud. This platform, its home and its ports stay as they are, and it
may run meanwhile. Databases and buckets of the copy are empty. The pods of the teams do not count, because a backup contains no images.

The exit code is 1 if the version deletes or replaces a resource with data, or if something does not become ready.`,
		Example: `  strata rehearse --from /mnt/backups/platform.age --passphrase-file ~/.config/strata-backup

  # with a private key of age, for a program
  strata rehearse --from /mnt/backups/platform.age --identity ~/.config/age/key.txt -o json --timeout 10m`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			switch {
			case from == "":
				return o.Usage(errors.New("--from is missing: name a file of strata backup"))
			case keys.PassphraseFile == "" == (keys.IdentityFile == ""):
				return o.Usage(errors.New("give either --passphrase-file or --identity"))
			}
			if _, err := call.Open(errElsewhere); err != nil {
				return err
			}
			root, err := o.Root()
			if err != nil {
				return err
			}
			identities, err := keys.ForReading()
			if err != nil {
				return err
			}
			return ended(w.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
				began := time.Now()
				result, err := rehearsal.Run(ctx, show, rehearsal.Options{Root: root, File: from, Identities: identities})
				if err != nil {
					return err
				}
				show.Total("rehearse", time.Since(began))
				if err := call.Print(o.Out, result, func() error { return write(o.Out, result) }); err != nil {
					return err
				}
				return verdict(result)
			}))
		},
	}
	call = o.Bind(command)
	w.Bind(command)
	command.Flags().Lookup("timeout").Usage = "end after this time, such as 10m, and remove the home"
	command.Flags().StringVar(&from, "from", "", "file of strata backup")
	command.Flags().StringVar(&keys.PassphraseFile, "passphrase-file", "", "file with the passphrase of the backup")
	command.Flags().StringVar(&keys.IdentityFile, "identity", "", "file with the private key of age that opens the backup")
	for _, name := range []string{"from", "passphrase-file", "identity"} {
		_ = command.RegisterFlagCompletionFunc(name, files)
	}
	return command
}

// ended replaces the advice of an error to continue: an unfinished rehearsal leaves nothing to continue with.
func ended(err error) error {
	unfinished := (*cli.Unfinished)(nil)
	switch {
	case errors.As(err, &unfinished):
		at := ""
		if unfinished.At != "" {
			at = " at the step " + unfinished.At
		}
		return fmt.Errorf("the rehearsal has not finished within %s (--timeout): it stopped%s, and its home is removed: give it more time", unfinished.Limit, at)
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted: the home of the rehearsal is removed, and the platform of the backup is as it was")
	}
	return err
}

// Bounds of the texts in the output.
const mostName, mostText = 200, 1000

// write prints a result as text: what loses data first.
func write(out io.Writer, result *rehearsal.Result) error {
	var lines []string
	for _, part := range result.Parts {
		for _, step := range part.Steps {
			if step.LosesData {
				lines = append(lines, fmt.Sprintf("DATA LOSS: %s: %s %s (%s)", terminal.Line(title(part), mostName), step.Op,
					terminal.Line(step.Name, mostName), terminal.Line(step.Type, mostName)))
			}
		}
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	for _, part := range result.Parts {
		lines = append(lines, report.Resources(terminal.Line(title(part), mostName), part.Stack)...)
	}
	for _, left := range result.Left {
		lines = append(lines, "left out: "+terminal.Line(left, mostText))
	}
	switch {
	case result.Ready:
		lines = append(lines, "", "everything is ready")
	default:
		lines = append(lines, "", "not ready: "+terminal.Line(result.Cause, mostText))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// title describes a part.
func title(part rehearsal.Part) string {
	if part.Namespace == "" {
		return "Layer " + part.Name
	}
	return "Stack " + part.Namespace + "/" + part.Name
}

// verdict returns an error if the version must not be applied as it is.
func verdict(result *rehearsal.Result) error {
	switch {
	case result.Losses > 0:
		return fmt.Errorf("this version deletes or replaces resources with data: %d: read the lines that begin with DATA LOSS before an upgrade", result.Losses)
	case !result.Ready:
		return errors.New("the rehearsed platform does not become ready: fix the cause, and rehearse again")
	}
	return nil
}
