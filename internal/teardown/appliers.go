package teardown

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status/message"
)

// endAppliers deletes the Kustomizations and HelmReleases in namespaces, and waits for their deletion.
func (c *Cluster) endAppliers(ctx context.Context, waiting Waiting, names []string) error {
	return c.gone(ctx, waiting, func(ctx context.Context) ([]remaining, error) {
		var left []remaining
		for _, name := range names {
			found, err := c.leftAppliers(ctx, name, "")
			if err != nil {
				return nil, err
			}
			left = append(left, found...)
		}
		return left, nil
	})
}

// emptyPlatform deletes the first sync, which deletes the others in the right order. It then deletes the namespaces with
// the objects that no sync applied.
func (c *Cluster) emptyPlatform(ctx context.Context, waiting Waiting) error {
	err := c.gone(ctx, waiting, func(ctx context.Context) ([]remaining, error) {
		return c.leftAppliers(ctx, c.namespaces.Platform, c.namespaces.Platform)
	})
	if err != nil {
		return err
	}
	return c.deleteNamespaces(ctx, waiting, []string{c.namespaces.Operator, c.namespaces.Platform}, c.unhindered())
}

// leftAppliers deletes the Kustomizations and HelmReleases in a namespace. As long as the one named first exists, it
// deletes only that one.
func (c *Cluster) leftAppliers(ctx context.Context, namespace, first string) ([]remaining, error) {
	var left []remaining
	hasFirst := false
	for _, kind := range appliers {
		objects, err := c.list(ctx, kind, namespace)
		if err != nil {
			return nil, err
		}
		hasFirst = hasFirst || slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool { return o.GetName() == first })
		for _, object := range objects {
			waits := hasFirst && object.GetName() != first
			if !waits {
				if err := c.remove(ctx, kind, &object); err != nil {
					return nil, err
				}
			}
			left = append(left, remaining{
				name: describe(&object), state: fmt.Sprint(object.GetDeletionTimestamp() != nil, len(objects)),
				blocker: func(context.Context) []Blocker {
					if waits {
						return nil // It waits for the first one, which has its own entry.
					}
					return []Blocker{c.applierBlocker(&object)}
				},
			})
		}
	}
	return left, nil
}

// applierBlocker explains why a deleted Kustomization or HelmRelease still exists.
func (c *Cluster) applierBlocker(object *unstructured.Unstructured) Blocker {
	reason, said := "its deletion does not finish", readyMessage(object)
	if keeps := object.GetFinalizers(); len(keeps) > 0 {
		reason = fmt.Sprintf("its finalizer %s has not removed the objects that it applied", strings.Join(keeps, ", "))
	}
	if said == "" {
		said = "its controller reports nothing"
	}
	return Blocker{Object: describe(object), Reason: reason + ": " + said, Next: c.orPurge("see `" + c.options.FluxLogs + "`, fix the cause and run this again")}
}

func readyMessage(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == "Ready" && condition["status"] != "True" {
			text, _ := condition["message"].(string)
			return message.OneLine(text)
		}
	}
	return ""
}
