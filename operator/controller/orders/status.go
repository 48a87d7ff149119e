package orders

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Reasons of an order's conditions, in addition to those of a Stack.
const (
	// ReasonReady means that the results are in the team's namespace.
	ReasonReady = "Ready"
	// ReasonProgressing means that the platform works on the order.
	ReasonProgressing = "Progressing"
	// ReasonUnavailable means that the platform fails to handle the order. The operator's log says why.
	ReasonUnavailable = "Unavailable"
	// ReasonDeleting means that the platform deletes the order's Stack.
	ReasonDeleting = "Deleting"
	// ReasonInvalidName means that the order's name is not valid, or too long for the team's name.
	ReasonInvalidName = "InvalidName"
	// ReasonNoTeam means that the order's namespace belongs to no team.
	ReasonNoTeam = "NoTeam"
	// ReasonTooManyOrders means that the team has more orders of the kind than its TenantPolicy allows. The oldest count.
	ReasonTooManyOrders = "TooManyOrders"
	// ReasonNotOwned means that an object that does not belong to the order has the name of its Stack or of its results.
	ReasonNotOwned = "NotOwned"
)

// state is what the controller reports of an order.
type state struct {
	// kind is the condition that is True: Ready, Reconciling or Stalled.
	kind            string
	reason, message string
	// secret and configMap are the names of the results.
	secret, configMap string
}

func working(reason, format string, args ...any) state {
	return state{kind: v1.ReconcilingCondition, reason: reason, message: fmt.Sprintf(format, args...)}
}

func stalled(reason, format string, args ...any) state {
	return state{kind: v1.StalledCondition, reason: reason, message: fmt.Sprintf(format, args...)}
}

// orderStatus is the status of an order.
type orderStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	SecretName         string             `json:"secretName,omitempty"`
	ConfigMapName      string             `json:"configMapName,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// report writes the state into the order's status, if it differs.
func (c *Controller) report(ctx context.Context, o order, now state) error {
	var before orderStatus
	if raw, found, _ := unstructured.NestedMap(o.Object, "status"); found {
		// A status that does not decode is overwritten.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &before)
	}
	after := orderStatus{ObservedGeneration: o.GetGeneration(), SecretName: now.secret, ConfigMapName: now.configMap}
	if now.secret == "" && now.kind != v1.ReadyCondition {
		// The results of an earlier generation are still there.
		after.SecretName, after.ConfigMapName = before.SecretName, before.ConfigMapName
	}
	for _, each := range before.Conditions {
		if each.Type == v1.ReadyCondition || each.Type == now.kind {
			after.Conditions = append(after.Conditions, each)
		}
	}
	ready := metav1.Condition{Type: v1.ReadyCondition, Status: metav1.ConditionTrue, Reason: now.reason, Message: now.message, ObservedGeneration: o.GetGeneration()}
	if now.kind != v1.ReadyCondition {
		held := ready
		held.Type = now.kind
		meta.SetStatusCondition(&after.Conditions, held)
		ready.Status = metav1.ConditionFalse
	}
	meta.SetStatusCondition(&after.Conditions, ready)
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": after.ObservedGeneration, "conditions": after.Conditions,
		"secretName": orNull(after.SecretName), "configMapName": orNull(after.ConfigMapName),
	}})
	if err != nil {
		return fmt.Errorf("encode the status of an order: %w", err)
	}
	if err := c.client.Status().Patch(ctx, o.DeepCopy(), client.RawPatch("application/merge-patch+json", patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// orNull returns nil, which removes a field in a merge patch, for an empty text.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// stateOf derives the state of an order from the status of its Stack. ready is true if the Stack has applied its present
// spec.
func stateOf(stack *v1.Stack) (now state, ready bool) {
	if stack.Status.ObservedGeneration == stack.Generation {
		for _, kind := range []string{v1.StalledCondition, v1.ReconcilingCondition} {
			if found := meta.FindStatusCondition(stack.Status.Conditions, kind); found != nil && found.Status == metav1.ConditionTrue {
				return state{kind: kind, reason: found.Reason, message: found.Message}, false
			}
		}
		if meta.IsStatusConditionTrue(stack.Status.Conditions, v1.ReadyCondition) {
			return state{}, true
		}
	}
	return working(ReasonProgressing, "the platform works on the order"), false
}
