package orders

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// copyResults copies the Secret that the Program created into the team's namespace, and the Stack's outputs that are not
// secret into a ConfigMap there.
func (c *Controller) copyResults(ctx context.Context, of key, o order, n names, stack *v1.Stack) (state, error) {
	made := &corev1.Secret{}
	err := c.client.Get(ctx, types.NamespacedName{Namespace: stack.Namespace, Name: n.stack()}, made)
	if client.IgnoreNotFound(err) != nil {
		return state{}, fmt.Errorf("read the results: %w", err)
	}
	meta := metav1.ObjectMeta{
		Namespace: of.namespace, Name: n.result(of.kind), Labels: labelsOf(of),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(), Controller: new(true),
		}},
	}
	meta.Labels[HopLabel] = n.team
	done := state{kind: v1.ReadyCondition, reason: ReasonReady}
	var said []string
	if err == nil {
		secret := &corev1.Secret{ObjectMeta: *meta.DeepCopy(), Type: corev1.SecretTypeOpaque, Data: made.Data}
		if owned, err := c.place(ctx, secret, &corev1.Secret{}, func(existing client.Object) bool {
			return maps.EqualFunc(existing.(*corev1.Secret).Data, secret.Data, slices.Equal)
		}); err != nil || !owned {
			return c.notOwned("Secret", meta.Name, of), err
		}
		done.secret = meta.Name
		said = append(said, "Secret "+meta.Name)
	}
	if outputs := texts(stack.Status.Outputs); len(outputs) > 0 {
		configMap := &corev1.ConfigMap{ObjectMeta: *meta.DeepCopy(), Data: outputs}
		if owned, err := c.place(ctx, configMap, &corev1.ConfigMap{}, func(existing client.Object) bool {
			return maps.Equal(existing.(*corev1.ConfigMap).Data, outputs)
		}); err != nil || !owned {
			return c.notOwned("ConfigMap", meta.Name, of), err
		}
		done.configMap = meta.Name
		said = append(said, "ConfigMap "+meta.Name)
	}
	done.message = "the results are in " + strings.Join(said, " and ")
	if len(said) == 0 {
		done.message = "the order has no results"
	}
	return done, nil
}

func (c *Controller) notOwned(kind, name string, of key) state {
	return stalled(ReasonNotOwned, "%s %s in %s has the name of the results and does not belong to this order: delete it, or order under another name", kind, name, of.namespace)
}

// place creates an object in the team's namespace, or updates it. It returns false, and changes nothing, if an object that does
// not belong to the order has the name. If somebody creates such an object between the read and the write, the write fails.
// existing is an empty object of the same kind; same compares the content of the existing object with the wanted one.
func (c *Controller) place(ctx context.Context, wanted, existing client.Object, same func(client.Object) bool) (owned bool, err error) {
	what := strings.TrimPrefix(fmt.Sprintf("%T", wanted), "*v1.") + " " + wanted.GetName()
	err = c.client.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	switch {
	case apierrors.IsNotFound(err):
		err = c.client.Create(ctx, wanted, client.FieldOwner(fieldOwner))
		if apierrors.IsAlreadyExists(err) {
			return true, errRace
		}
	case err != nil:
		return false, fmt.Errorf("read %s: %w", what, err)
	case existing.GetLabels()[HopLabel] != "" && !metav1.IsControlledBy(existing, &metav1.ObjectMeta{UID: wanted.GetOwnerReferences()[0].UID}):
		// Only the platform sets the label: these are the results of an earlier order, which Kubernetes is about to delete.
		return true, errRace
	case !metav1.IsControlledBy(existing, &metav1.ObjectMeta{UID: wanted.GetOwnerReferences()[0].UID}):
		return false, nil
	case same(existing) && equality.Semantic.DeepEqual(existing.GetLabels(), wanted.GetLabels()):
		return true, nil
	default:
		// The resource version makes the write fail if the object has changed.
		wanted.SetResourceVersion(existing.GetResourceVersion())
		err = c.client.Patch(ctx, wanted, client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldOwner))
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return true, errRace
		}
	}
	if err != nil {
		return false, fmt.Errorf("write %s: %w", what, err)
	}
	return true, nil
}

// texts returns the outputs of a Stack as the data of a ConfigMap: texts as they are, other values as JSON. It leaves out
// secrets.
func texts(outputs v1.StackOutputs) map[string]string {
	data := map[string]string{}
	for name, value := range outputs {
		var text string
		if json.Unmarshal(value.Raw, &text) != nil {
			text = string(value.Raw)
		}
		if text != v1.SecretOutput {
			data[name] = text
		}
	}
	return data
}
