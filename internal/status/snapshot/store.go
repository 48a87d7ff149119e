package snapshot

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// store holds the current objects of a kind. It implements cache.ReflectorStore.
type store struct {
	kind Kind
	// known is closed when the first list has succeeded or failed.
	known chan struct{}
	// changed receives a value after a change, unless it is full.
	changed chan<- struct{}

	mu      sync.Mutex
	objects map[Key]*unstructured.Unstructured
	// err is the error of a failed list, nil after a successful one.
	err error
	// listed says that known is closed.
	listed bool
}

// relistDelay is the delay between the end of a watch and the next list. A list of a kind fails until a layer adds the kind.
const relistDelay = time.Second

// run copies the objects of the cluster into the store until ctx ends.
func (s *store) run(ctx context.Context, c clients) {
	list := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return c.list(ctx, s.kind, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return c.watchOne(ctx, s.kind, options)
		},
	}
	silent := logr.Discard()
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(list, c.full), nil, s,
		cache.ReflectorOptions{Name: s.kind.Name, Logger: &silent})
	reflector.WatchListPageSize = pageSize
	for ctx.Err() == nil {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			s.fail(err)
		}
		select {
		case <-time.After(relistDelay):
		case <-ctx.Done():
		}
	}
}

// watchOne watches a kind. The objects in its events are trimmed.
func (c clients) watchOne(ctx context.Context, k Kind, options metav1.ListOptions) (watch.Interface, error) {
	if k.Name == warnings.Name {
		options.FieldSelector = selectWarnings
	}
	begin := c.full.Resource(k.Resource).Watch
	if k.nameOnly {
		begin = c.names.Resource(k.Resource).Watch
	}
	events, err := begin(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
		// A bookmark must keep the annotations that the API server set.
		if e.Type == watch.Added || e.Type == watch.Modified || e.Type == watch.Deleted {
			Trim(e.Object)
		}
		return e, true
	}), nil
}

// list returns the objects of the store, and the error of the last list.
func (s *store) list() ([]*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*unstructured.Unstructured, 0, len(s.objects))
	for _, o := range s.objects {
		list = append(list, o)
	}
	return list, s.err
}

// fail empties the store after a failed list.
func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
	s.err = err
	s.notify()
}

// notify signals a change. The caller holds the lock.
func (s *store) notify() {
	if !s.listed {
		s.listed = true
		close(s.known)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Add stores an object.
func (s *store) Add(o any) error {
	content := contentOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[s.keyOf(content)] = content
	s.notify()
	return nil
}

// Update stores a changed object.
func (s *store) Update(o any) error { return s.Add(o) }

// Delete removes an object.
func (s *store) Delete(o any) error {
	content := contentOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, s.keyOf(content))
	s.notify()
	return nil
}

// Replace stores the objects of a list and removes all others.
func (s *store) Replace(list []any, _ string) error {
	objects := make(map[Key]*unstructured.Unstructured, len(list))
	for _, o := range list {
		content := contentOf(o)
		objects[s.keyOf(content)] = content
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.err = objects, nil
	s.notify()
	return nil
}

// Resync does nothing, because the store has no consumers that need a resync.
func (*store) Resync() error { return nil }

func (s *store) keyOf(o *unstructured.Unstructured) Key {
	return Key{s.kind.Name, o.GetNamespace(), o.GetName()}
}
