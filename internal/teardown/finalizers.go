package teardown

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// unhinderedEvery is the interval of unhindered's checks of a namespace, because each check lists every kind.
const unhinderedEvery = time.Second

// unhindered returns a function that reports whether nothing can delay the end of a namespace that is being deleted: the
// namespace contains no pod and no object with a finalizer, and every kind can be listed.
func (c *Cluster) unhindered() func(ctx context.Context, namespace string) bool {
	free, checked := map[string]bool{}, map[string]time.Time{}
	return func(ctx context.Context, namespace string) bool {
		if free[namespace] || time.Since(checked[namespace]) < unhinderedEvery {
			return free[namespace]
		}
		if left, err := c.list(ctx, pods, namespace); err != nil || len(left) > 0 {
			return false
		}
		checked[namespace] = time.Now()
		finalized, err := c.finalized(ctx, namespace)
		free[namespace] = err == nil && len(finalized) == 0
		return free[namespace]
	}
}

// held returns the deleted objects in a namespace that still have finalizers. It omits kinds that cannot be listed.
func (c *Cluster) held(ctx context.Context, namespace string) []unstructured.Unstructured {
	finalized, _ := c.finalized(ctx, namespace)
	return slices.DeleteFunc(finalized, func(object unstructured.Unstructured) bool { return object.GetDeletionTimestamp() == nil })
}

// finalized returns the objects in a namespace that have finalizers, and an error if there are kinds that cannot be listed.
func (c *Cluster) finalized(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	// An API server extension that does not answer must not hide the other kinds.
	lists, failed := discovery.ServerPreferredNamespacedResources(c.discovery)
	var found []unstructured.Unstructured
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") {
				continue
			}
			objects, err := c.list(ctx, version.WithResource(resource.Name), namespace)
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			for _, object := range objects {
				if len(object.GetFinalizers()) > 0 {
					found = append(found, object)
				}
			}
		}
	}
	return found, failed
}
