// Package controller implements the operator. The operator applies every Stack by
// running its Program with package engine, under the Stack's service account.
package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/metrics"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/engine"
)

const (
	// operatorName is the name of the operator in events and of its Lease.
	operatorName = "pulumi-operator"

	// shutdownTimeout bounds how long runs may take to stop in good order.
	shutdownTimeout = 90 * time.Second

	// defaultRunTimeout is the default of [Options.RunTimeout].
	defaultRunTimeout = 15 * time.Minute
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

	// RunTimeout is how long a run may take before the operator stops it in good order. A
	// TenantPolicy of the namespace can set another limit. Zero means 15 minutes.
	RunTimeout time.Duration

	// ReportEvery is the interval at which the conditions of a Stack report what its run
	// waits for. Zero means a minute.
	ReportEvery time.Duration

	// Namespace is the operator's own namespace. The operator stores in its Secrets what a
	// destroy of each Stack needs, in case somebody deletes the Secrets that the Stack
	// refers to before the Stack. If Namespace is empty, the operator stores nothing, and
	// such a Stack stays until its Secrets are back.
	Namespace string

	// PassEnv lists the variables of the operator's environment that every run gets. A
	// name may contain the wildcards of [path.Match]. The list should include PATH, the
	// search path for pulumi and its plugins.
	PassEnv []string

	// WorkDir is a folder that holds only the folders of runs. At its start, the operator
	// kills the processes and removes the folders that a killed operator left there. If
	// WorkDir is empty, the operator uses a temporary folder that no living process uses.
	WorkDir string

	// FileBackendRoot is the folder for the state of Stacks with a file backend. Stacks of
	// a namespace may use only its subfolder with the namespace's name. If FileBackendRoot
	// is empty, the operator refuses every file backend.
	FileBackendRoot string

	// RunEndpoints lists the addresses (HOST:PORT) that runs can reach in addition to the
	// cluster's API server. If RunEndpoints is empty, runs share the operator's network.
	RunEndpoints []string

	// LeaderElect makes the operator wait until it holds the Lease pulumi-operator in Namespace, so that of several operators
	// one works. Its account needs the rights to get, create and update Leases there. Run returns an error if the operator
	// loses the Lease.
	LeaderElect bool

	// Log receives the operator's log. If Log is nil, the operator logs nothing.
	Log *slog.Logger
}

// Run runs the operator until ctx ends. Run then stops the current runs in good order.
func Run(ctx context.Context, opts Options) error {
	if opts.Config == nil {
		var err error
		if opts.Config, err = clientconfig.GetConfig(); err != nil {
			return fmt.Errorf("find the cluster: %w", err)
		}
	}
	if opts.MaxConcurrent == 0 {
		opts.MaxConcurrent = max(2, runtime.NumCPU())
	}
	opts.RunMemory = cmp.Or(opts.RunMemory, slots.DefaultMemory)
	opts.RunTimeout = cmp.Or(opts.RunTimeout, defaultRunTimeout)
	opts.ReportEvery = cmp.Or(opts.ReportEvery, time.Minute)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	env, err := passedEnvironment(os.Environ(), opts.PassEnv)
	if err != nil {
		return err
	}
	if opts.WorkDir == "" {
		dir, release, err := engine.TakeWorkDir(os.TempDir())
		if err != nil {
			return err
		}
		defer release()
		opts.WorkDir = dir
	}
	endpoints, err := runEndpoints(opts)
	if err != nil {
		return err
	}
	runner := &engine.Engine{WorkDir: opts.WorkDir, Env: env, Endpoints: endpoints, Cache: filepath.Join(opts.WorkDir, "cache")}
	if err := runner.Clean(); err != nil {
		return err
	}
	prepared := make(chan struct{})
	defer func() { <-prepared }()
	go func() {
		defer close(prepared)
		// Runs work without schemas, but start each plugin more often.
		if err := runner.Prepare(ctx); err != nil && ctx.Err() == nil {
			opts.Log.Warn("schemas of plugins are not kept: runs take longer", "reason", err.Error())
		}
	}()
	if opts.FileBackendRoot != "" && !filepath.IsAbs(opts.FileBackendRoot) {
		return fmt.Errorf("root of file backends %q: give an absolute path", opts.FileBackendRoot)
	}
	unconfined := engine.CanConfine()
	if unconfined != nil {
		opts.Log.Warn("runs are not isolated", "reason", unconfined.Error())
	}
	mgr, err := newManager(opts)
	if err != nil {
		return err
	}
	stacks, wake, err := newStackReconciler(mgr, opts)
	if err != nil {
		return err
	}
	defer stacks.dependents.close()
	defer stacks.slots.Close()
	defer stacks.lookups.Close()
	stacks.engine, stacks.unconfined = runner, unconfined
	unregister, err := stacks.metrics.Register()
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	defer unregister()
	if err := setUp(mgr, stacks, wake); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	return nil
}

