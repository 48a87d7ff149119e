// Package command contains the operator's command line.
package command

import (
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/operator/controller"
)

// endpoints returns the endpoints of runs from the environment variable
// [controller.RunEndpointsVariable].
func endpoints() []string {
	return strings.FieldsFunc(os.Getenv(controller.RunEndpointsVariable), func(r rune) bool { return r == ',' })
}

// New returns the command that runs the operator until its context ends.
func New() *cobra.Command {
	var opts controller.Options
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the Pulumi operator",
		Long: `Run the Pulumi operator: it applies every Stack of the cluster by running its Program.

The cluster is taken from KUBECONFIG or, in a pod, from the pod's service account.`,
		Example: `  # Give every run the PATH and the addresses of an emulated Google Cloud.
  operator --health-addr=:8081 --metrics-addr=:8080 --pass-env=PATH,GOOGLE_*_CUSTOM_ENDPOINT`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			return controller.Run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.HealthAddr, "health-addr", ":8081", "address of /healthz and /readyz; empty for none")
	flags.StringVar(&opts.MetricsAddr, "metrics-addr", ":8080", "address of /metrics; empty for none")
	flags.IntVar(&opts.MaxConcurrent, "concurrent", 0, "how many Stacks run at once; runs within their namespace's share may exceed it (default: the number of processors, at least 2)")
	flags.Int64Var(&opts.RunMemory, "run-memory", 0, "bytes of memory that must be free for the first run of a namespace to begin beside others, and twice as many for a further one (default: 512 MiB)")
	flags.DurationVar(&opts.RunTimeout, "run-timeout", 0, "how long a run may take before it is stopped in good order, where the TenantPolicy of its namespace does not say (default: 15m)")
	flags.StringVar(&opts.Namespace, "namespace", "", "the operator's own namespace, in whose Secrets it keeps what destroying the Stacks takes; empty keeps nothing")
	flags.StringSliceVar(&opts.PassEnv, "pass-env", []string{"PATH"}, "names of the operator's environment variables that every run gets; may hold wildcards")
	flags.StringVar(&opts.WorkDir, "work-dir", "", "folder for the folders of runs and nothing else (default: one among temporary files: what a killed operator left there is ended and removed)")
	flags.StringSliceVar(&opts.RunEndpoints, "run-endpoints", endpoints(), "addresses (HOST:PORT) that runs reach beside the API server; empty: all that the operator reaches; when not given, $"+controller.RunEndpointsVariable+" counts")
	flags.StringVar(&opts.FileBackendRoot, "file-backend-root", os.Getenv(controller.FileBackendRootVariable),
		"folder for the state of Stacks with a file:// backend, one folder per namespace; empty refuses them; when not given, $"+controller.FileBackendRootVariable+" counts")
	flags.BoolVar(&opts.LeaderElect, "leader-elect", false,
		"work only while this operator holds the Lease pulumi-operator in --namespace; its account needs rights on Leases there")
	return cmd
}
