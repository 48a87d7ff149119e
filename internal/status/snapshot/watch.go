package snapshot

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Watch returns the same snapshots as Take, but lists all objects only once and then watches them for changes. Its zero
// value is ready for use; Stop ends it.
type Watch struct {
	mu sync.Mutex
	// current is the running watch, nil before the first snapshot and after a failure of the cluster.
	current *watching
	changed chan struct{}
}

// Changed returns a channel that receives a value after a change of the cluster. Several changes may send only one value.
func (w *Watch) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes()
}

func (w *Watch) changes() chan struct{} {
	if w.changed == nil {
		w.changed = make(chan struct{}, 1)
	}
	return w.changed
}

// Snapshot returns the current state of the watch, which may lag behind the cluster by moments. A caller that must be sure
// calls Take as well. The first call waits until all objects are listed. An error means that the cluster does not answer;
// the next call then starts a new watch.
func (w *Watch) Snapshot(ctx context.Context, config *rest.Config) (*Snapshot, error) {
	if err := ping(ctx, config); err != nil {
		w.Stop()
		return nil, err
	}
	now, err := w.begin(config)
	if err != nil {
		return nil, err
	}
	s, err := now.snapshot(ctx)
	if err != nil {
		w.Stop()
		return nil, err
	}
	return s, nil
}

// ping sends a request to the cluster's API and returns its error. The watch itself would retry silently.
func ping(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err == nil {
		err = client.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	return nil
}

// begin starts a watch of a cluster, unless one is running, and returns the running one.
func (w *Watch) begin(config *rest.Config) (*watching, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil && w.current.host == config.Host {
		return w.current, nil
	}
	w.stop()
	clients, err := newClients(config)
	if err != nil {
		return nil, err
	}
	w.current = clients.watch(config.Host, w.changes())
	return w.current, nil
}

// Stop ends the watch, and waits for its end.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
}

func (w *Watch) stop() {
	if w.current != nil {
		w.current.end()
		w.current = nil
	}
}

// watching is a watch of one cluster.
type watching struct {
	host string
	// stores are the stores of Kinds, followed by the store of the warnings.
	stores []*store
	// end stops the watch, and waits for its goroutines.
	end func()
}

// watch starts a watch of all kinds. changed receives a value after a change.
func (c clients) watch(host string, changed chan struct{}) *watching {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watching{host: host}
	var running sync.WaitGroup
	for _, k := range append(Kinds[:len(Kinds):len(Kinds)], warnings) {
		s := &store{kind: k, objects: map[Key]*unstructured.Unstructured{}, known: make(chan struct{}), changed: changed}
		w.stores = append(w.stores, s)
		running.Go(func() { s.run(ctx, c) })
	}
	w.end = func() { cancel(); running.Wait() }
	return w
}

// snapshot returns the objects of the stores. It waits until each kind is listed.
func (w *watching) snapshot(ctx context.Context) (*Snapshot, error) {
	snapshot := newSnapshot()
	for _, s := range w.stores {
		select {
		case <-s.known:
		case <-ctx.Done():
			return nil, fmt.Errorf("list %s: %w", s.kind.Resource.Resource, ctx.Err())
		}
		objects, err := s.list()
		if s.kind.Name == warnings.Name {
			snapshot.Warnings = func() []*unstructured.Unstructured { return objects }
			continue
		}
		if err := snapshot.add(s.kind, objects, err); err != nil {
			return nil, err
		}
	}
	return snapshot, nil
}
