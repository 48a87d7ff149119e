package orders_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

func TestAnOrderBecomesAStackOfThePlatformAndItsResultsComeBack(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	namespace := c.team(t, "web", 3)
	order := c.order(t, namespace, "orders", "{}")
	stack := c.stack(t, "web--orders")
	if stack.Spec.ServiceAccountName != "catalogue-database" || stack.Spec.ProgramRef.Name != "database" || stack.Spec.DestroyOnFinalize {
		t.Errorf("the Stack runs %v as %s, and destroys: %v", stack.Spec.ProgramRef, stack.Spec.ServiceAccountName, stack.Spec.DestroyOnFinalize)
	}
	config := map[string]string{}
	for name, value := range stack.Spec.Config {
		config[name] = string(value.Raw)
	}
	want := map[string]string{"engine": `"mysql"`, "size": `"small"`, "name": `"web_orders"`, "results": `"web--orders"`, "team": `"web"`, "order": `"orders"`}
	if !maps.Equal(config, want) {
		t.Errorf("the Program's configuration is %v, want %v", config, want)
	}
	for _, name := range []string{"PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE"} {
		if ref := stack.Spec.EnvRefs[name].Secret; ref == nil || ref.Name != "strata-context" || ref.Key != name {
			t.Errorf("%s comes from %v", name, ref)
		}
	}
	c.says(t, order, "False", "the platform works on the order")
	kstatus(t, order, status.InProgressStatus)
	c.setStatus(t, stack, func(s *v1.StackStatus) {
		s.ObservedGeneration = stack.Generation
		s.MarkStalled(v1.StalledUpdateFailedReason, "the instance is full")
	})
	c.says(t, order, "False", "the instance is full")
	kstatus(t, order, status.FailedStatus)

	c.succeed(t, stack, "canary")
	c.says(t, order, "True", "the results are in Secret orders-database and ConfigMap orders-database")
	kstatus(t, order, status.CurrentStatus)
	secret, configMap := &corev1.Secret{}, &corev1.ConfigMap{}
	at := client.ObjectKey{Namespace: namespace, Name: "orders-database"}
	if err := errors.Join(c.Get(t.Context(), at, secret), c.Get(t.Context(), at, configMap)); err != nil {
		t.Fatal(err)
	}
	if string(secret.Data["password"]) != "canary" || !maps.Equal(configMap.Data, map[string]string{"database": "name", "port": "3306"}) {
		t.Errorf("the Secret has %d keys, and the ConfigMap is %v", len(secret.Data), configMap.Data)
	}
	for _, result := range []client.Object{secret, configMap} {
		if result.GetLabels()["strata.dev/hop"] != "web" || !metav1.IsControlledBy(result, order) {
			t.Errorf("%T has labels %v and owners %v: the team could change it, or it stays behind", result, result.GetLabels(), result.GetOwnerReferences())
		}
	}

	// A new run has another password.
	c.succeed(t, c.stack(t, "web--orders"), "rotated")
	c.setStatus(t, c.stack(t, "web--orders"), func(s *v1.StackStatus) { s.MarkReady("again") })
	eventually(t, "the new password", func(ctx context.Context) error {
		if err := c.Get(ctx, at, secret); err != nil || string(secret.Data["password"]) == "rotated" {
			return err
		}
		return errors.New("the Secret has the old one")
	})
}

func kstatus(t *testing.T, order *unstructured.Unstructured, want status.Status) {
	t.Helper()
	result, err := status.Compute(order)
	if err != nil || result.Status != want {
		t.Errorf("Flux sees the order as %v (error %v), want %s", result, err, want)
	}
}

func TestADeletedOrderWaitsForItsStack(t *testing.T) {
	long.Test(t)
	for name, test := range map[string]struct {
		spec     string
		destroys bool
	}{
		"keep":        {"{onDelete: keep}", false},
		"the default": {"{}", false},
		"delete":      {"{onDelete: delete}", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.start(t)
			team := strings.ReplaceAll("del-"+name, " ", "-")
			order := c.order(t, c.team(t, team, 1), "a", test.spec)
			stack := c.stack(t, team+"--a")
			c.hold(t, stack)
			c.says(t, order, "False", "works on the order")
			if err := c.Delete(t.Context(), order); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the deletion of the Stack", func(ctx context.Context) error {
				if err := c.Get(ctx, client.ObjectKeyFromObject(stack), stack); err != nil {
					return err
				}
				if stack.DeletionTimestamp == nil {
					return errors.New("it is not deleted")
				}
				return nil
			})
			if stack.Spec.DestroyOnFinalize != test.destroys {
				t.Errorf("the Stack destroys its resources: %v, want %v", stack.Spec.DestroyOnFinalize, test.destroys)
			}
			c.setStatus(t, stack, func(s *v1.StackStatus) {
				s.ObservedGeneration = stack.Generation
				s.MarkStalled(v1.StalledUpdateFailedReason, "the database is in use")
			})
			c.says(t, order, "False", "the database is in use")
			c.release(t, stack)
			c.gone(t, order)
		})
	}
}

