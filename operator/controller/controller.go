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

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/strata-platform/strata/operator/controller/approvals"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/google"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/metrics"
	"github.com/strata-platform/strata/operator/controller/orders"
	"github.com/strata-platform/strata/operator/controller/origin"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/controller/plans/repository"
	"github.com/strata-platform/strata/operator/controller/queue"
	"github.com/strata-platform/strata/operator/controller/records"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/environ"
)

const (
	// operatorName is the name of the operator in events, of its Lease and of its account.
	operatorName = "pulumi-operator"

	// shutdownTimeout bounds how long runs may take to stop gracefully.
	shutdownTimeout = 90 * time.Second

	// defaultRunTimeout is the default of [Options.RunTimeout].
	defaultRunTimeout = 15 * time.Minute
)

// Run runs the operator until ctx ends. Run then stops the current runs gracefully.
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
	env, err := environ.Matching(os.Environ(), opts.PassEnv, ownPrefix)
	if err != nil {
		return err
	}
	if opts.WorkDir == "" {
		dir, release, err := workdir.Take(os.TempDir(), "pulumi-operator-")
		if err != nil {
			return err
		}
		defer release()
		opts.WorkDir = dir
	}
	server, err := apiServer(opts)
	if err != nil {
		return err
	}
	runner := &engine.Engine{
		Folders: &workdir.Folders{Parent: opts.WorkDir}, Env: env, Endpoints: runEndpoints(opts, server), PlanEndpoints: []string{server},
		Cache: filepath.Join(opts.WorkDir, "cache"), PlainPlans: opts.PlainPlans,
	}
	if err := runner.Folders.Clean(); err != nil {
		return err
	}
	// The preparation writes into WorkDir, so it has to end before release removes the folder.
	prepared := make(chan struct{})
	defer func() { <-prepared }()
	go func() {
		defer close(prepared)
		// Runs work without schemas, but start each plugin more often.
		if err := runner.Prepare(ctx); err != nil && ctx.Err() == nil {
			opts.Log.Warn("the schemas of plugins are not stored: runs take longer", "reason", err.Error())
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
	stacks, wake, err := newStackReconciler(mgr, opts, runner)
	if err != nil {
		return err
	}
	defer stacks.dependents.Close()
	defer stacks.slots.Close()
	defer stacks.lookups.Close()
	stacks.unconfined = unconfined
	unregister, err := stacks.metrics.Register()
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	defer unregister()
	if err := setUp(mgr, stacks, wake); err != nil {
		return err
	}
	if err := addDirect(mgr, opts, stacks); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	return nil
}

// addDirect adds the controllers of Plans and, if the options say so, of orders. Their client reads from the API server: the manager's
// client would cache every Secret of the cluster.
func addDirect(mgr manager.Manager, opts Options, stacks *stackReconciler) error {
	direct, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("connect to the cluster without a cache: %w", err)
	}
	err = plans.Add(mgr, plans.Options{
		Client: direct, Config: stacks.config, Engine: stacks.engine, Slots: stacks.slots, Claims: stacks.claims,
		Backends: stacks.backends, Unconfined: stacks.unconfined, Events: opts.EventsAddr, Hide: stacks.engine.Hide,
		Repositories: repository.New(direct, stacks.engine.Folders),
		Google:       google.Identity{Client: direct, Namespace: opts.Namespace, Account: operatorName, Endpoint: environ.Variable(stacks.engine.Env, google.EndpointVariable)},
	})
	if err != nil || !opts.Catalogue {
		return err
	}
	return orders.Add(mgr, direct)
}

// runEndpoints returns the addresses that runs can reach: the API server and the
// endpoints of the options. runEndpoints returns nil if the options have no endpoints.
func runEndpoints(opts Options, server string) []string {
	if len(opts.RunEndpoints) == 0 {
		return nil
	}
	return append([]string{server}, opts.RunEndpoints...)
}

// apiServer returns the address of the API server, HOST:PORT.
func apiServer(opts Options) (string, error) {
	server, _, err := rest.DefaultServerUrlFor(opts.Config)
	if err != nil {
		return "", fmt.Errorf("find the API server that runs reach: %w", err)
	}
	return net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443")), nil
}

// newStackReconciler creates the objects that all reconciliations share.
func newStackReconciler(mgr manager.Manager, opts Options, runner *engine.Engine) (*stackReconciler, *queue.Waker, error) {
	objects, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the cluster for metadata: %w", err)
	}
	wake := queue.NewWaker()
	runs := slots.ForRuns(opts.MaxConcurrent, opts.RunMemory, orders.Party, wake.Wake)
	lookups := lookup.New(wake.Wake)
	return &stackReconciler{
		client:      mgr.GetClient(),
		reader:      mgr.GetAPIReader(),
		config:      mgr.GetConfig(),
		engine:      runner,
		slots:       runs,
		lookups:     lookups,
		origins:     origin.NewFinder(mgr.GetAPIReader(), lookups, runner.Folders),
		claims:      claims.New(mgr.GetClient(), mgr.GetAPIReader()),
		approvals:   approvals.New(mgr.GetClient(), mgr.GetAPIReader()),
		events:      report.NewEvents(mgr.GetEventRecorder(operatorName)),
		dependents:  dependents.New(objects, mgr.GetLogger().WithName("dependents"), wake.Wake),
		records:     records.New(mgr.GetClient(), mgr.GetAPIReader(), opts.Namespace),
		metrics:     metrics.New(mgr.GetCache(), runs.Busy),
		running:     wake.Release,
		backends:    opts.FileBackendRoot,
		runTimeout:  opts.RunTimeout,
		reportEvery: opts.ReportEvery,
		driftEvery:  opts.DriftEvery,
		runRecords:  opts.RunRecords,
	}, wake, nil
}
