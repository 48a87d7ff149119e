package teardown

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/status/message"
)

// Empty deletes the namespaces of the teams, of the platform's account and of the operator with all of their objects. It
// returns the number of these namespaces. Before that, it deletes the Kustomizations and HelmReleases there. Deleting
// those of the platform also deletes the objects that they applied: the operator, its CustomResourceDefinitions, the
// policies. Empty first destroys Stacks that were created after DestroyStacks. It keeps Flux, and the objects of layer 2
// outside these namespaces. The error is Blocked if an object cannot be deleted.
//
// Empty returns when nothing can delay the end of the namespaces any more, and does not wait for their end: the namespace
// controller waits five seconds before it deletes the first object, and layer 2 waits for the end of its namespaces anyway.
func (c *Cluster) Empty(ctx context.Context, waiting Waiting) (int, error) {
	all, err := c.Namespaces(ctx)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	if err := c.closeTeams(ctx, waiting); err != nil {
		return 0, err
	}
	say := sharedBy(waiting)
	var teams, platform error
	var group sync.WaitGroup
	group.Go(func() { teams = c.deleteNamespaces(ctx, say(0), c.namespaces.Teams, c.unhindered()) })
	group.Go(func() { platform = c.emptyPlatform(ctx, say(1)) })
	group.Wait()
	return len(all), join(teams, platform)
}

// closeTeams deletes all Stacks and their namespaces before the operator, so that nobody can create a Stack without it.
func (c *Cluster) closeTeams(ctx context.Context, waiting Waiting) error {
	if err := c.suspend(ctx, c.namespaces.Teams); err != nil {
		return err
	}
	// Flux finalizes a Kustomization or HelmRelease only when it is not reconciling it.
	if err := c.endAppliers(ctx, waiting, c.namespaces.Teams); err != nil {
		return err
	}
	// As long as its namespace is not being deleted, a Stack still has the objects that its destroy needs.
	if err := c.goneStacks(ctx, waiting, map[types.UID]bool{}); err != nil {
		return err
	}
	objects, err := c.list(ctx, namespaces, "")
	if err != nil {
		return err
	}
	for _, object := range objects {
		if slices.Contains(c.namespaces.Teams, object.GetName()) {
			if err := c.remove(ctx, namespaces, &object); err != nil {
				return err
			}
		}
	}
	// Somebody may have created another Stack until now. A namespace that is being deleted accepts no new objects.
	return c.goneStacks(ctx, waiting, map[types.UID]bool{})
}

// Namespaces returns the existing namespaces that Empty deletes.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	objects, err := c.list(ctx, namespaces, "")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, object := range objects {
		if name := object.GetName(); slices.Contains(c.own(), name) {
			found = append(found, name)
		}
	}
	return found, nil
}

// own returns the namespaces that Empty deletes.
func (c *Cluster) own() []string {
	return append(slices.Clone(c.namespaces.Teams), c.namespaces.Platform, c.namespaces.Operator)
}

// DeleteTeams deletes namespaces of teams with all of their objects. It first suspends the Kustomizations and
// HelmReleases there: Flux then does not remove their objects one by one, which fails without its account.
// DeleteTeams calls check before and after it deletes them. An error of check ends DeleteTeams; the remaining objects
// continue to work. The error is Blocked if an object cannot be deleted. Resume reverts the suspensions of an interrupted
// DeleteTeams.
func (c *Cluster) DeleteTeams(ctx context.Context, names []string, check func(context.Context) error, waiting Waiting) error {
	if err := c.suspend(ctx, names); err != nil {
		return err
	}
	if err := check(ctx); err != nil {
		if failure := c.resume(ctx, names); failure != nil {
			return fmt.Errorf("%w; Flux applies nothing there until you run this again: %w", err, failure)
		}
		return err
	}
	if err := c.endAppliers(ctx, waiting, names); err != nil {
		return err
	}
	if err := check(ctx); err != nil {
		return err
	}
	return c.deleteNamespaces(ctx, waiting, names, nil)
}

