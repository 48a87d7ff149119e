package teardown

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/status/message"
)

// Orders returns the orders of the catalogue ("Database team-web/orders"), by kind, namespace and name.
func (c *Cluster) Orders(ctx context.Context) ([]Order, error) {
	objects, err := c.orders(ctx)
	var all []Order
	for _, each := range objects {
		all = append(all, Order{Kind: each.object.GetKind(), Namespace: each.object.GetNamespace(), Name: each.object.GetName()})
	}
	return all, err
}

// Held returns the Stacks ("namespace/name") and the orders ("Kind namespace/name") in the namespaces.
func (c *Cluster) Held(ctx context.Context, namespaces []string) ([]string, error) {
	stacks, err := c.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, stack := range stacks {
		if slices.Contains(namespaces, stack.Namespace) {
			names = append(names, stack.String())
		}
	}
	orders, err := c.Orders(ctx)
	for _, order := range orders {
		if slices.Contains(namespaces, order.Namespace) {
			names = append(names, order.String())
		}
	}
	return names, err
}

// Order is an order in the reports of a teardown.
type Order struct{ Kind, Namespace, Name string }

// String returns the order's kind, namespace and name.
func (o Order) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// listed is an order with its resource.
type listed struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// orders lists the objects of every kind of the catalogue; none if the cluster has no catalogue.
func (c *Cluster) orders(ctx context.Context) ([]listed, error) {
	group := schema.GroupVersion{Group: catalogue.Group, Version: catalogue.Version}
	kinds, err := catalogue.Kinds(ctx, c.discovery)
	if err != nil {
		return nil, c.failed("list the orders", err)
	}
	var all []listed
	for _, kind := range kinds {
		objects, err := c.list(ctx, group.WithResource(kind.Name), "")
		if err != nil {
			return nil, err
		}
		for i := range objects {
			all = append(all, listed{group.WithResource(kind.Name), &objects[i]})
		}
	}
	return all, nil
}

// removeOrders deletes every order, and returns those that are left. Their Stacks must stay until the operator deletes
// them: it would create a Stack again that is deleted before its order.
func (c *Cluster) removeOrders(ctx context.Context) ([]remaining, error) {
	objects, err := c.orders(ctx)
	if err != nil {
		return nil, err
	}
	var left []remaining
	for _, each := range objects {
		if err := c.remove(ctx, each.resource, each.object); err != nil {
			return nil, err
		}
		left = append(left, remaining{
			name: describe(each.object), state: fmt.Sprint(each.object.GetDeletionTimestamp() != nil),
			blocker: func(context.Context) []Blocker { return []Blocker{c.orderBlocker(each)} },
		})
	}
	return left, nil
}

func (c *Cluster) orderBlocker(order listed) Blocker {
	object := order.object
	reason := "the operator does not report why"
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if text, _ := condition["message"].(string); condition["type"] == "Ready" && text != "" {
			reason = message.OneLine(text)
		}
	}
	return Blocker{
		Object: describe(object), Reason: "it cannot be deleted: " + reason,
		Next: c.orPurge(fmt.Sprintf("fix the cause (`%s -n %s describe %s.%s %s` shows more), or set its spec.onDelete to keep, and run this again",
			c.options.Kubectl, object.GetNamespace(), order.resource.Resource, order.resource.Group, object.GetName())),
	}
}

// ofOrder reports whether a Stack belongs to an order.
func ofOrder(stack *unstructured.Unstructured) bool {
	_, is := stack.GetLabels()[catalogue.OrderLabel]
	return is
}
