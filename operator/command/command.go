// Package command contains the operator's command line.
package command

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/operator/controller/drift"
	"github.com/strata-platform/strata/operator/sandbox"
)

// endpoints returns the endpoints of runs from the environment variable
// [controller.RunEndpointsVariable].
func endpoints() []string {
	return strings.FieldsFunc(os.Getenv(controller.RunEndpointsVariable), func(r rune) bool { return r == ',' })
}

// New returns the command that runs the operator until its context ends.
func New() *cobra.Command {
	var opts controller.Options
	var isolate bool
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the Pulumi operator",
		Long: `Run the Pulumi operator: it applies every Stack of the cluster by running its Program.

The operator connects to the cluster of KUBECONFIG or, in a pod, as the pod's service account.`,
		Example: `  # Give every run the PATH and the addresses of an emulated Google Cloud.
  operator --health-addr=:8081 --metrics-addr=:8080 --pass-env=PATH,GOOGLE_*_CUSTOM_ENDPOINT

  # Work in a pod only while no other replica does, and run Stacks in namespaces of their own or not at all.
  operator --namespace=pulumi-kubernetes-operator --leader-elect --require-isolation`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := sandbox.Check(); err != nil && isolate {
				return fmt.Errorf("this operator cannot isolate runs, and --require-isolation forbids others: %w: "+
					"give its pod the security context of sync/operator/gke-embedded, on nodes with Linux 5.12 or newer", err)
			}
			opts.PlainPlans = os.Getenv(controller.PlainPlansVariable) == "true"
			opts.RunRecords = os.Getenv(controller.RunRecordsVariable)
			opts.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			return controller.Run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.HealthAddr, "health-addr", ":8081", "address of /healthz and /readyz; empty for none")
	flags.StringVar(&opts.MetricsAddr, "metrics-addr", ":8080", "address of /metrics; empty for none")
	flags.IntVar(&opts.MaxConcurrent, "concurrent", 0, "number of concurrent runs; runs within the share of their namespace may exceed it (default: the number of processors, at least 2)")
	flags.Int64Var(&opts.RunMemory, "run-memory", 0, "bytes of memory that must be free before the first run of a namespace begins beside other runs; a further run of the namespace needs twice as many (default: 512 MiB)")
	flags.DurationVar(&opts.RunTimeout, "run-timeout", 0, "time after which the operator stops a run gracefully, unless the TenantPolicy of the namespace sets another limit (default: 15m)")
	flags.DurationVar(&opts.DriftEvery, "drift-interval", drift.Every, "time between two drift checks of a Stack; 0 checks only on request")
	flags.StringVar(&opts.Namespace, "namespace", "", "the operator's own namespace, whose Secrets store the data for the destroy of each Stack; empty stores nothing")
	flags.StringSliceVar(&opts.PassEnv, "pass-env", []string{"PATH"}, "names of the operator's environment variables that every run gets; may contain wildcards")
	flags.StringVar(&opts.WorkDir, "work-dir", "", "folder that holds only the folders of runs; the operator ends the processes and removes the folders that a killed operator left there (default: a temporary folder)")
	flags.StringSliceVar(&opts.RunEndpoints, "run-endpoints", endpoints(), "addresses (HOST:PORT) that runs can reach besides the API server; empty means all addresses that the operator can reach (default: $"+controller.RunEndpointsVariable+")")
	flags.BoolVar(&isolate, "require-isolation", false, "fail at the start if this system cannot give each run its own namespaces, instead of running Stacks without")
	flags.StringVar(&opts.FileBackendRoot, "file-backend-root", os.Getenv(controller.FileBackendRootVariable),
		"folder for the state of Stacks with a file:// backend, with a folder for each namespace; empty rejects such Stacks (default: $"+controller.FileBackendRootVariable+")")
	flags.StringVar(&opts.EventsAddr, "events-addr", "", "URL of the server of events of Flux's notification-controller, which puts the results of Plans on commits; empty sends none")
	flags.BoolVar(&opts.Catalogue, "catalogue", false, "also handle the orders of teams: objects of the kinds of catalogue.strata.dev")
	flags.BoolVar(&opts.LeaderElect, "leader-elect", false,
		"work only while this operator holds the Lease pulumi-operator in --namespace; its account needs rights on Leases there")
	return cmd
}
