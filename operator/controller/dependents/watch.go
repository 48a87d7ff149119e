package dependents

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// The first and the longest wait before the retry of a failed watch.
const (
	firstRewatch   = time.Second
	longestRewatch = 30 * time.Second
)

// start starts the watch of a scope. The manager watches Programs and Stacks.
func (d *Watcher) start(s Scope) {
	if d.stopped || s.Resource == Programs || s.Resource == Stacks {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchState{cancel: cancel}
	d.watches[s] = w
	go d.keepWatching(ctx, s, w)
}

// keepWatching watches until ctx ends. keepWatching retries a kind that does not exist,
// so that an administrator can install Flux later.
func (d *Watcher) keepWatching(ctx context.Context, s Scope, w *watchState) {
	wait := firstRewatch
	for ctx.Err() == nil {
		established, err := d.watch(ctx, s, w)
		d.setEstablished(w, false)
		if established {
			wait = firstRewatch
		}
		if err != nil && ctx.Err() == nil {
			d.log.V(1).Info("a watch failed and is retried", "resource", s.Resource.Resource, "namespace", s.Namespace, "error", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, longestRewatch)
	}
}

// watch watches a scope until the watch fails for good. watch reports whether it was
// established.
func (d *Watcher) watch(ctx context.Context, s Scope, w *watchState) (established bool, err error) {
	objects := d.client.Resource(s.Resource).Namespace(s.Namespace)
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
	d.setEstablished(w, true)
	// No event reported the changes from before the watch.
	d.allChanged(s)
	for event := range changes.ResultChan() {
		if object, ok := event.Object.(metav1.Object); ok && event.Type != watch.Bookmark {
			d.Changed(Object{s, object.GetName()})
		}
	}
	return true, nil
}

func (d *Watcher) setEstablished(w *watchState, established bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.established = established
}
