// Package follow keeps the gateway's state up to date with the objects of a cluster.
package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-platform/strata/internal/local/machine/network"
)

// pause is the least time between two updates. Objects of a cluster change in groups, such as the pods of a Deployment
// with their EndpointSlice.
const pause = 10 * time.Millisecond

// Run calls update with the objects of the factory's informers, once at the start and after every change, until ctx ends.
// Then it returns nil. It starts the factory, which the caller may share with others. `synced`, if not nil, runs once,
// after the first update.
func Run(ctx context.Context, factory informers.SharedInformerFactory, update func(network.State), synced func()) error {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() }}
	var waits []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Services().Informer(),
		factory.Discovery().V1().EndpointSlices().Informer(),
		factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Namespaces().Informer(),
		factory.Networking().V1().NetworkPolicies().Informer(),
	} {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("follow the objects of the pods' network: %w", err)
		}
		defer func() {
			// The informer may have stopped together with ctx.
			_ = informer.RemoveEventHandler(registration)
		}()
		waits = append(waits, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), waits...) {
		return nil
	}
	for {
		state, err := read(factory)
		if err != nil {
			return fmt.Errorf("follow the objects of the pods' network: %w", err)
		}
		update(state)
		if synced != nil {
			synced()
			synced = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// read returns the objects in the informers' caches, which no one modifies.
func read(factory informers.SharedInformerFactory) (network.State, error) {
	all := labels.Everything()
	services, err := factory.Core().V1().Services().Lister().List(all)
	slices, err2 := factory.Discovery().V1().EndpointSlices().Lister().List(all)
	pods, err3 := factory.Core().V1().Pods().Lister().List(all)
	namespaces, err4 := factory.Core().V1().Namespaces().Lister().List(all)
	policies, err5 := factory.Networking().V1().NetworkPolicies().Lister().List(all)
	return network.State{Services: services, EndpointSlices: slices, Pods: pods, Namespaces: namespaces, Policies: policies},
		errors.Join(err, err2, err3, err4, err5)
}
