// Package plans completes Plans: it computes what the Stacks of a commit would do to their resources before anybody has reviewed the
// commit.
//
// The operator asks the API server, as the account that Flux applies the team's repository under, how admission would change the
// commit's objects, by a dry run. It then runs a preview of each Stack that the commit changes. The preview gets no secret: it runs as
// an account that only reads, from a copy of the state without secrets, with placeholders in place of all values from Secrets, and it
// reaches no address except the API server and, for look-ups in Google Cloud, this operator.
package plans

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/google"
	"github.com/strata-platform/strata/operator/controller/notices"
	"github.com/strata-platform/strata/operator/controller/plans/repository"
	"github.com/strata-platform/strata/operator/controller/plans/turns"
	"github.com/strata-platform/strata/operator/controller/queue"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/engine"
)

const (
	// Kept is the number of Plans that a namespace keeps. The operator deletes the older ones.
	Kept = 20

	// runLimit is the time limit of the preview of one Stack, and planLimit that of all previews of a Plan. The wait for slots does not
	// count.
	runLimit, planLimit = 5 * time.Minute, 15 * time.Minute

	// beginLimit is the time limit of the dry runs of a Plan's objects.
	beginLimit = 2 * time.Minute

	// retry is the wait of a Plan that finds no free slot, or that waits for another Plan of its namespace.
	retry = turns.Retry

	// again is the wait between two steps of a Plan: other namespaces get their turn in between.
	again = time.Millisecond
)

// Runner runs previews: an [engine.Engine].
type Runner interface {
	Run(ctx context.Context, req engine.Request) (*engine.Result, error)
}

// Options are what the controller of Plans shares with the controller of Stacks. All fields are required, except as noted.
type Options struct {
	// Client reads and writes without a cache. It requests tokens.
	Client client.Client

	// Config is the connection to the cluster, for requests of the teams' accounts and for the kubeconfigs of previews.
	Config *rest.Config

	Engine Runner
	Slots  *slots.Slots
	Claims *claims.Claims

	// Repositories fetches programs that come from repositories and artifacts. The zero value fetches none.
	Repositories repository.Finder

	// Google is the operator's identity for what previews look up in Google Cloud. The zero value means none.
	Google google.Identity

	// Hide returns what a plan sees in place of a secret value, such as [engine.Engine.Hide].
	Hide func(value string) string

	// Backends is the root of file backends. Empty means that there are none.
	Backends string

	// Events is the URL of the server of events of Flux's notification-controller, which puts results on commits. Empty means that nothing
	// does.
	Events string

	// Unconfined says why previews are not isolated. Plans then fail, because nobody has reviewed their code. Nil means that they are
	// isolated.
	Unconfined error
}

// Add adds the controller of Plans to a manager. Without the kind Plan in the cluster, the controller waits for it.
func Add(mgr manager.Manager, opts Options) error {
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("connect to the cluster for the kind of Plans: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("connect to the cluster for Plans: %w", err)
	}
	log := mgr.GetLogger().WithName("plans")
	r := &reconciler{Options: opts, log: log, kinds: kinds}
	if opts.Events != "" {
		if r.notices, err = notices.Add(mgr, opts.Client, opts.Events); err != nil {
			return err
		}
	}
	watch := &watch{discovery: kinds, metadata: objects, known: &r.known, log: log, fed: make(chan struct{})}
	party := func(of types.NamespacedName) string { return of.Namespace }
	options := queue.Options(queue.Workers, party, func(*queue.Fair[types.NamespacedName]) {})
	options.Reconciler = r
	options.LogConstructor = func(of *types.NamespacedName) logr.Logger {
		if of == nil {
			return log
		}
		return log.WithValues("plan", of.String())
	}
	handler, err := controller.NewTyped("plan-controller", mgr, options)
	if err == nil {
		err = handler.Watch(source.TypedFunc[types.NamespacedName](watch.feed))
	}
	if err == nil {
		err = mgr.Add(watch)
	}
	if err != nil {
		return fmt.Errorf("set up the controller of Plans: %w", err)
	}
	return nil
}

// reconciler completes Plans.
type reconciler struct {
	Options
	log   logr.Logger
	kinds discovery.DiscoveryInterface
	known known
	turns turns.Turns

	// notices sends results. It is nil if nothing does.
	notices *notices.Notices

	mu sync.Mutex
	// active holds the Plan that each namespace works on: one at a time, so that a team with many Plans takes one slot.
	active map[string]*work
}

// Reconcile implements reconcile.TypedReconciler.
func (r *reconciler) Reconcile(ctx context.Context, of types.NamespacedName) (reconcile.Result, error) {
	wait, err := r.reconcile(ctx, of)
	switch {
	case ctx.Err() != nil:
		// The operator ends. The next one begins the Plan again.
		return reconcile.Result{}, nil
	case err != nil:
		// controller-runtime logs and counts the error and retries with a backoff.
		return reconcile.Result{}, report.Error{Err: err}
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// claim makes a Plan the one that its namespace works on. It returns nil while the namespace works on another one.
func (r *reconciler) claim(of types.NamespacedName, uid types.UID) *work {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == nil {
		r.active = map[string]*work{}
	}
	w := r.active[of.Namespace]
	if w == nil || w.key == of && w.uid != uid {
		w = &work{key: of, uid: uid}
		r.active[of.Namespace] = w
	}
	if w.key != of {
		return nil
	}
	return w
}

// release ends the work on a Plan, if its namespace works on it.
func (r *reconciler) release(of types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.active[of.Namespace]; w != nil && w.key == of {
		delete(r.active, of.Namespace)
	}
}
