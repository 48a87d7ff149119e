package main

import (
	"context"

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
	var t target
	var o cli.Output
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check the requirements of a target",
		Long: `Check the requirements of a target, and say how to meet the missing ones. It changes nothing.

For the target local, it checks this machine. For gke, it runs the checks of "strata up --target gke": pulumi with its login, the
stacks and settings of the layers, the Google identity.

If there is a platform, doctor also compares the versions of the platform's parts; on Google Cloud, if its cluster answers.
The exit code is 1 if a requirement is missing (✗). With a warning (!) Strata works, but slower or less safely.`,
		Example: `  strata doctor
  strata doctor -o json

  # the platform on Google Cloud
  strata doctor --target gke`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			report, err := t.examine(command.Context())
			if err != nil {
				return err
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
	t.bindAny(command)
	o.Bind(command)
	return command
}

// examine checks the requirements of the target.
func (t *target) examine(ctx context.Context) (doctor.Report, error) {
	if t.name == targetGKE {
		return t.examineGoogle(ctx)
	}
	if err := t.isLocal(); err != nil {
		return doctor.Report{}, err
	}
	// Unlike other commands, doctor works without a repository.
	found, err := repository.HereOrNone()
	if err != nil {
		return doctor.Report{}, err
	}
	p, err := local.Open(found.Root, home.In(found.Root), t.environment)
	if err != nil {
		return doctor.Report{}, err
	}
	report := doctor.Check(doctor.Look(ctx, p.Toolchain, p.Home))
	if p.Home.Exists() {
		report.AddSkew(versions.Skew(ctx, lifecycle.New(p)))
	}
	return report, nil
}

// examineGoogle checks the requirements of the target gke.
func (t *target) examineGoogle(ctx context.Context) (doctor.Report, error) {
	p, err := t.openGoogle()
	if err != nil {
		return doctor.Report{}, err
	}
	report := doctor.Report{OK: true}
	login, findings := p.Findings(ctx)
	if login != "" {
		report.Add(doctor.Finding{Check: "pulumi's login", Level: doctor.OK, Found: login})
	}
	for _, each := range findings {
		level := doctor.Missing
		if each.Note {
			level = doctor.Warning
		}
		report.Add(doctor.Finding{Check: each.Check, Level: level, Found: each.Found, Remedy: each.Remedy})
	}
	report.AddSkew(versions.SkewOfCluster(ctx, lifecycle.New(p)))
	return report, ctx.Err()
}
