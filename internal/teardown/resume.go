package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// manager is the field manager of the field spec.suspend, so that Resume reverts only the suspensions of a teardown.
const manager = "strata-down"

// suspend suspends the Kustomizations and HelmReleases in namespaces. It starts with those that apply others, which could
// otherwise resume them.
func (c *Cluster) suspend(ctx context.Context, in []string) error {
	for _, applied := range []bool{false, true} {
		err := c.eachApplier(ctx, in, func(kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
			_, isApplied := object.GetLabels()[appliedLabel]
			is, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
			if is || isApplied != applied {
				return nil
			}
			return c.apply(ctx, kind, object, map[string]any{"suspend": true})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// appliedLabel is the label with the name of the Kustomization that applied an object.
const appliedLabel = "kustomize.toolkit.fluxcd.io/name"

// Suspended reports whether an interrupted teardown has left a suspended object.
func (c *Cluster) Suspended(ctx context.Context) (is bool, err error) {
	err = c.eachApplier(ctx, c.withFlux(), func(_ schema.GroupVersionResource, object *unstructured.Unstructured) error {
		is = is || suspendedByTeardown(object)
		return nil
	})
	return is, err
}

// suspendedByTeardown reports whether a teardown has suspended an object.
func suspendedByTeardown(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}

// resume reverts the suspensions of a teardown.
func (c *Cluster) resume(ctx context.Context, in []string) error {
	return c.eachApplier(ctx, in, func(kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
		if !suspendedByTeardown(object) {
			return nil
		}
		return c.apply(ctx, kind, object, nil)
	})
}

// withFlux returns the namespaces that Empty deletes, and Flux's namespace.
func (c *Cluster) withFlux() []string { return append(c.own(), c.namespaces.Flux) }

// Resume reverts the effects of an interrupted teardown as far as possible: it waits for pending deletions, and lets Flux
// apply again. Layer 2 must then create the deleted objects again. The error is Blocked if a deletion does not finish. A
// Stack whose deletion does not finish is no error: Flux creates it again once it is gone.
func (c *Cluster) Resume(ctx context.Context, waiting Waiting) error {
	// If Flux applied such a Stack now, it would change nothing, and then wait for minutes for the health of a deleted
	// object.
	var blocked *Blocked
	if err := c.gone(ctx, waiting, c.leavingStacks); err != nil && !errors.As(err, &blocked) {
		return err
	}
	left := func(ctx context.Context) ([]remaining, error) { return c.leftDeleted(ctx, c.own()) }
	if err := c.gone(ctx, waiting, left); err != nil {
		return err
	}
	return c.resume(ctx, c.withFlux())
}

// leftDeleted returns the namespaces of the platform and of its teams that are being deleted, and the Kustomizations and
// HelmReleases in the given namespaces that are being deleted.
func (c *Cluster) leftDeleted(ctx context.Context, in []string) ([]remaining, error) {
	objects, err := c.list(ctx, namespaces, "")
	if err != nil {
		return nil, err
	}
	var left []remaining
	for _, object := range objects {
		if slices.Contains(c.withFlux(), object.GetName()) && object.GetDeletionTimestamp() != nil {
			left = append(left, remaining{
				name: describe(&object), state: fmt.Sprint(contentConditions(&object)),
				blocker: func(ctx context.Context) []Blocker { return c.namespaceBlockers(ctx, &object) },
			})
		}
	}
	err = c.eachApplier(ctx, in, func(_ schema.GroupVersionResource, object *unstructured.Unstructured) error {
		if object.GetDeletionTimestamp() != nil {
			left = append(left, remaining{
				name: describe(object), blocker: func(context.Context) []Blocker { return []Blocker{c.applierBlocker(object)} },
			})
		}
		return nil
	})
	return left, err
}

func (c *Cluster) eachApplier(ctx context.Context, in []string, do func(schema.GroupVersionResource, *unstructured.Unstructured) error) error {
	for _, kind := range appliers {
		objects, err := c.list(ctx, kind, "")
		if err != nil {
			return err
		}
		for i := range objects {
			if !slices.Contains(in, objects[i].GetNamespace()) {
				continue
			}
			if err := do(kind, &objects[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply applies these fields of an object's spec as the manager. The manager then owns these fields and no others.
func (c *Cluster) apply(ctx context.Context, kind schema.GroupVersionResource, object *unstructured.Unstructured, spec map[string]any) error {
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(),
		"metadata": map[string]any{"name": object.GetName(), "namespace": object.GetNamespace(), "uid": string(object.GetUID())},
	}}
	if spec != nil {
		wanted.Object["spec"] = spec
	}
	_, err := c.dynamic.Resource(kind).Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), wanted, metav1.ApplyOptions{FieldManager: manager, Force: true})
	if isGone(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return c.failed("suspend or resume "+describe(object), err)
	}
	return nil
}

// sharedBy lets two concurrent parts report to one Waiting, which receives the descriptions of both.
func sharedBy(waiting Waiting) func(part int) Waiting {
	var mu sync.Mutex
	said := map[int]string{}
	return func(part int) Waiting {
		return func(what string) {
			mu.Lock()
			defer mu.Unlock()
			said[part] = what
			var all []string
			for _, i := range []int{0, 1} {
				if said[i] != "" {
					all = append(all, said[i])
				}
			}
			waiting(strings.Join(all, ", "))
		}
	}
}
