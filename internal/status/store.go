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

// store holds the objects of a kind as they were last seen. It is a cache.ReflectorStore.
type store struct {
	kind kind
	// known is closed once the kind was listed, or could not be.
	known   chan struct{}
	changed chan<- struct{}

	mu      sync.Mutex
	objects map[key]*unstructured.Unstructured
	// err is why the kind could not be listed, nil where it was.
	err    error
	listed bool
}

// againAfter is how long after a watch has ended a kind is listed again. A kind that is missing comes with its layer.
const againAfter = time.Second

// keep keeps the store as the cluster is until ctx ends.
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
		// The annotations of a bookmark are the API server's.
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

// tell says that there is something new. The lock is held.
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

// Add keeps an object.
func (s *store) Add(o any) error {
	content := contentOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[s.keyOf(content)] = content
	s.tell()
	return nil
}

// Update keeps what has become of an object.
func (s *store) Update(o any) error { return s.Add(o) }

// Delete drops an object.
func (s *store) Delete(o any) error {
	content := contentOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, s.keyOf(content))
	s.tell()
	return nil
}

// Replace keeps the objects of a list and no others.
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

// Resync does nothing: nobody asks for it.
func (*store) Resync() error { return nil }

func (s *store) keyOf(o *unstructured.Unstructured) key {
	return key{s.kind.name, o.GetNamespace(), o.GetName()}
}
