package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/kubeconfigcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/shell"
)

func newLocal(io streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "local",
		Short: "Run the local target without any layer: emulated Google Cloud, Git server, control plane",
		Example: `  strata local start
  strata local status -o json
  strata local stop`,
	}, newLocalStart(io), newLocalStop(io), newLocalStatus(io))
}

func newLocalStart(io streams) *cobra.Command {
	var o cli.Output
	var w cli.Work
	command := &cobra.Command{
		Use:     "start",
		Short:   "Start all processes, and wait for a ready node",
		Example: "  strata local start",
		Args:    arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("")
			if err != nil {
				return err
			}
			if err := w.Run(command, io.err, p.StartCluster); err != nil {
				return err
			}
			path, err := p.AdminKubeconfig()
			if err != nil {
				return err
			}
			return o.Print(io.out, kubeconfigcmd.Result{Path: path}, func() error {
				_, err := fmt.Fprintf(io.out, "kubectl --kubeconfig %s get nodes\n", shell.Word(path))
				return err
			})
		},
	}
	o.Bind(command)
	w.Bind(command)
	return command
}

func newLocalStop(io streams) *cobra.Command {
	var w cli.Work
	command := &cobra.Command{
		Use:     "stop",
		Short:   "Stop all processes and keep the data",
		Example: "  strata local stop",
		Args:    arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("")
			if err != nil {
				return err
			}
			return w.Run(command, io.err, func(ctx context.Context, show *progress.Reporter) error {
				return show.Run("stop all processes", func() (string, error) { return "", p.Stop(ctx) })
			})
		},
	}
	w.Bind(command)
	return command
}

func newLocalStatus(io streams) *cobra.Command {
	var o cli.Output
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the supervisor, its servers and its child processes",
		Long: `Show the supervisor, its servers and its child processes: those of the control plane, of databases and of pods.
docs/reference/output.md documents the output of -o json.`,
		Example: `  strata local status
  strata local status -o json`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("")
			if err != nil {
				return err
			}
			s, err := p.Supervisor().Status(command.Context())
			if err != nil {
				return err
			}
			return o.Print(io.out, s, func() error { return render.LocalStatus(io.out, s, time.Now()) })
		},
	}
	o.Bind(command)
	return command
}
