// Package controller implements the operator: it keeps every Stack applied by
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
	"github.com/strata-platform/strata/operator/engine"
)

const (
	// shutdownTimeout is how long runs may take to stop in good order.
	shutdownTimeout = 90 * time.Second

	// defaultRunTimeout is how long a run may take where nothing else is said.
	defaultRunTimeout = 15 * time.Minute
)

// Options says how the operator runs.
type Options struct {
	// Config is how the cluster is reached; nil takes KUBECONFIG or, in a pod, the
	// pod's own service account.
	Config *rest.Config

	// HealthAddr serves /healthz and /readyz, MetricsAddr serves /metrics. Nothing
	// is served on an empty address.
	HealthAddr, MetricsAddr string

	// MaxConcurrent is how many Stacks run at once. Zero means the number of
	// processors, at least two. Up to 32 runs within their namespace's share may begin
	// beyond it.
	MaxConcurrent int

	// RunMemory is how many bytes of memory must be free for the first run of a
	// namespace to begin beside others, and twice as many for a further one; 512 MiB
	// when zero.
	RunMemory int64

	// RunTimeout is how long a run may take before it is stopped in good order, where
	// the namespace's TenantPolicy says nothing; 15 minutes when zero.
	RunTimeout time.Duration

	// ReportEvery is how often the conditions of a Stack say what its run waits for; a
	// minute when zero.
	ReportEvery time.Duration

	// Namespace is the operator's own. Secrets in it keep what destroying a Stack
	// takes, for when the Secrets that the Stack refers to are gone before it. When
	// empty nothing is kept, and such a Stack stays until they are back.
	Namespace string

	// PassEnv lists the variables of the operator's environment that every run
	// gets. A name may hold the wildcards of [path.Match]. PATH should be among
	// them: pulumi and its plugins are found on it.
	PassEnv []string

	// WorkDir holds the folders of runs and nothing else: what a killed operator
	// left there is ended and removed at the start. When empty, a folder for
	// temporary files that no living process uses.
	WorkDir string

	// FileBackendRoot holds the state of Stacks with a file backend: those of a
	// namespace in the folder of its name and nowhere else. Without it every file
	// backend is refused.
	FileBackendRoot string

	// RunEndpoints are the addresses (HOST:PORT) that runs reach beside the API server
	// of the cluster. When empty, runs share the operator's network.
	RunEndpoints []string

	// Log receives the operator's log; nothing is logged when nil.
	Log *slog.Logger
}

// Run runs the operator until ctx ends. Updates that are under way then are
// stopped in good order.
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
	opts.RunMemory = cmp.Or(opts.RunMemory, defaultRunMemory)
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
		// Runs go on without it, at the price of starting each plugin more often.
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
	defer stacks.slots.close()
	defer stacks.lookups.close()
	stacks.engine, stacks.unconfined = runner, unconfined
	unregister, err := stacks.metrics.register()
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

// runEndpoints returns what runs reach: the API server and the endpoints of the options;
// nothing where the options have none.
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

// newStackReconciler makes the parts that reconciliations share.
func newStackReconciler(mgr manager.Manager, opts Options) (*stackReconciler, *waker, error) {
	objects, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the cluster for metadata: %w", err)
	}
	wake := newWaker()
	slots := newSlots(opts.MaxConcurrent, roomFor(opts.RunMemory), wake.wake)
	slots.beyond, slots.turn = runsBeyond, runTurn
	return &stackReconciler{
		client:     mgr.GetClient(),
		reader:     mgr.GetAPIReader(),
		config:     mgr.GetConfig(),
		recorder:   mgr.GetEventRecorder("pulumi-operator"),
		slots:      slots,
		lookups:    newLookups(wake.wake),
		dependents: newDependents(objects, mgr.GetLogger().WithName("dependents"), wake.wake),
		records: &records{
			client: mgr.GetClient(), reader: mgr.GetAPIReader(), namespace: opts.Namespace, kept: map[types.NamespacedName]keptRecord{},
		},
		metrics:     newMetrics(mgr.GetCache(), slots),
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
	// The API server warns of the finalizer's name, which is upstream's, on every write.
	cluster := rest.CopyConfig(opts.Config)
	cluster.WarningHandler = rest.NoWarnings{}
	if cluster.QPS == 0 {
		// The API server itself is fair; a limit here would let many Stacks wait.
		cluster.QPS = -1
	}
	mgr, err := manager.New(cluster, manager.Options{
		Scheme:                  scheme,
		Logger:                  logr.FromSlogHandler(opts.Log.Handler()),
		HealthProbeBindAddress:  orOff(opts.HealthAddr),
		Metrics:                 metricsserver.Options{BindAddress: orOff(opts.MetricsAddr)},
		GracefulShutdownTimeout: new(shutdownTimeout),
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&v1.Stack{}: {Transform: trimStack}},
		},
		Controller: config.Controller{
			// The other kind of queue can deadlock when it is shut down while a worker runs
			// something (seen with v0.24.1): it hands an item to a worker that has left, and
			// keeps the lock that the end of the run needs. Slots see to what matters first.
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
