// Package logscmd contains the command `strata logs`.
package logscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/stacklogs"
	"github.com/strata-platform/strata/internal/terminal"
)

// flags are the flags of one call.
type flags struct {
	follow, raw, failed bool
	team                string
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "logs COMPONENT|stack/NAME",
		Short: "Print the log of a part of the local platform, or of a Stack's last run",
		Long: `Print the log of a part of the local platform: supervisor, etcd, kube-apiserver, a pod that runs as a process, ...
A part of the name is enough if it matches only one log. Control characters, such as escape sequences, are printed escaped,
because a log may contain text of a team.

stack/NAME is the last run of a Stack: what Pulumi printed, without secrets, at most 64 KiB. The operator writes it when the run
ends. The team reads the same log with kubectl get stacklog NAME -o yaml.`,
		Example: `  strata logs supervisor
  strata logs source-controller --follow

  # a Stack's last run, and its last run that failed
  strata logs stack/wordpress-infra
  strata logs stack/wordpress-infra --failed --team web

  # unescaped, for another program
  strata logs kube-apiserver --raw`,
		Args: o.Arguments(positional.One),
		RunE: func(command *cobra.Command, args []string) error {
			if err := f.check(args[0]); err != nil {
				return o.Usage(err)
			}
			if f.raw {
				return f.write(command.Context(), o, args[0], o.Out)
			}
			out := terminal.NewWriter(o.Out)
			return errors.Join(f.write(command.Context(), o, args[0], out), out.Flush())
		},
	}
	command.Flags().BoolVarP(&f.follow, "follow", "f", false, "print new lines until interrupted; not for a Stack")
	command.Flags().BoolVar(&f.raw, "raw", false, "print control characters unescaped")
	command.Flags().BoolVar(&f.failed, "failed", false, "the Stack's last run that failed")
	complete.Team(command, &f.team, "look for the Stack in this team's namespace only", o.Local)
	command.ValidArgsFunction = complete.Logs(o.Local, func(ctx context.Context, team string) (*rest.Config, []string, error) {
		return namespaces(ctx, o, team)
	})
	return command
}

// stackOf returns the name of the Stack that an argument names.
func stackOf(argument string) (name string, is bool) {
	for _, prefix := range []string{complete.StackPrefix, "stacks/"} {
		if name, is = strings.CutPrefix(argument, prefix); is {
			return name, true
		}
	}
	return "", false
}

// check rejects flags that do not belong together.
func (f flags) check(argument string) error {
	name, is := stackOf(argument)
	switch {
	case is && name == "":
		return fmt.Errorf("%s names no Stack: write %sNAME", argument, complete.StackPrefix)
	case is && f.follow:
		return errors.New("the operator writes the log of a Stack when the run ends: leave out --follow, and see `strata status --watch` for the progress")
	case !is && f.failed:
		return fmt.Errorf("--failed is about a Stack: write %s%s, or leave out --failed", complete.StackPrefix, argument)
	case !is && f.team != "":
		return fmt.Errorf("--team is about a Stack: write %s%s, or leave out --team", complete.StackPrefix, argument)
	}
	return nil
}

func namespaces(ctx context.Context, o cli.Options, team string) (*rest.Config, []string, error) {
	p, err := o.Local()
	if err != nil {
		return nil, nil, err
	}
	return lifecycle.New(p).TeamNamespaces(ctx, team)
}

func (f flags) write(ctx context.Context, o cli.Options, argument string, out io.Writer) error {
	name, is := stackOf(argument)
	if !is {
		p, err := o.Local()
		if err != nil {
			return err
		}
		return p.Logs(ctx, argument, f.follow, out)
	}
	config, in, err := namespaces(ctx, o, f.team)
	if err != nil {
		return err
	}
	found, err := stacklogs.Find(ctx, lifecycle.Brief(config), in, name)
	if err != nil {
		return err
	}
	run, err := found.Run(f.failed)
	if err != nil {
		return err
	}
	result := "succeeded"
	if run.Message != "" {
		result = "failed: " + run.Message
	}
	if _, err := fmt.Fprintf(out, "%s of Stack %s/%s, %s, %.1fs: %s\n%s", run.Operation, found.Namespace, found.Name,
		run.Began.UTC().Format(time.RFC3339), run.Ended.Sub(run.Began.Time).Seconds(), result, run.Log); err != nil {
		return err
	}
	if note := found.Note(run); note != "" {
		_, err = fmt.Fprintf(o.Err, "note: %s\n", terminal.Line(note, 500))
	}
	return err
}
