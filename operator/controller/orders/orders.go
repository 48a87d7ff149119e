// Package orders turns the orders of teams into Stacks of the platform, and copies the results to the teams.
//
// An order is an object of a kind of the group catalogue.strata.dev in a team's namespace. Its Stack runs the Program of
// the kind's entry, in the entry's namespace and under the entry's account. The team has no rights there.
package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/catalogue"
)

const (
	// Finalizer keeps a deleted order until its Stack is gone.
	Finalizer = catalogue.Group + "/order"

	// HopLabel marks objects in a team's namespace that belong to the platform. The admission policy strata-hops keeps the
	// team from changing them.
	HopLabel = "strata.dev/hop"

	// fieldOwner is the owner of the fields that this package applies.
	fieldOwner = "strata-catalogue"
)

const (
	// kindsPoll is how often the controller looks for new kinds. It reads one small document.
	kindsPoll = 5 * time.Second

	// workers is the number of orders that the controller handles at once. No step of it waits.
	workers = 2

	firstErrorRetry   = 500 * time.Millisecond
	longestErrorRetry = 30 * time.Second
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

// Controller handles the orders of all kinds. It is a Runnable of a manager.
type Controller struct {
	// client reads from the API server, without a cache: a decision on old data would be wrong, and orders are too rare to
	// need a cache. Only the number of orders comes from the watches, in known.
	client    client.Client
	discovery discovery.DiscoveryInterface
	metadata  metadata.Interface
	log       *slog.Logger
	queue     workqueue.TypedRateLimitingInterface[key]
	known     known
}

// New returns a controller for the cluster of config. direct must read from the API server, without a cache.
func New(config *rest.Config, direct client.Client, log *slog.Logger) (*Controller, error) {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster for the kinds of the catalogue: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster for orders: %w", err)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](firstErrorRetry, longestErrorRetry)
	return &Controller{client: direct, discovery: found, metadata: objects, log: log, queue: workqueue.NewTypedRateLimitingQueue(limiter)}, nil
}

// Start handles orders until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	watches := newWatches(ctx, c.metadata, c.queue, &c.known, c.log)
	defer watches.close()
	done := make(chan struct{})
	for range workers {
		go func() {
			for c.next(ctx) {
			}
			done <- struct{}{}
		}()
	}
	ticker := time.NewTicker(kindsPoll)
	defer ticker.Stop()
	for {
		kinds, err := c.kinds()
		if err == nil {
			watches.keep(kinds)
		} else if ctx.Err() == nil {
			c.log.Warn("listing the kinds of the catalogue failed; the operator retries", "error", err)
		}
		select {
		case <-ctx.Done():
			c.queue.ShutDown()
			for range workers {
				<-done
			}
			return nil
		case <-ticker.C:
		}
	}
}

// next handles one order. It returns false when the queue has shut down.
func (c *Controller) next(ctx context.Context) bool {
	order, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(order)
	wait, err := c.reconcile(ctx, order)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !errors.Is(err, errRace) {
			c.log.Error("handling an order failed; the operator retries", "order", order.String(), "error", err)
		}
		c.queue.AddRateLimited(order)
	default:
		c.queue.Forget(order)
		if wait > 0 {
			c.queue.AddAfter(order, wait)
		}
	}
	return true
}
