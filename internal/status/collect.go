package status

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

// Look is the signature that Collect and Watch.Report share.
type Look func(ctx context.Context, config *rest.Config, scope Scope) (Report, error)

// Collect reads every object of the layers in the cluster of config, and reports on them together with scope.Below. It
// changes nothing. It needs only the permission to list.
func Collect(ctx context.Context, config *rest.Config, scope Scope) (Report, error) {
	clients, err := newClients(config)
	if err != nil {
		return Report{}, err
	}
	f, err := clients.look(ctx)
	if err != nil {
		return Report{}, err
	}
	return reportOn(f, scope), nil
}

func reportOn(f *snapshot, scope Scope) Report {
	w := newWorld(f, scope)
	w.judge()
	return w.report()
}

// clients are the API clients of a cluster.
type clients struct {
	full  dynamic.Interface
	names metadata.Interface
}

func newClients(config *rest.Config) (clients, error) {
	full, err := dynamic.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("look at the cluster: %w", err)
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return clients{}, fmt.Errorf("look at the cluster: %w", err)
	}
	return clients{full, names}, nil
}

// warnings are the events that explain failures; they are listed like a kind.
var warnings = kind{name: "Event", gvr: schema.GroupVersionResource{Version: "v1", Resource: "events"}}

// selectWarnings is the field selector of warnings.
const selectWarnings = "type=Warning"

// look lists all kinds. A kind that the cluster does not know yet has no objects.
func (c clients) look(ctx context.Context) (*snapshot, error) {
	f := &snapshot{}
	var errs [len(kinds)]error
	var all sync.WaitGroup
	for i, k := range kinds {
		all.Go(func() { f.objects[i], errs[i] = c.listAll(ctx, k) })
	}
	all.Wait()
	for i, k := range kinds {
		f.served[i] = errs[i] == nil
		if errs[i] != nil && !apierrors.IsNotFound(errs[i]) {
			return nil, fmt.Errorf("list %s: %w", k.gvr.Resource, errs[i])
		}
	}
	f.warnings = func() []*unstructured.Unstructured {
		// Without the events the report has fewer explanations, but is still correct.
		list, _ := c.listAll(ctx, warnings)
		return list
	}
	return f, nil
}

// pageSize is the number of objects in one response of the API server. A team's objects have up to 1.5 MB each, and trim
// keeps only a part of them.
const pageSize = 100

func (c clients) listAll(ctx context.Context, k kind) ([]*unstructured.Unstructured, error) {
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

// list returns a page of trimmed objects. For a kind that needs names only, the objects have only metadata.
func (c clients) list(ctx context.Context, k kind, options metav1.ListOptions) (runtime.Object, error) {
	if k.name == warnings.name {
		options.FieldSelector = selectWarnings
	}
	if k.nameOnly {
		page, err := c.names.Resource(k.gvr).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			trim(&page.Items[i])
		}
		return page, nil
	}
	page, err := c.full.Resource(k.gvr).List(ctx, options)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		trim(&page.Items[i])
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
