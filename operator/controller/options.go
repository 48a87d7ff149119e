package controller

import (
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

// Options configures the operator.
type Options struct {
	// Config is the connection to the cluster. If Config is nil, the operator uses
	// KUBECONFIG or, in a pod, the pod's service account.
	Config *rest.Config

	// HealthAddr is the address of /healthz and /readyz, MetricsAddr that of /metrics. An
	// empty address serves nothing.
	HealthAddr, MetricsAddr string

	// MaxConcurrent is how many Stacks run concurrently. Zero means the number of
	// processors, and at least two. Up to 32 runs within the share of their namespace may
	// begin in addition.
	MaxConcurrent int

	// RunMemory is how much memory must be free, in bytes, before the first run of a
	// namespace begins beside other runs. A further run of a namespace needs twice as
	// much. Zero means 512 MiB.
	RunMemory int64

	// RunTimeout is how long a run may take before the operator stops it gracefully. A
	// TenantPolicy of the namespace can set another limit. Zero means 15 minutes.
	RunTimeout time.Duration

	// ReportEvery is the interval at which the conditions of a Stack report what its run
	// waits for. Zero means a minute.
	ReportEvery time.Duration

	// DriftEvery is the interval between two drift checks of a Stack. If DriftEvery is zero, the operator checks a Stack only
	// when somebody requests it.
	DriftEvery time.Duration

	// Namespace is the operator's own namespace. The operator stores in its Secrets the data for the destroy of each Stack,
	// in case somebody deletes the Secrets that the Stack refers to before the Stack. If Namespace is empty, the operator
	// stores nothing, and such a Stack stays until its Secrets are back.
	Namespace string

	// PassEnv lists the variables of the operator's environment that every run gets. A
	// name may contain the wildcards of [path.Match]. The list should include PATH, the
	// search path for pulumi and its plugins.
	PassEnv []string

	// WorkDir is a folder that holds only the folders of runs. At its start, the operator kills the processes and removes the folders
	// that a killed operator left there. If WorkDir is empty, the operator uses a temporary folder that no living process uses.
	WorkDir string

	// FileBackendRoot is the folder for the state of Stacks with a file backend. Stacks of
	// a namespace may use only its subfolder with the namespace's name. If FileBackendRoot
	// is empty, the operator refuses every file backend.
	FileBackendRoot string

	// RunEndpoints lists the addresses (HOST:PORT) that runs can reach in addition to the
	// cluster's API server. If RunEndpoints is empty, runs share the operator's network.
	RunEndpoints []string

	// PlainPlans is [engine.Engine.PlainPlans].
	PlainPlans bool

	// RunRecords is the folder into which the operator writes the records of runs, for the ledger of a platform. Empty writes none.
	RunRecords string

	// EventsAddr is the URL to which the operator sends events for Flux's notification-controller. Empty sends none.
	EventsAddr string

	// Catalogue makes the operator also handle the orders of teams, with package orders.
	Catalogue bool

	// LeaderElect makes the operator wait until it holds the Lease pulumi-operator in Namespace, so that of several operators
	// one works. Its account needs the rights to get, create and update Leases there. Run returns an error if the operator
	// loses the Lease.
	LeaderElect bool

	// Log receives the operator's log. If Log is nil, the operator logs nothing.
	Log *slog.Logger
}

// ownPrefix is the prefix of the operator's own environment variables. Runs do not get them.
const ownPrefix = "PULUMI_OPERATOR_"

// Environment variables of options on the command line. [Options.RunEndpoints] are separated by commas, and [Options.PlainPlans] is "true".
const (
	FileBackendRootVariable = ownPrefix + "FILE_BACKEND_ROOT"
	RunEndpointsVariable    = ownPrefix + "RUN_ENDPOINTS"
	PlainPlansVariable      = ownPrefix + "PLAIN_PLANS"
	RunRecordsVariable      = ownPrefix + "RUN_RECORDS"
)
