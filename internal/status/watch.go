package status

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Watch returns the same reports as Collect, but lists everything only once and then watches for changes. Its zero value
// is ready for use; Stop ends it.
type Watch struct {
	mu sync.Mutex
	// current is the running watch, nil before the first report and after a failure of the cluster.
	current *watching
	changed chan struct{}
}

// Changed returns a channel that receives a value after a change since the last report. Several changes may send only one
// value.
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

// Report returns the report on the current state of the watch, which may lag behind the cluster by moments. A caller that
// must be sure calls Collect as well. The first call waits until everything is listed. After an error, which is always
// one of the cluster, the next call starts a new watch.
func (w *Watch) Report(ctx context.Context, config *rest.Config, scope Scope) (Report, error) {
	if err := answers(ctx, config); err != nil {
		w.Stop()
		return Report{}, err
	}
	now, err := w.begin(config)
	if err != nil {
		return Report{}, err
	}
	f, err := now.found(ctx)
	if err != nil {
		w.Stop()
		return Report{}, err
	}
	return reportOn(f, scope), nil
}

// answers returns the error of a request to the cluster's API, or nil. A watch would retry silently.
func answers(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err == nil {
		err = client.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("look at the cluster: %w", err)
	}
	return nil
}

// begin starts a watch of a cluster, unless one is running.
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
	// stores are the stores of kinds, followed by the store of the warnings.
	stores []*store
	end    func()
}

func (c clients) watch(host string, changed chan struct{}) *watching {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watching{host: host}
	var running sync.WaitGroup
	for _, k := range append(kinds[:len(kinds):len(kinds)], warnings) {
		s := &store{kind: k, objects: map[key]*unstructured.Unstructured{}, known: make(chan struct{}), changed: changed}
		w.stores = append(w.stores, s)
		running.Go(func() { s.keep(ctx, c) })
	}
	w.end = func() { cancel(); running.Wait() }
	return w
}

// found returns the objects seen so far, once each kind has been listed.
func (w *watching) found(ctx context.Context) (*snapshot, error) {
	f := &snapshot{}
	for i, s := range w.stores {
		select {
		case <-s.known:
		case <-ctx.Done():
			return nil, fmt.Errorf("list %s: %w", s.kind.gvr.Resource, ctx.Err())
		}
		objects, err := s.list()
		switch {
		case s.kind.name == warnings.name:
			f.warnings = func() []*unstructured.Unstructured { return objects }
		case err != nil && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("list %s: %w", s.kind.gvr.Resource, err)
		default:
			f.objects[i], f.served[i] = objects, err == nil
		}
	}
	return f, nil
}
