package status

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

// store holds the last seen objects of a kind. It implements cache.ReflectorStore.
type store struct {
	kind kind
	// known is closed when the first list has succeeded or failed.
	known   chan struct{}
	changed chan<- struct{}

	mu      sync.Mutex
	objects map[key]*unstructured.Unstructured
	// err is the error of a failed list, nil after a successful one.
	err    error
	listed bool
}

// againAfter is the delay between the end of a watch and the next list. A missing kind appears with its layer.
const againAfter = time.Second

// keep keeps the store in sync with the cluster until ctx ends.
func (s *store) keep(ctx context.Context, c clients) {
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
		cache.ReflectorOptions{Name: s.kind.name, Logger: &silent})
	reflector.WatchListPageSize = pageSize
	for ctx.Err() == nil {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			s.fail(err)
		}
		select {
		case <-time.After(againAfter):
		case <-ctx.Done():
		}
	}
}

func (c clients) watchOne(ctx context.Context, k kind, options metav1.ListOptions) (watch.Interface, error) {
	if k.name == warnings.name {
		options.FieldSelector = selectWarnings
	}
	begin := c.full.Resource(k.gvr).Watch
	if k.nameOnly {
		begin = c.names.Resource(k.gvr).Watch
	}
	events, err := begin(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
		// A bookmark must keep the annotations that the API server set.
		if e.Type == watch.Added || e.Type == watch.Modified || e.Type == watch.Deleted {
			trim(e.Object)
		}
		return e, true
	}), nil
}

func (s *store) list() ([]*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*unstructured.Unstructured, 0, len(s.objects))
	for _, o := range s.objects {
		list = append(list, o)
	}
	return list, s.err
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
	s.err = err
	s.tell()
}

// tell signals a change. The caller holds the lock.
func (s *store) tell() {
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
	s.tell()
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
	s.tell()
	return nil
}

// Replace stores the objects of a list and removes all others.
func (s *store) Replace(list []any, _ string) error {
	objects := make(map[key]*unstructured.Unstructured, len(list))
	for _, o := range list {
		content := contentOf(o)
		objects[s.keyOf(content)] = content
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects, s.err = objects, nil
	s.tell()
	return nil
}

// Resync does nothing, because the store has no consumers that need a resync.
func (*store) Resync() error { return nil }

func (s *store) keyOf(o *unstructured.Unstructured) key {
	return key{s.kind.name, o.GetNamespace(), o.GetName()}
}
