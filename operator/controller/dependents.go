package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// blindPoll is how often the operator reconciles a Stack whose dependencies it cannot
// watch, because the watch is forbidden or the kind does not exist.
const blindPoll = time.Minute

// The first and the longest wait before the retry of a failed watch.
const (
	firstRewatch   = time.Second
	longestRewatch = 30 * time.Second
)

var (
	secretResource    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	programResource   = v1.GroupVersion.WithResource("programs")
	stackResource     = v1.GroupVersion.WithResource("stacks")
)

// scope is the scope of one watch: the objects of one resource in one namespace.
type scope struct {
	resource  schema.GroupVersionResource
	namespace string
}

// dependency is an object that Stacks depend on.
type dependency struct {
	scope
	name string
}

// dependents wakes the Stacks that depend on an object when the object changes.
//
// dependents watches metadata only, caches none of it, and watches only the namespaces
// and kinds to which some Stack refers. No cache grows with the number of Secrets, and
// the operator needs no rights outside its tenants' namespaces.
type dependents struct {
	client metadata.Interface
	log    logr.Logger
	wake   func(types.NamespacedName)

	mu      sync.Mutex
	stacks  map[scope]map[string]map[types.NamespacedName]bool
	of      map[types.NamespacedName][]dependency
	watches map[scope]*scopeWatch
	stopped bool
}

// scopeWatch is the state of a watch.
type scopeWatch struct {
	cancel context.CancelFunc

	// sees says that the watch is established.
	sees bool
}

func newDependents(client metadata.Interface, log logr.Logger, wake func(types.NamespacedName)) *dependents {
	return &dependents{
		client: client, log: log, wake: wake,
		stacks:  map[scope]map[string]map[types.NamespacedName]bool{},
		of:      map[types.NamespacedName][]dependency{},
		watches: map[scope]*scopeWatch{},
	}
}

// add records that a Stack depends on an object. Callers call it before they read the
// object, so that they miss no change after the read.
func (d *dependents) add(stack types.NamespacedName, on dependency) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.of[stack], on) {
		return
	}
	d.of[stack] = append(d.of[stack], on)
	if d.stacks[on.scope] == nil {
		d.stacks[on.scope] = map[string]map[types.NamespacedName]bool{}
		d.start(on.scope)
	}
	if d.stacks[on.scope][on.name] == nil {
		d.stacks[on.scope][on.name] = map[types.NamespacedName]bool{}
	}
	d.stacks[on.scope][on.name][stack] = true
}

// retain drops the dependencies of a Stack that are not in on.
func (d *dependents) retain(stack types.NamespacedName, on []dependency) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[stack] = slices.DeleteFunc(d.of[stack], func(old dependency) bool {
		if slices.Contains(on, old) {
			return false
		}
		names := d.stacks[old.scope]
		delete(names[old.name], stack)
		if len(names[old.name]) == 0 {
			delete(names, old.name)
		}
		if len(names) == 0 {
			delete(d.stacks, old.scope)
			if w := d.watches[old.scope]; w != nil {
				w.cancel()
				delete(d.watches, old.scope)
			}
		}
		return true
	})
	if len(d.of[stack]) == 0 {
		delete(d.of, stack)
	}
}

// blind reports whether the Stack has a dependency whose watch is not established.
func (d *dependents) blind(stack types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.of[stack], func(on dependency) bool {
		w := d.watches[on.scope]
		return w != nil && !w.sees
	})
}

// changed wakes the Stacks that depend on an object.
func (d *dependents) changed(on dependency) {
	d.mu.Lock()
	var stacks []types.NamespacedName
	for stack := range d.stacks[on.scope][on.name] {
		stacks = append(stacks, stack)
	}
	d.mu.Unlock()
	for _, stack := range stacks {
		d.wake(stack)
	}
}

// allChanged wakes the Stacks that depend on any object in the scope.
func (d *dependents) allChanged(s scope) {
	d.mu.Lock()
	var names []string
	for name := range d.stacks[s] {
		names = append(names, name)
	}
	d.mu.Unlock()
	for _, name := range names {
		d.changed(dependency{s, name})
	}
}

// close ends all watches.
func (d *dependents) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	for _, w := range d.watches {
		w.cancel()
	}
}

// start starts the watch of a scope. The manager watches Programs and Stacks.
func (d *dependents) start(s scope) {
	if d.stopped || s.resource == programResource || s.resource == stackResource {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &scopeWatch{cancel: cancel}
	d.watches[s] = w
	go d.keepWatching(ctx, s, w)
}

// keepWatching watches until ctx ends. keepWatching retries a kind that does not exist,
// so that an administrator can install Flux later.
func (d *dependents) keepWatching(ctx context.Context, s scope, w *scopeWatch) {
	wait := firstRewatch
	for ctx.Err() == nil {
		seen, err := d.watch(ctx, s, w)
		d.see(w, false)
		if seen {
			wait = firstRewatch
		}
		if err != nil && ctx.Err() == nil {
			d.log.V(1).Info("watch again after a failure", "resource", s.resource.Resource, "namespace", s.namespace, "error", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, longestRewatch)
	}
}

// watch watches a scope until the watch fails for good, and reports whether it was
// established.
func (d *dependents) watch(ctx context.Context, s scope, w *scopeWatch) (seen bool, err error) {
	objects := d.client.Resource(s.resource).Namespace(s.namespace)
	// The list only provides the resource version at which the watch begins. Reconciliations read the objects that they need.
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, err
	}
	changes, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &toolscache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	})
	if err != nil {
		return false, err
	}
	defer changes.Stop()
	d.see(w, true)
	// No event reported the changes from before the watch.
	d.allChanged(s)
	for event := range changes.ResultChan() {
		if object, ok := event.Object.(metav1.Object); ok && event.Type != watch.Bookmark {
			d.changed(dependency{s, object.GetName()})
		}
	}
	return true, nil
}

func (d *dependents) see(w *scopeWatch, sees bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.sees = sees
}
