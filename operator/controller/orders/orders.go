// Package orders turns the orders of teams into Stacks of the platform, and copies the results to the teams.
//
// An order is an object of a kind of the group catalogue.strata.dev in a team's namespace. Its Stack runs the Program of
// the kind's entry, in the entry's namespace and under the entry's account. The team has no rights there.
package orders

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/operator/controller/queue"
	"github.com/strata-platform/strata/operator/controller/report"
)

const (
	// finalizer keeps a deleted order until its Stack is gone.
	finalizer = catalogue.Group + "/order"

	// hopLabel marks objects in a team's namespace that belong to the platform. The admission policy strata-hops keeps the
	// team from changing them.
	hopLabel = "strata.dev/hop"

	// fieldOwner is the owner of the fields that this package applies.
	fieldOwner = "strata-catalogue"
)

// Kind is a kind that teams can order, as the API server lists it.
type Kind struct {
	// Resource is the plural name of the resource, Singular the name of the entry, and Name the kind.
	Resource, Singular, Name string
}

// Account returns the account that the kind's Stacks run as. Layer 2 creates it in the kind's namespace.
func (k Kind) Account() string { return accountPrefix + k.Singular }

// Namespace returns the namespace of the kind's Stacks and of its Program.
func (k Kind) Namespace() string { return teamPrefix + k.Account() }

// teamPrefix begins the name of a team's namespace, and accountPrefix that of an entry's account.
const teamPrefix, accountPrefix = "team-", "catalogue-"

// key identifies an order.
type key struct {
	kind            Kind
	namespace, name string
}

func (k key) String() string { return k.kind.Name + " " + k.namespace + "/" + k.name }

// Add adds the controller of orders to a manager. direct must read from the API server, without a cache.
func Add(mgr manager.Manager, direct client.Client) error {
	found, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("connect to the cluster for the kinds of the catalogue: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("connect to the cluster for orders: %w", err)
	}
	log := mgr.GetLogger().WithName("orders")
	c := &reconciler{client: direct}
	watches := newWatches(found, objects, &c.known, log)
	// Each team's orders get their turn, however many another team has.
	options := queue.Options(queue.Workers, func(of key) string { return of.namespace }, func(*queue.Fair[key]) {})
	options.Reconciler = c
	options.LogConstructor = func(of *key) logr.Logger {
		if of == nil {
			return log
		}
		return log.WithValues("order", of.String())
	}
	handler, err := controller.NewTyped("order-controller", mgr, options)
	if err != nil {
		return fmt.Errorf("set up the controller of orders: %w", err)
	}
	if err := handler.Watch(source.TypedFunc[key](watches.feed)); err != nil {
		return fmt.Errorf("set up the controller of orders: %w", err)
	}
	if err := mgr.Add(watches); err != nil {
		return fmt.Errorf("set up the watches of orders: %w", err)
	}
	return nil
}

// reconciler handles orders.
type reconciler struct {
	// client reads from the API server, without a cache: a decision on old data would be wrong, and orders are too rare to
	// need a cache. Only the number of orders comes from the watches, in known.
	client client.Client
	known  known
}

// Reconcile implements reconcile.TypedReconciler.
func (c *reconciler) Reconcile(ctx context.Context, of key) (reconcile.Result, error) {
	wait, err := c.reconcile(ctx, of)
	switch {
	case ctx.Err() != nil:
		// The operator ends, and the queue still hands out its items.
		return reconcile.Result{}, nil
	case errors.Is(err, errNotSynced):
		// The watch adds every order again when it is complete.
		return reconcile.Result{}, nil
	case errors.Is(err, errRace):
		return reconcile.Result{RequeueAfter: raceRetry}, nil
	case err != nil:
		// controller-runtime logs and counts the error and retries with a backoff.
		return reconcile.Result{}, report.Error{Err: err}
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}
