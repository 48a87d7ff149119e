// Package auditcmd contains the command `strata audit`.
package auditcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/report"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/signing"
)

// formatSARIF is the additional format of the output.
const formatSARIF = "sarif"

// flags are the values of the flags of one call.
type flags struct{ diff, file, key string }

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var f flags
	var call cli.Call
	var limit cli.Work
	command := &cobra.Command{
		Use:   "audit",
		Short: "Attempt what each identity must not do, and show what was refused and by what",
		Long: `Attempt what each identity of the platform must not do, and show what was refused and by what. The command

  1. gets a token of each identity: the engineer, the controllers of Flux, the platform account, the operator, every account
     of every team, and nobody. On Google Cloud, the cluster's administrator impersonates the accounts.
  2. attempts each act of the catalogue with it: at the API server, at Google's IAM, at the Git server, at the registry, and as
     another user of this machine. A request that would change something is a dry run, and the content of a read is discarded.
  3. computes from the live RBAC, admission policies, IAM policies and Git permissions which identity can become which, and the shortest
     path of each identity to cluster-admin, the Secrets of a team, the IAM policy, and the state of the layers.

An error such as a timeout is not a refusal, and an attempt that needs root is "not attempted". The command changes nothing.

The exit code is 0 only if nothing is unexpectedly allowed, every attempt has an answer, and no unexpected path exists.`,
		Example: `  strata audit
  strata audit -o sarif
  strata audit --report audit.json
  strata audit --diff audit.json
  strata audit --target gke --report audit.json --key audit.key`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error { return run(command, o, call, f, limit) },
	}
	call = o.Bind(command, formatSARIF)
	limit.BindTimeout(command)
	command.Flags().StringVar(&f.diff, "diff", "", "show the changes since the report in this file")
	command.Flags().StringVar(&f.file, "report", "", "write the report as JSON into this file, and beside it a signature (.sig) and the public key (.pub)")
	command.Flags().StringVar(&f.key, "key", "", "file with the private key that signs reports, in PEM; empty means the key in the home")
	for _, name := range []string{"diff", "report", "key"} {
		complete.Flag(command, name, complete.Files)
	}
	return command
}

func run(command *cobra.Command, o cli.Options, call cli.Call, f flags, limit cli.Work) error {
	var made *report.Report
	err := limit.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) (err error) {
		made, err = auditOf(ctx, show, o, call, f)
		return err
	})
	if err != nil {
		return err
	}
	if err := call.Print(o.Out, made, func() error {
		if command.Flag(cli.OutputFlag).Value.String() == formatSARIF {
			return report.SARIF(o.Out, made)
		}
		return report.Text(o.Out, made)
	}); err != nil {
		return err
	}
	return made.Verdict()
}

// auditOf audits the platform, compares the report with an older one, and writes it to a file.
func auditOf(ctx context.Context, show *progress.Reporter, o cli.Options, call cli.Call, f flags) (*report.Report, error) {
	site, err := siteOf(ctx, call)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(o, site, f)
	if err != nil {
		return nil, err
	}
	var old *report.Report
	if f.diff != "" {
		if old, err = report.Read(f.diff, key); err != nil {
			return nil, err
		}
	}
	var made *report.Report
	err = show.Run("attempts", func() (string, error) {
		if made, err = report.Make(ctx, site, time.Now()); err != nil {
			return "", err
		}
		if old != nil {
			made.Compare(old)
		}
		if f.file != "" {
			err = made.Write(f.file, key)
		}
		return fmt.Sprintf("%d of %d identities", made.Counts.Attempts, len(made.Identities)), err
	})
	return made, err
}

// siteOf returns the parts of the running platform.
func siteOf(ctx context.Context, call cli.Call) (*audit.Site, error) {
	p, err := call.Platform()
	if err != nil {
		return nil, err
	}
	target, ok := p.Target.(audit.Target)
	if !ok {
		return nil, errors.New("audit the platform: its target has no audit")
	}
	return target.AuditSite(ctx)
}

// keyOf returns the key that signs the report and verifies an older one, or nil if neither is asked for.
func keyOf(o cli.Options, site *audit.Site, f flags) (*signing.Key, error) {
	switch {
	case f.key != "":
		return signing.ReadKey("the key", f.key)
	case f.file == "" && f.diff == "":
		return nil, nil
	case site.Key != nil:
		return site.Key()
	case f.file != "":
		return nil, o.Usage(errors.New("--report needs --key: create a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE`"))
	}
	return nil, nil
}
