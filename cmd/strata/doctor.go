package main

import (
	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/doctor"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/versions"
)

func newDoctor(io streams) *cobra.Command {
	var o cli.Output
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine for the requirements of the local target",
		Long: `Check this machine for the requirements of the local target, and say how to install the missing ones. It changes nothing.
If the home contains a platform, it also compares the versions of the platform's parts.
The exit code is 1 if a requirement is missing (✗). With a warning (!) Strata works, but slower or less safely.`,
		Example: `  strata doctor
  strata doctor -o json`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			found, err := repository.HereOrNone()
			if err != nil {
				return err
			}
			p, err := local.Open(found.Root, home.In(found.Root), "")
			if err != nil {
				return err
			}
			report := doctor.Check(doctor.Look(command.Context(), p.Toolchain, p.Home))
			if p.Home.Exists() {
				report.AddSkew(versions.Skew(command.Context(), lifecycle.New(p)))
			}
			if err := o.Print(io.out, report, func() error { report.Print(io.out); return nil }); err != nil {
				return err
			}
			if !report.OK {
				return errNotReady
			}
			return nil
		},
	}
	o.Bind(command)
	return command
}
