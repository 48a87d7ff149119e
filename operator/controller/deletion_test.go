package controller_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

func (tm *team) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: tm.namespace, Name: name}
}

func (tm *team) remove(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := tm.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// records returns the number of the team's records with these labels.
func (tm *team) records(t *testing.T, labels ...client.ListOption) int {
	t.Helper()
	var secrets corev1.SecretList
	if err := tm.List(t.Context(), &secrets, append(labels, client.InNamespace(operatorNamespace))...); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, secret := range secrets.Items {
		if strings.HasPrefix(secret.Annotations["pulumi.com/stack"], tm.namespace+"/") {
			count++
		}
	}
	return count
}

func TestStackIsDestroyedWhenAllWasDeletedAtOnce(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  workspaceTemplate: {metadata: {labels: {acme.com/cost: shop, app.kubernetes.io/managed-by: team}}}\n")
	got := tm.await(t, "shop-dev", "Ready", ready)
	if tm.records(t, client.MatchingLabels{"workspace.strata.dev/cost": "shop", "app.kubernetes.io/managed-by": "pulumi-operator"}) != 1 {
		t.Fatal("the operator keeps no record of what destroying the Stack takes")
	}
	if tm.records(t, client.HasLabels{"acme.com/cost"}) != 0 {
		t.Error("the team chooses which selectors match in the operator's namespace")
	}

	// Flux prunes objects in any order.
	tm.remove(t, &corev1.Secret{ObjectMeta: tm.meta("context")}, &v1.Program{ObjectMeta: tm.meta("shop")}, got)
	tm.await(t, "shop-dev", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); ok {
		t.Error("the ConfigMap is left behind")
	}
	if tm.records(t) != 0 {
		t.Error("the operator keeps a record of a Stack that is gone")
	}
}

func TestStackIsDestroyedWithoutItsPrerequisiteAndItsProgram(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.run(t, valuesEnv)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  runProgram: true\n  prerequisites: [{name: values}]\n")
	got := tm.await(t, "shop-dev", "Ready", ready)
	tm.remove(t, &v1.Stack{ObjectMeta: tm.meta("values")}, &v1.Program{ObjectMeta: tm.meta("shop")}, got)
	tm.await(t, "shop-dev", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); ok {
		t.Error("the ConfigMap is left behind")
	}
}

// TestStackIsDestroyedInNamespaceThatIsBeingDeleted deletes the objects in the
// namespace itself, because the test cluster has no namespace controller.
func TestStackIsDestroyedInNamespaceThatIsBeingDeleted(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	got := tm.await(t, "shop-dev", "Ready", ready)
	// In these tests the operator has its rights on Stacks in all namespaces.
	tm.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}, &corev1.Secret{ObjectMeta: tm.meta("context")},
		&corev1.ServiceAccount{ObjectMeta: tm.meta("web")}, &rbacv1.Role{ObjectMeta: tm.meta("web")}, &v1.Program{ObjectMeta: tm.meta("shop")}, got)
	tm.await(t, "shop-dev", "gone", gone)
	// The run has no access to the cluster, and the namespace controller would delete the ConfigMap. The destroy drops it from
	// the state.
	state, err := os.ReadFile(filepath.Join(tm.state, ".pulumi", "stacks", "shop", "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), "kubernetes:core/v1:ConfigMap") {
		t.Error("the state still has the ConfigMap: the Stack was released without a destroy")
	}
}

func TestChangedPlaceOfAStackIsRejected(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	cases := map[string]struct{ old, new, message string }{
		"by another name":    {"stack: dev", "stack: prod", "stack prod of project shop"},
		"by another Program": {"programRef: {name: shop}", "programRef: {name: other}", "stack dev of project other"},
		"by another backend": {"serviceAccountName: web", "serviceAccountName: web\n  backend: file://STATE/other", "/other"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTeam(t, c)
			tm.apply(t, &v1.Program{}, program)
			tm.apply(t, &v1.Program{}, strings.Replace(program, "name: shop", "name: other", 1))
			tm.apply(t, &v1.Stack{}, stack)
			tm.await(t, "shop-dev", "Ready", ready)
			tm.apply(t, &v1.Stack{}, strings.ReplaceAll(strings.Replace(stack, tc.old, tc.new, 1), "STATE", tm.state))
			got := tm.await(t, "shop-dev", "stalled", func(s *v1.Stack) bool {
				return condition(s, v1.StalledCondition).Reason == v1.StalledSpecInvalidReason
			})
			message := condition(got, v1.ReadyCondition).Message
			for _, want := range []string{"stack dev of project shop in file://" + tm.state, tc.message} {
				if !strings.Contains(message, want) {
					t.Errorf("message %q does not hold %q", message, want)
				}
			}
			// The destroy follows the state, not the present spec.
			tm.remove(t, got)
			tm.await(t, "shop-dev", "gone", gone)
			if _, ok := tm.configMap(t, "settings"); ok {
				t.Error("the ConfigMap is left behind")
			}
		})
	}
}

func TestStackWithoutResourcesMayMoveAndBeDeleted(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, `
metadata: {name: shop}
program: {variables: {a: {fn::split: [",", 1, 2, 3]}}, outputs: {a: "${a}"}}
`)
	tm.apply(t, &v1.Stack{}, stackHead)
	tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "stack: dev", "stack: prod", 1))
	got := tm.await(t, "shop-dev", "Ready", ready)
	if got.Status.ProjectInfo.Stack != "prod" {
		t.Errorf("the status names stack %q", got.Status.ProjectInfo.Stack)
	}
}

func TestDestroyRunsTheProgramIfTheStackAsksForIt(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	stop := startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  runProgram: true\n")
	got := tm.await(t, "shop-dev", "Ready", ready)
	stop()
	broken := strings.Replace(program, "token: {fn::secret: canary-token}", "token: {fn::readFile: /nowhere}", 1)
	tm.apply(t, &v1.Program{}, broken)
	tm.remove(t, got)
	startOperator(t, c)
	got = tm.await(t, "shop-dev", "failed to be destroyed", func(s *v1.Stack) bool {
		return s != nil && s.Status.LastUpdate.Type == v1.DestroyType
	})
	if message := got.Status.LastUpdate.Message; !strings.Contains(message, "/nowhere") || len(got.Finalizers) == 0 {
		t.Errorf("finalizers %v and message %q, want one about the program", got.Finalizers, message)
	}
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Error("the ConfigMap is gone")
	}
	// After the fix, the destroy begins at once, not after the wait.
	tm.apply(t, &v1.Program{}, program)
	tm.await(t, "shop-dev", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); ok {
		t.Error("the ConfigMap is left behind")
	}
}

func TestStackThatCannotBeDestroyedNamesTheWayOut(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	got := tm.await(t, "shop-dev", "Ready", ready)
	// The state is lost, and it may have listed more than the cluster knows.
	if err := os.RemoveAll(tm.state); err != nil {
		t.Fatal(err)
	}
	tm.remove(t, got)
	tm.await(t, "shop-dev", "failed to be destroyed", func(s *v1.Stack) bool {
		return s != nil && strings.HasSuffix(condition(s, v1.ReadyCondition).Message, "; to delete the Stack and keep its resources, set spec.destroyOnFinalize to false")
	})
	let := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"destroyOnFinalize":false}}`))
	if err := tm.Patch(t.Context(), &v1.Stack{ObjectMeta: tm.meta("shop-dev")}, let); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Error("the ConfigMap of the lost state was deleted")
	}
}