// runEndpoints returns the addresses that runs can reach: the API server and the
// endpoints of the options. runEndpoints returns nil if the options have no endpoints.
func runEndpoints(opts Options) ([]string, error) {
	if len(opts.RunEndpoints) == 0 {
		return nil, nil
	}
	server, _, err := rest.DefaultServerUrlFor(opts.Config)
	if err != nil {
		return nil, fmt.Errorf("find the API server that runs reach: %w", err)
	}
	return append([]string{net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443"))}, opts.RunEndpoints...), nil
}

// newStackReconciler creates the objects that all reconciliations share.
func newStackReconciler(mgr manager.Manager, opts Options) (*stackReconciler, *waker, error) {
	objects, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the cluster for metadata: %w", err)
	}
	wake := newWaker()
	runs := slots.ForRuns(opts.MaxConcurrent, opts.RunMemory, wake.wake)
	return &stackReconciler{
		client:     mgr.GetClient(),
		reader:     mgr.GetAPIReader(),
		config:     mgr.GetConfig(),
		recorder:   mgr.GetEventRecorder(operatorName),
		slots:      runs,
		lookups:    lookup.New(wake.wake),
		dependents: newDependents(objects, mgr.GetLogger().WithName("dependents"), wake.wake),
		records: &records{
			client: mgr.GetClient(), reader: mgr.GetAPIReader(), namespace: opts.Namespace, kept: map[types.NamespacedName]keptRecord{},
		},
		metrics:     metrics.New(mgr.GetCache(), runs.Busy),
		running:     wake.release,
		backends:    opts.FileBackendRoot,
		runTimeout:  opts.RunTimeout,
		reportEvery: opts.ReportEvery,
	}, wake, nil
}

func newManager(opts Options) (manager.Manager, error) {
	scheme := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{
		corev1.AddToScheme, authenticationv1.AddToScheme, eventsv1.AddToScheme, v1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	// On every write, the API server would warn about the finalizer's name, which comes
	// from upstream.
	cluster := rest.CopyConfig(opts.Config)
	cluster.WarningHandler = rest.NoWarnings{}
	if cluster.QPS == 0 {
		// The API server has its own priority and fairness. A client-side limit would make
		// many Stacks wait.
		cluster.QPS = -1
	}
	mgr, err := manager.New(cluster, manager.Options{
		Scheme:                  scheme,
		Logger:                  logr.FromSlogHandler(opts.Log.Handler()),
		HealthProbeBindAddress:  orOff(opts.HealthAddr),
		Metrics:                 metricsserver.Options{BindAddress: orOff(opts.MetricsAddr)},
		GracefulShutdownTimeout: new(shutdownTimeout),
		LeaderElection:          opts.LeaderElect,
		LeaderElectionID:        operatorName,
		LeaderElectionNamespace: opts.Namespace,
		// The manager releases the Lease only after all runs have ended.
		LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&v1.Stack{}: {Transform: trimStack}},
		},
		Controller: config.Controller{
			// The priority queue can deadlock on shutdown while a worker runs a program (seen
			// with v0.24.1): it hands an item to a worker that has returned, and holds the lock
			// that the end of the run needs. The operator does not need priorities here, because
			// slots order the runs.
			UsePriorityQueue: new(false),
			// Run may be called more than once in a process.
			SkipNameValidation: new(true),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return mgr, nil
}

func orOff(address string) string {
	if address == "" {
		return "0"
	}
	return address
}
