// Package notices gives the results of Plans to Flux's notification-controller, which puts them on the commits in a forge.
//
// An Alert of Flux tells about objects of Flux's own kinds only, and under --no-cross-namespace-refs only about those of its namespace. Layer
// 2 therefore creates an Alert about a Kustomization of Flux's namespace that does not exist, and names it in the TenantPolicy
// (components/hop, Notify). The event names this Kustomization, the commit, and nothing that the team has written except the name of the
// Plan, which the forge does not see.
package notices

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/controller/queue"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// workers is the number of events that are sent at the same time.
	workers = 2

	// sendLimit is the time limit of a request. notification-controller answers before it calls the forge.
	sendLimit = 10 * time.Second
)

// Notices sends the results of Plans. A Plan waits for nothing: a queue of its own sends each result until notification-controller has
// accepted it, with growing waits, as long as the Plan exists.
type Notices struct {
	client  client.Client
	address string
	http    *http.Client
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
	fed     chan struct{}
}

// Add adds the controller that sends results to a manager. address is the URL of notification-controller's server of events. c reads and
// writes without a cache.
func Add(mgr manager.Manager, c client.Client, address string) (*Notices, error) {
	n := &Notices{
		client: c, address: address, fed: make(chan struct{}),
		// A proxy of the environment is for addresses outside of the cluster. A server of events does not redirect.
		http: &http.Client{Timeout: sendLimit, Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	log := mgr.GetLogger().WithName("notices")
	options := queue.Options(workers, func(of types.NamespacedName) string { return of.Namespace }, func(*queue.Fair[types.NamespacedName]) {})
	options.Reconciler = n
	options.LogConstructor = func(of *types.NamespacedName) logr.Logger {
		if of == nil {
			return log
		}
		return log.WithValues("plan", of.String())
	}
	handler, err := controller.NewTyped("notice-controller", mgr, options)
	if err == nil {
		err = handler.Watch(source.TypedFunc[types.NamespacedName](n.feed))
	}
	if err != nil {
		return nil, fmt.Errorf("set up the controller of notices: %w", err)
	}
	return n, nil
}

// feed makes Notices feed a queue. It is a source of a controller.
func (n *Notices) feed(_ context.Context, queue workqueue.TypedRateLimitingInterface[types.NamespacedName]) error {
	n.queue = queue
	close(n.fed)
	return nil
}

// Tell sends the result of a complete Plan, unless it has been sent. A nil Notices sends nothing.
func (n *Notices) Tell(ctx context.Context, of types.NamespacedName) {
	if n == nil {
		return
	}
	select {
	case <-n.fed:
		n.queue.Add(of)
	case <-ctx.Done():
	}
}

// Reconcile implements reconcile.TypedReconciler.
func (n *Notices) Reconcile(ctx context.Context, of types.NamespacedName) (reconcile.Result, error) {
	if err := n.reconcile(ctx, of); err != nil {
		return reconcile.Result{}, report.Error{Err: err}
	}
	return reconcile.Result{}, nil
}

func (n *Notices) reconcile(ctx context.Context, of types.NamespacedName) error {
	object := planned.Object(of)
	if err := n.client.Get(ctx, of, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	p, err := plan.From(object)
	if err != nil {
		return err
	}
	complete := p.Status.Phase == plan.Ready || p.Status.Phase == plan.Failed
	// Without report, anybody who may create Plans in the namespace may have written the commit.
	if !complete || !p.Spec.Report || p.Status.Reported != nil || p.Spec.Commit == "" || p.Spec.Stack != "" {
		return nil
	}
	policy, err := tenant.NewReader(n.client.RESTMapper(), n.client, of.Namespace, func(dependents.Object) {}).Policy(ctx)
	if errors.Is(err, tenant.ErrMissing) || err == nil && (policy == nil || policy.Notify == "") {
		return nil
	}
	if err != nil {
		return err
	}
	if p.Spec.Sync != "" && !slices.Contains(policy.Accounts, p.Spec.Sync) {
		return nil // It is no Kustomization of the team's hop.
	}
	if err := n.send(ctx, eventOf(p, policy)); err != nil {
		return err
	}
	return planned.WriteReported(ctx, n.client, of, p.UID)
}

// send sends an event. notification-controller accepts it before it calls the forge, and tells nobody but its log and the Alert's events
// whether the forge has accepted the status.
func (n *Notices) send(ctx context.Context, e event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the event for the commit: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send the result to Flux: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := n.http.Do(request)
	if err != nil {
		return fmt.Errorf("send the result to Flux: %w", err)
	}
	_ = answer.Body.Close()
	// notification-controller answers "too many requests" to an event that it has accepted in the last minutes (its
	// internal/server/event_server.go): this operator, or the one before it, has not written that into the status.
	if answer.StatusCode/100 != 2 && answer.StatusCode != http.StatusTooManyRequests {
		return fmt.Errorf("send the result to Flux: notification-controller answers %s", answer.Status)
	}
	return nil
}
