package teardown

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/status/message"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// Stack is a Stack in the reports of a teardown.
type Stack struct {
	Namespace, Name string
	// Account is the service account that the Stack's runs use.
	Account string
	// Keeps says that the Stack's spec keeps its resources after its deletion.
	Keeps bool
	// Outputs are the Stack's outputs as JSON, without secret ones.
	Outputs map[string]json.RawMessage
}

// String returns the Stack's namespace and name.
func (s Stack) String() string { return s.Namespace + "/" + s.Name }

// Stacks returns the Stacks of the cluster by namespace and name.
func (c *Cluster) Stacks(ctx context.Context) ([]Stack, error) {
	objects, err := c.list(ctx, stacks, "")
	if err != nil {
		return nil, err
	}
	all := make([]Stack, 0, len(objects))
	for _, object := range objects {
		s, err := decode(object)
		if err != nil {
			return nil, err
		}
		stack := Stack{Namespace: s.Namespace, Name: s.Name, Account: s.ServiceAccount(), Keeps: !s.Spec.DestroyOnFinalize, Outputs: map[string]json.RawMessage{}}
		for name, value := range s.Status.Outputs {
			stack.Outputs[name] = value.Raw
		}
		all = append(all, stack)
	}
	return all, nil
}

func decode(object unstructured.Unstructured) (*pulumiv1.Stack, error) {
	var s pulumiv1.Stack
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &s); err != nil {
		return nil, fmt.Errorf("read %s: %w", describe(&object), err)
	}
	return &s, nil
}

// DestroyStacks suspends Flux in the teams' namespaces, deletes all Stacks, and waits until the operator has destroyed
// their resources. It returns the number of Stacks. The error is Blocked if a Stack cannot be destroyed. Resume reverts
// the suspensions.
func (c *Cluster) DestroyStacks(ctx context.Context, waiting Waiting) (int, error) {
	seen := map[types.UID]bool{}
	err := c.goneStacks(ctx, waiting, seen)
	return len(seen), err
}

// goneStacks suspends the Kustomizations and HelmReleases in the namespaces that may get Stacks, and deletes the Stacks.
// It repeats both in each round, because Flux may have been applying objects of either kind. It approves the destruction of each Stack
// before it deletes the Stack, or the order that the Stack belongs to.
func (c *Cluster) goneStacks(ctx context.Context, waiting Waiting, seen map[types.UID]bool) error {
	if err := c.suspend(ctx, c.namespaces.Teams); err != nil {
		return err
	}
	approved := map[types.UID]bool{}
	return c.gone(ctx, waiting, func(ctx context.Context) ([]remaining, error) {
		objects, err := c.list(ctx, stacks, "")
		if err != nil {
			return nil, err
		}
		if err := c.approve(ctx, objects, approved); err != nil {
			return nil, err
		}
		orders, err := c.removeOrders(ctx)
		if err != nil || len(objects) == 0 {
			return orders, err
		}
		homes := slices.Clone(c.namespaces.Teams)
		for _, object := range objects {
			homes = append(homes, object.GetNamespace())
			seen[object.GetUID()] = true
		}
		if err := c.suspend(ctx, homes); err != nil {
			return nil, err
		}
		for _, object := range objects {
			if len(orders) > 0 && ofOrder(&object) {
				continue
			}
			if err := c.remove(ctx, stacks, &object); err != nil {
				return nil, err
			}
		}
		left, err := c.remainingStacks(objects)
		return append(orders, left...), err
	})
}

// leavingStacks returns the Stacks that are being deleted.
func (c *Cluster) leavingStacks(ctx context.Context) ([]remaining, error) {
	objects, err := c.list(ctx, stacks, "")
	if err != nil {
		return nil, err
	}
	return c.remainingStacks(slices.DeleteFunc(objects, func(o unstructured.Unstructured) bool { return o.GetDeletionTimestamp() == nil }))
}

func (c *Cluster) remainingStacks(objects []unstructured.Unstructured) ([]remaining, error) {
	var left []remaining
	for _, object := range objects {
		s, err := decode(object)
		if err != nil {
			return nil, err
		}
		left = append(left, remaining{
			name: describe(&object), state: progress(s), working: isDestroying(s),
			blocker: func(context.Context) []Blocker { return []Blocker{c.stackBlocker(s)} },
		})
	}
	return left, nil
}

// isDestroying reports whether the operator runs the first destroy of a Stack.
func isDestroying(s *pulumiv1.Stack) bool {
	if failed(s) {
		return false
	}
	reconciling := meta.FindStatusCondition(s.Status.Conditions, pulumiv1.ReconcilingCondition)
	return reconciling != nil && reconciling.Status == "True" && reconciling.Reason == pulumiv1.ReconcilingProcessingReason
}

func failed(s *pulumiv1.Stack) bool {
	last := s.Status.LastUpdate
	return last != nil && last.Type == pulumiv1.DestroyType && last.State == pulumiv1.FailedStackStateMessage
}

// progress returns a string that changes when the first destroy of a Stack begins or ends, but not with each retry.
func progress(s *pulumiv1.Stack) string {
	return fmt.Sprintf("%t %t", s.DeletionTimestamp != nil, failed(s))
}

func (c *Cluster) stackBlocker(s *pulumiv1.Stack) Blocker {
	return Blocker{
		Object: "Stack " + s.Namespace + "/" + s.Name,
		Reason: "it cannot be destroyed: " + messageOf(s),
		Next: c.orPurge(fmt.Sprintf("fix the cause (`%s -n %s describe stack %s` shows more), or set its spec.destroyOnFinalize to false to keep its resources, and run this again",
			c.options.Kubectl, s.Namespace, s.Name)),
	}
}

// messageOf returns the message about the destroy from a Stack's status.
func messageOf(s *pulumiv1.Stack) string {
	if failed(s) && s.Status.LastUpdate.Message != "" {
		return message.Destroy(s.Status.LastUpdate.Message)
	}
	for _, kind := range []string{pulumiv1.StalledCondition, pulumiv1.ReconcilingCondition} {
		if condition := meta.FindStatusCondition(s.Status.Conditions, kind); condition != nil && condition.Status == "True" && condition.Message != "" {
			return message.OneLine(condition.Message)
		}
	}
	return "the operator reports nothing"
}
