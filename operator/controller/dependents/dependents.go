// Package dependents wakes the Stacks that depend on an object when the object changes.
package dependents

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Resources that Stacks depend on, besides the sources of Flux. The manager watches Programs and Stacks; a [Watcher] watches
// the others.
var (
	Secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	Programs   = v1.GroupVersion.WithResource("programs")
	Stacks     = v1.GroupVersion.WithResource("stacks")
)

// Scope is what one watch covers: the objects of one resource in one namespace.
type Scope struct {
	Resource  schema.GroupVersionResource
	Namespace string
}

// Any in place of a name stands for all objects of a scope.
const Any = ""

// Object is an object that Stacks depend on.
type Object struct {
	Scope
	Name string
}

// On returns the object of a resource with this namespace and name.
func On(resource schema.GroupVersionResource, namespace, name string) Object {
	return Object{Scope{resource, namespace}, name}
}

// Watcher wakes the Stacks that depend on an object when the object changes.
//
// A Watcher watches metadata only, caches none of it, and watches only the namespaces
// and kinds to which some Stack refers. No cache grows with the number of Secrets, and
// the operator needs no rights outside its tenants' namespaces.
type Watcher struct {
	client metadata.Interface
	log    logr.Logger
	wake   func(types.NamespacedName)

	mu sync.Mutex

	// stacks maps each scope and each name in it to the Stacks that depend on that object.
	// objects maps each Stack to the objects that it depends on.
	stacks  map[Scope]map[string]map[types.NamespacedName]bool
	objects map[types.NamespacedName][]Object

	watches map[Scope]*watchState
	stopped bool
}

// watchState is the state of a watch.
type watchState struct {
	cancel context.CancelFunc

	// established says that the watch reports changes.
	established bool
}

// New returns a Watcher that calls wake with each Stack that depends on a changed object. wake may be called several times
// for one change.
func New(client metadata.Interface, log logr.Logger, wake func(types.NamespacedName)) *Watcher {
	return &Watcher{
		client: client, log: log, wake: wake,
		stacks:  map[Scope]map[string]map[types.NamespacedName]bool{},
		objects: map[types.NamespacedName][]Object{},
		watches: map[Scope]*watchState{},
	}
}

// Add records that a Stack depends on an object. Callers call Add before they read the
// object, so that they miss no change after the read.
func (d *Watcher) Add(stack types.NamespacedName, on Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.objects[stack], on) {
		return
	}
	d.objects[stack] = append(d.objects[stack], on)
	if d.stacks[on.Scope] == nil {
		d.stacks[on.Scope] = map[string]map[types.NamespacedName]bool{}
		d.start(on.Scope)
	}
	if d.stacks[on.Scope][on.Name] == nil {
		d.stacks[on.Scope][on.Name] = map[types.NamespacedName]bool{}
	}
	d.stacks[on.Scope][on.Name][stack] = true
}

// Retain drops the dependencies of a Stack that are not in on.
func (d *Watcher) Retain(stack types.NamespacedName, on []Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.objects[stack] = slices.DeleteFunc(d.objects[stack], func(old Object) bool {
		if slices.Contains(on, old) {
			return false
		}
		names := d.stacks[old.Scope]
		delete(names[old.Name], stack)
		if len(names[old.Name]) == 0 {
			delete(names, old.Name)
		}
		if len(names) == 0 {
			delete(d.stacks, old.Scope)
			if w := d.watches[old.Scope]; w != nil {
				w.cancel()
				delete(d.watches, old.Scope)
			}
		}
		return true
	})
	if len(d.objects[stack]) == 0 {
		delete(d.objects, stack)
	}
}

// Blind reports whether the Stack depends on an object whose watch is not established. The
// caller then checks the objects of that Stack from time to time.
func (d *Watcher) Blind(stack types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.objects[stack], func(on Object) bool {
		w := d.watches[on.Scope]
		return w != nil && !w.established
	})
}

// Changed wakes the Stacks that depend on an object.
func (d *Watcher) Changed(on Object) {
	d.mu.Lock()
	var stacks []types.NamespacedName
	for _, name := range slices.Compact([]string{on.Name, Any}) {
		stacks = slices.AppendSeq(stacks, maps.Keys(d.stacks[on.Scope][name]))
	}
	d.mu.Unlock()
	for _, stack := range stacks {
		d.wake(stack)
	}
}

// allChanged wakes the Stacks that depend on any object in the scope.
func (d *Watcher) allChanged(s Scope) {
	d.mu.Lock()
	var names []string
	for name := range d.stacks[s] {
		names = append(names, name)
	}
	d.mu.Unlock()
	for _, name := range names {
		d.Changed(Object{s, name})
	}
}

// Close ends all watches.
func (d *Watcher) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	for _, w := range d.watches {
		w.cancel()
	}
}
