package controller

import (
	"fmt"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// newManager returns the manager that runs the controllers, with a client and a cache for the operator's kinds only.
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