func TestAFailureOfThePlatformIsReportedWithoutItsCause(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	// The API server refuses each object that the quota covers, because no controller counts them.
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: entryNamespace, Name: "full"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/stacks.pulumi.com": resource.MustParse("1")}},
	}
	c.create(t, quota)
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), quota); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	before := quota.DeepCopy()
	quota.Status.Hard = quota.Spec.Hard
	if err := c.Status().Patch(t.Context(), quota, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quota", func(context.Context) error {
		probe := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: entryNamespace, Name: "probe"}, Spec: v1.StackSpec{Stack: "probe"}}
		if err := c.Create(t.Context(), probe, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a Stack is not refused: %w", err)
		}
		return nil
	})
	c.start(t)
	order := c.order(t, c.team(t, "unlucky", 1), "a", "{}")
	c.says(t, order, "False", "the platform cannot handle the order now, and retries: ask the platform team if this continues")
	kstatus(t, order, status.InProgressStatus)
	if err := c.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	c.stack(t, "unlucky--a")
}

func TestAFailedDeletionIsReportedWithoutItsCause(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	order := c.order(t, c.team(t, "stuck", 1), "a", "{}")
	c.succeed(t, c.stack(t, "stuck--a"), "canary")
	c.says(t, order, "True", "the results are in Secret a-database")
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: entryNamespace, Name: strings.ReplaceAll(platform.RoleOperatorEntry, ":", "-")}}
	if err := c.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	bound := false
	bind := func() {
		if !bound {
			c.bind(t, entryNamespace, platform.RoleOperatorEntry)
		}
		bound = true
	}
	defer bind()
	eventually(t, "the operator without its rights", func(ctx context.Context) error {
		direct, err := client.New(c.operator, client.Options{Scheme: c.scheme})
		if err != nil {
			return err
		}
		probe := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: entryNamespace, Name: "stuck--a"}}
		if err := direct.Delete(ctx, probe, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the deletion of a Stack is not refused: %w", err)
		}
		return nil
	})
	if err := c.Delete(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	c.says(t, order, "False", "the platform cannot handle the order now, and retries: ask the platform team if this continues")
	bind()
	c.gone(t, order)
}

func TestANewOrderWaitsForTheEndOfAnEarlierOne(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	namespace := c.team(t, "again", 1)
	order := c.order(t, namespace, "a", "{onDelete: delete}")
	stack := c.stack(t, "again--a")
	c.hold(t, stack)
	// Without its finalizer, an order is gone before its Stack.
	c.drop(t, order)
	eventually(t, "the deletion of the Stack", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(stack), stack); err != nil || stack.DeletionTimestamp != nil {
			return err
		}
		return errors.New("it is not deleted")
	})
	second := c.order(t, namespace, "a", "{onDelete: delete}")
	c.says(t, second, "False", "deletes an earlier order of this name")
	c.release(t, stack)
	eventually(t, "a new Stack", func(ctx context.Context) error {
		now := &v1.Stack{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(stack), now); err != nil || now.UID != stack.UID {
			return err
		}
		return errors.New("the old Stack is still there")
	})
}

// hold gives a Stack the operator's finalizer.
func (c *cluster) hold(t *testing.T, stack *v1.Stack) { c.setFinalizers(t, stack, v1.StackFinalizer) }

// release removes the finalizers of a Stack.
func (c *cluster) release(t *testing.T, stack *v1.Stack) { c.setFinalizers(t, stack) }

func (c *cluster) setFinalizers(t *testing.T, object client.Object, finalizers ...string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
}

// drop deletes an order without its finalizer, as a team can do.
func (c *cluster) drop(t *testing.T, order *unstructured.Unstructured) {
	t.Helper()
	eventually(t, "the finalizer", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(order), order); err != nil || len(order.GetFinalizers()) > 0 {
			return err
		}
		return errors.New("there is none")
	})
	if err := c.Delete(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := c.Patch(t.Context(), order, patch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}
