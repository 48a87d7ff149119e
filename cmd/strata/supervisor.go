package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/toolchain"
)

// newSupervisor returns the command that `strata up` and `strata local start` run in the background.
func newSupervisor() *cobra.Command {
	var dir, repository string
	command := &cobra.Command{
		Use:    supervisor.Command,
		Hidden: true,
		Args:   arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			home.KeepPrivate()
			h, err := home.Open(dir)
			if err != nil {
				return err
			}
			if err := h.Tighten(); err != nil {
				return err
			}
			tc, err := toolchain.Open(repository)
			if err != nil {
				return err
			}
			executable, err := os.Executable()
			if err != nil {
				return err
			}
			go logfile.BoundStderr(command.Context(), h.Log(supervisor.Command))
			return supervisor.Run(command.Context(), supervisor.Options{
				Home: h, Toolchain: tc, Executable: executable, Version: version,
				Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			})
		},
	}
	command.Flags().StringVar(&dir, "home", "", "folder of the home")
	command.Flags().StringVar(&repository, "repository", "", "Strata's repository")
	return command
}