// DeleteFlux begins to delete the namespace of Flux, and does not wait for its end. The caller then uninstalls Flux, which
// removes the finalizers of Flux's objects.
func (c *Cluster) DeleteFlux(ctx context.Context) error {
	objects, err := c.list(ctx, namespaces, "")
	for _, object := range objects {
		if err == nil && object.GetName() == c.namespaces.Flux {
			err = c.remove(ctx, namespaces, &object)
		}
	}
	return err
}

// deleteNamespaces deletes namespaces, and at the same time those of their objects that take long: the namespace
// controller checks only every few seconds. It waits until each namespace is gone, or done returns true for it. A nil done
// always returns false.
func (c *Cluster) deleteNamespaces(ctx context.Context, waiting Waiting, names []string, done func(ctx context.Context, namespace string) bool) error {
	asked := map[string]bool{}
	return c.gone(ctx, waiting, func(ctx context.Context) ([]remaining, error) {
		objects, err := c.list(ctx, namespaces, "")
		if err != nil {
			return nil, err
		}
		var left []remaining
		for _, object := range objects {
			name := object.GetName()
			if !slices.Contains(names, name) {
				continue
			}
			if err := c.remove(ctx, namespaces, &object); err != nil {
				return nil, err
			}
			if !asked[name] {
				asked[name] = true
				if err := c.deleteSlow(ctx, name); err != nil {
					return nil, err
				}
			}
			if done != nil && done(ctx, name) {
				continue
			}
			left = append(left, remaining{
				name: describe(&object), state: fmt.Sprint(object.GetDeletionTimestamp() != nil, contentConditions(&object)),
				blocker: func(ctx context.Context) []Blocker { return c.namespaceBlockers(ctx, &object) },
			})
		}
		return left, nil
	})
}

func (c *Cluster) deleteSlow(ctx context.Context, namespace string) error {
	for _, kind := range slow {
		objects, err := c.list(ctx, kind, namespace)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := c.remove(ctx, kind, &object); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentConditions returns the messages about the deletion from a namespace's conditions.
func contentConditions(namespace *unstructured.Unstructured) []string {
	conditions, _, _ := unstructured.NestedSlice(namespace.Object, "status", "conditions")
	var said []string
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["status"] == "True" {
			text, _ := condition["message"].(string)
			said = append(said, message.OneLine(text))
		}
	}
	return said
}

// namespaceBlockers returns the objects whose finalizers block a namespace's deletion.
func (c *Cluster) namespaceBlockers(ctx context.Context, namespace *unstructured.Unstructured) []Blocker {
	var found []Blocker
	for _, object := range c.held(ctx, namespace.GetName()) {
		reason, first := fmt.Sprintf("its finalizer %s delays its deletion and that of its namespace", strings.Join(object.GetFinalizers(), ", ")), "let the controller of the finalizer remove it, or"
		if object.GroupVersionKind().Group == stacks.Group {
			reason += ": its resources in the cloud still exist"
			first = "let the operator destroy them, or delete them by hand and"
		}
		resource := strings.ToLower(object.GetKind())
		if group := object.GroupVersionKind().Group; group != "" {
			resource += "." + group
		}
		found = append(found, Blocker{
			Object: describe(&object),
			Reason: reason,
			Next: c.orPurge(fmt.Sprintf("%s run `%s -n %s patch %s %s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'`, then run this again",
				first, c.options.Kubectl, object.GetNamespace(), resource, object.GetName())),
		})
	}
	if len(found) > 0 {
		return found
	}
	reason := "its deletion does not finish"
	if said := contentConditions(namespace); len(said) > 0 {
		reason += ": " + strings.Join(said, "; ")
	}
	return []Blocker{{describe(namespace), reason, c.orPurge(fmt.Sprintf("see `%s get namespace %s -o yaml` and run this again", c.options.Kubectl, namespace.GetName()))}}
}
