package operator_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/platform"
)

// awaitTimeout is generous, because a machine that runs other tests at the same time is slow.
const awaitTimeout = 2 * time.Minute

// passphrase encrypts the state of every team. It must not appear anywhere.
const passphrase = "canary-passphrase"

// team is a namespace like those of the platform layer: an account named web with a team's permissions, and a Secret with
// the context.
type team struct {
	*cluster

	namespace string

	// state is the folder of the team's file backend.
	state string
}

func newTeam(t testing.TB, c *cluster) *team {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	c.create(t, namespace)
	tm := &team{cluster: c, namespace: namespace.Name, state: filepath.Join(c.state, namespace.Name)}
	c.create(t,
		&corev1.ServiceAccount{ObjectMeta: tm.meta("web")},
		&rbacv1.RoleBinding{
			ObjectMeta: tm.meta("team"), RoleRef: clusterRole(platform.RoleTeam), Subjects: account(tm.namespace, "web"),
		},
		&rbacv1.RoleBinding{
			ObjectMeta: tm.meta("operator"), RoleRef: clusterRole(platform.RoleOperatorTenant),
			Subjects: account(platform.OperatorNamespace, platform.OperatorAccount),
		},
		&corev1.Secret{ObjectMeta: tm.meta("context"), StringData: map[string]string{
			"backend": "file://" + tm.state, "passphrase": passphrase,
		}},
	)
	t.Cleanup(func() { tm.forget(context.WithoutCancel(t.Context()), t) })
	return tm
}

// forget deletes the team's Stacks and keeps their resources, so that no later operator runs the Stacks.
func (tm *team) forget(ctx context.Context, t testing.TB) {
	var stacks v1.StackList
	if err := tm.List(ctx, &stacks, client.InNamespace(tm.namespace)); err != nil {
		t.Error(err)
	}
	for _, stack := range stacks.Items {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null},"spec":{"destroyOnFinalize":false}}`))
		if err := errors.Join(tm.Delete(ctx, &stack), client.IgnoreNotFound(tm.Patch(ctx, &stack, patch))); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

func (tm *team) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: tm.namespace, Name: name}
}

// decode decodes a manifest into an object of the team's namespace.
func (tm *team) decode(t testing.TB, object client.Object, manifest string) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(manifest), object); err != nil {
		t.Fatalf("decode manifest: %v\n%s", err, manifest)
	}
	object.SetNamespace(tm.namespace)
}

// apply creates or changes a Program or Stack from its manifest. It keeps the fields that the operator writes.
func (tm *team) apply(t testing.TB, object client.Object, manifest string) {
	t.Helper()
	tm.decode(t, object, manifest)
	wanted := object.DeepCopyObject().(client.Object)
	// The operator may write at the same time.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		existing := wanted.DeepCopyObject().(client.Object)
		if err := tm.Get(t.Context(), client.ObjectKeyFromObject(object), existing); apierrors.IsNotFound(err) {
			return tm.Create(t.Context(), object)
		} else if err != nil {
			return err
		}
		wanted.SetFinalizers(existing.GetFinalizers())
		wanted.SetResourceVersion(existing.GetResourceVersion())
		return tm.Update(t.Context(), wanted)
	})
	if err != nil {
		t.Fatalf("apply %s: %v", object.GetName(), err)
	}
}

// await waits until a Stack is as wanted. want receives nil once the Stack is gone.
func (tm *team) await(t testing.TB, name, what string, want func(*v1.Stack) bool) *v1.Stack {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), awaitTimeout)
	defer cancel()
	events, err := tm.Watch(ctx, &v1.StackList{}, client.InNamespace(tm.namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	last := &v1.Stack{}
	if err := tm.Get(ctx, client.ObjectKey{Namespace: tm.namespace, Name: name}, last); err != nil && want(nil) {
		return nil
	}
	for event := range events.ResultChan() {
		stack, ok := event.Object.(*v1.Stack)
		if !ok {
			t.Fatalf("watch Stack %s: %v", name, event.Object)
		}
		last = stack
		if event.Type == watch.Deleted {
			stack = nil
		}
		if want(stack) {
			return stack
		}
	}
	status, _ := yaml.Marshal(last.Status)
	t.Fatalf("timeout: wait until Stack %s/%s is %s:\n%s", tm.namespace, name, what, status)
	return nil
}

// condition returns a condition of a Stack's current generation.
func condition(stack *v1.Stack, kind string) metav1.Condition {
	if stack != nil && stack.Status.ObservedGeneration == stack.Generation {
		if c := meta.FindStatusCondition(stack.Status.Conditions, kind); c != nil {
			return *c
		}
	}
	return metav1.Condition{}
}

func ready(stack *v1.Stack) bool {
	return condition(stack, v1.ReadyCondition).Status == metav1.ConditionTrue
}

// tried reports whether the Stack is Ready, or says why it is not.
func tried(stack *v1.Stack) bool {
	return ready(stack) || condition(stack, v1.ReadyCondition).Status == metav1.ConditionFalse && stack.Status.CurrentUpdate == nil &&
		condition(stack, v1.ReconcilingCondition).Reason != v1.ReconcilingProcessingReason
}

func gone(stack *v1.Stack) bool { return stack == nil }
