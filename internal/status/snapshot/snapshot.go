// Package snapshot lists the objects of a platform in a cluster, once or by a watch.
package snapshot

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// Snapshot is the state of a cluster at one moment. It contains only those parts of the objects that a report needs.
type Snapshot struct {
	// Objects maps the names of kinds to their objects, in no order.
	Objects map[string][]*unstructured.Unstructured
	// Served contains the names of the kinds that the API server serves. The others appear with the layer that adds them.
	Served map[string]bool
	// Warnings returns all events of type Warning. It may send a request.
	Warnings func() []*unstructured.Unstructured
}

func newSnapshot() *Snapshot {
	return &Snapshot{Objects: map[string][]*unstructured.Unstructured{}, Served: map[string]bool{}}
}

// add adds the result of listing a kind. A kind that the API server does not serve has no objects.
func (s *Snapshot) add(k Kind, objects []*unstructured.Unstructured, err error) error {
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list %s: %w", k.Resource.Resource, err)
	}
	s.Objects[k.Name], s.Served[k.Name] = objects, err == nil
	return nil
}

// Take lists all kinds in a cluster, in parallel. It changes nothing, and needs only the permission to list.
func Take(ctx context.Context, config *rest.Config) (*Snapshot, error) {
	c, err := newClients(config)
	if err != nil {
		return nil, err
	}
	var objects [len(Kinds)][]*unstructured.Unstructured
	var errs [len(Kinds)]error
	var all sync.WaitGroup
	for i, k := range Kinds {
		all.Go(func() { objects[i], errs[i] = c.listAll(ctx, k) })
	}
	all.Wait()
	s := newSnapshot()
	for i, k := range Kinds {
		if err := s.add(k, objects[i], errs[i]); err != nil {
			return nil, err
		}
	}
	s.Warnings = func() []*unstructured.Unstructured {
		// Without the events the report has fewer explanations, but is still correct.
		list, _ := c.listAll(ctx, warnings)
		return list
	}
	return s, nil
}

// clients are the API clients of a cluster: one for complete objects, one for their metadata.
type clients struct {
	full  dynamic.Interface
	names metadata.Interface
}

func newClients(config *rest.Config) (clients, error) {
	full, err := dynamic.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	return clients{full, names}, nil
}

// warnings are the events that explain failures; they are listed like a kind.
var warnings = Kind{Name: "Event", Resource: schema.GroupVersionResource{Version: "v1", Resource: "events"}}

// selectWarnings is the field selector of warnings.
const selectWarnings = "type=Warning"

// pageSize is the maximum number of objects in one response of the API server. A team's object may have 1.5 MB, and only
// one page is in memory before Trim shortens its objects.
const pageSize = 100

// listAll returns all objects of a kind, trimmed, in several requests.
func (c clients) listAll(ctx context.Context, k Kind) ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.list(ctx, k, options)
	})
	pages.PageSize, pages.PageBufferSize = pageSize, 1
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		list = append(list, contentOf(o))
		return nil
	})
	return list, err
}

// list returns a page of trimmed objects. The objects of a kind with nameOnly have only metadata.
func (c clients) list(ctx context.Context, k Kind, options metav1.ListOptions) (runtime.Object, error) {
	if k.Name == warnings.Name {
		options.FieldSelector = selectWarnings
	}
	if k.nameOnly {
		page, err := c.names.Resource(k.Resource).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			Trim(&page.Items[i])
		}
		return page, nil
	}
	page, err := c.full.Resource(k.Resource).List(ctx, options)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		Trim(&page.Items[i])
	}
	return page, nil
}

// contentOf returns the content of a listed or watched object.
func contentOf(o any) *unstructured.Unstructured {
	content := &unstructured.Unstructured{Object: map[string]any{}}
	switch o := o.(type) {
	case *unstructured.Unstructured:
		return o
	case *metav1.PartialObjectMetadata:
		content.SetNamespace(o.Namespace)
		content.SetName(o.Name)
		content.SetLabels(o.Labels)
		content.SetOwnerReferences(o.OwnerReferences)
		content.SetDeletionTimestamp(o.DeletionTimestamp)
	}
	return content
}
