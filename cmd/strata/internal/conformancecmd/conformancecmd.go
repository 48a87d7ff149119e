// Package conformancecmd contains the command `strata conformance`.
package conformancecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/handoff/keys"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/test/conformance"
)

// Result is the output of -o json.
type Result struct {
	Namespace string               `json:"namespace"`
	Checks    []conformance.Result `json:"checks"`
}

// flags are the values of the command's own flags.
type flags struct {
	kubeconfig string
	options    conformance.Options
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var f flags
	var work cli.Work
	var call cli.Call
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Check what the operator of a cluster does with Stacks and Programs",
		Long: `Check what the operator of a cluster does with Stacks and Programs, by running some in one namespace of the cluster.

The namespace must have a Secret whose keys are the environment of the runs: the backend of their state and its passphrase. In the namespace
of a team this is strata-context. The Programs create only Secrets, ConfigMaps and random values, in the same namespace. At its end, also after
Ctrl-C, the command deletes all that it has created.

Statements of the contract "shared" hold for every operator of the kinds, upstream's included, and those of the contract "strata" for Strata's
platform and its embedded operator. The exit code is 0 only if no check has failed.`,
		Example: `  # the operator of the platform, in the namespace of its only team
  strata conformance

  # any operator in another cluster
  strata conformance --kubeconfig staging.yaml --namespace conformance --service-account pulumi --shared

  # what was seen, for each statement
  strata conformance --namespace team-web -o json`,
		Args: o.Arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			return work.Run(command, o.Err, func(ctx context.Context, show *progress.Reporter) error {
				if err := f.resolve(ctx, call, o.Usage); err != nil {
					return err
				}
				results, err := run(ctx, f.options, show)
				if results == nil {
					return err
				}
				printed := call.Print(o.Out, Result{f.options.Namespace, results}, func() error { return Print(o.Out, results) })
				return errors.Join(printed, cmp.Or(err, verdict(results)))
			})
		},
	}
	call = o.Bind(command)
	work.BindTimeout(command)
	command.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "a kubeconfig of the cluster; by default the cluster of the platform")
	complete.Flag(command, "kubeconfig", complete.Files)
	command.Flags().StringVar(&f.options.Namespace, "namespace", "", "where to create the objects; by default the kubeconfig's namespace, or that of the platform's only team")
	complete.Flag(command, "namespace", complete.Nothing)
	command.Flags().StringVar(&f.options.Secret, "secret", keys.TenantName, "the Secret with the environment of the runs")
	complete.Flag(command, "secret", complete.Nothing)
	command.Flags().StringVar(&f.options.ServiceAccount, "service-account", "", "the service account of the runs; by default the Stacks name none")
	complete.Flag(command, "service-account", complete.Nothing)
	command.Flags().BoolVar(&f.options.SharedOnly, "shared", false, `check only the statements of the contract "shared"`)
	command.Flags().DurationVar(&f.options.Wait, "wait", 5*time.Minute, "how long to wait for one change of an object")
	complete.Flag(command, "wait", complete.Values("1m", "5m", "15m"))
	return command
}

// resolve finds the cluster and the namespace.
func (f *flags) resolve(ctx context.Context, call cli.Call, usage func(error) error) error {
	config, namespace, err := f.cluster(ctx, call)
	if err != nil {
		return err
	}
	// The scenes run at the same time, and each watches its own objects.
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	f.options.Config, f.options.Namespace = config, cmp.Or(f.options.Namespace, namespace)
	if f.options.Namespace == "" {
		return usage(errors.New("the platform has several teams, or none: choose a namespace with --namespace"))
	}
	return nil
}

// cluster returns the configuration of the cluster's clients, and the default namespace. An empty one means that there is none.
func (f *flags) cluster(ctx context.Context, call cli.Call) (*rest.Config, string, error) {
	if f.kubeconfig == "" {
		config, namespaces, err := call.Namespaces(ctx, "")
		if err != nil || len(namespaces) != 1 {
			return config, "", err
		}
		return config, namespaces[0], nil
	}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig}, nil)
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig %s: %w", f.kubeconfig, err)
	}
	namespace, _, err := loaded.Namespace()
	return config, namespace, err
}

// run runs the suite and shows its progress.
func run(ctx context.Context, options conformance.Options, show *progress.Reporter) ([]conformance.Result, error) {
	var results []conformance.Result
	err := show.Run("conformance of namespace "+options.Namespace, func() (string, error) {
		var err error
		options.Begin = func(s conformance.Statement) { show.Detail("%s", s.Name) }
		options.Report = func(r conformance.Result) {
			if r.Outcome == conformance.Failed {
				show.Note("%s %s", mark(r), r.Name)
			}
		}
		stop := context.AfterFunc(ctx, func() { show.Note("deleting what the checks have created") })
		defer stop()
		results, err = conformance.Run(ctx, options)
		return summary(results), err
	})
	if err != nil && ctx.Err() != nil {
		// The caller replaces the error of an interrupted command, which may name objects that are left.
		show.Note("%v", err)
		err = &interrupted{err}
	}
	return results, err
}

// interrupted is the error of an interrupted suite. It is no context.Canceled: another call begins anew, and does not continue.
type interrupted struct{ err error }

func (i *interrupted) Error() string { return "interrupted: " + i.err.Error() }

// verdict returns an error if a check has failed, or none has passed.
func verdict(results []conformance.Result) error {
	counts := count(results)
	switch {
	case counts[conformance.Failed] > 0:
		return fmt.Errorf("%d of %d checks failed", counts[conformance.Failed], len(results))
	case counts[conformance.Passed] == 0:
		return fmt.Errorf("none of %d checks passed", len(results))
	}
	return nil
}

func count(results []conformance.Result) map[conformance.Outcome]int {
	counts := map[conformance.Outcome]int{}
	for _, result := range results {
		counts[result.Outcome]++
	}
	return counts
}

func summary(results []conformance.Result) string {
	counts := count(results)
	return fmt.Sprintf("%d passed, %d failed, %d skipped", counts[conformance.Passed], counts[conformance.Failed], counts[conformance.Skipped])
}

func mark(result conformance.Result) string {
	switch result.Outcome {
	case conformance.Passed:
		return "✓"
	case conformance.Failed:
		return "✗"
	}
	return "-"
}

// longestSeen is the maximum length of a text of the operator.
const longestSeen = 600

// Print prints the statements, and what was seen of those that do not hold or were not checked.
func Print(w io.Writer, results []conformance.Result) error {
	for _, result := range results {
		text := fmt.Sprintf("%s %-6s  %-25s  %s", mark(result), result.Contract, result.Name, result.Must)
		if result.Outcome != conformance.Passed {
			text += fmt.Sprintf("\n    %s: %s", map[conformance.Outcome]string{conformance.Failed: "seen", conformance.Skipped: "skipped"}[result.Outcome],
				terminal.Line(result.Seen, longestSeen))
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, summary(results))
	return err
}
