package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/stacklog"
	"github.com/strata-platform/strata/test/long"
)

// logObject returns the StackLog of a Stack.
func (tm *team) logObject(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(stacklog.Resource().GroupVersion().WithKind(stacklog.Kind))
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func (tm *team) log(t *testing.T, name string) *stacklog.Log {
	t.Helper()
	log, err := stacklog.From(tm.logObject(t, name).Object, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func failedSince(generation int64) func(*v1.Stack) bool {
	return func(s *v1.Stack) bool {
		last := s.Status.LastUpdate
		return last != nil && last.State == v1.FailedStackStateMessage && last.Generation >= generation
	}
}

// leaking is a Program whose failure prints the values of two secrets and control sequences.
const leaking = `
metadata: {name: shop}
program:
  configuration:
    token: {type: String}
  outputs:
    a: {fn::readFile: /nowhere/canary-configured}
    b: {fn::readFile: /nowhere/canary-literal}
    d: {fn::readFile: "/nowhere/\e]0;title\a\e[31m"}
    c: {fn::secret: canary-literal}
`

func TestTheLogsOfTheLastRunsAreKept(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram:\n  outputs: {a: 1}\n")
	tm.apply(t, &v1.Stack{}, stackHead)
	stack := tm.await(t, "shop-dev", "ready", ready)
	log := tm.log(t, "shop-dev")
	if log.Failed != nil || log.Succeeded == nil || log.Last() != log.Succeeded {
		t.Fatalf("the log is %+v, want a run that succeeded", log)
	}
	first := log.Succeeded
	if first.Operation != "up" || first.Message != "" || first.Commit == "" || !first.Began.Time.Before(first.Ended.Time) ||
		!strings.Contains(first.Log, "pulumi:pulumi:Stack shop-dev creating") || strings.Contains(first.Log, "no stack named") {
		t.Errorf("the run is %+v", first)
	}
	owner := tm.logObject(t, "shop-dev").GetOwnerReferences()
	if len(owner) != 1 || owner[0].UID != stack.UID || owner[0].Kind != v1.StackKind || owner[0].BlockOwnerDeletion != nil {
		t.Errorf("the log belongs to %+v, want the Stack", owner)
	}

	tm.apply(t, &v1.Program{}, leaking)
	tm.apply(t, &v1.Stack{}, stackHead+"  secrets: {token: canary-configured}\n")
	stack = tm.await(t, "shop-dev", "failed", failedSince(stack.Generation+1))
	log = tm.log(t, "shop-dev")
	failed := log.Failed
	if log.Last() != failed || failed == nil || !strings.Contains(failed.Log, "Diagnostics:") || !strings.Contains(failed.Log, "[secret]") {
		t.Fatalf("the last run is %+v, want the failed one", failed)
	}
	if failed.Message != stack.Status.LastUpdate.Message {
		t.Errorf("the message is %q, and that of the Stack %q", failed.Message, stack.Status.LastUpdate.Message)
	}
	if log.Succeeded == nil || log.Succeeded.Log != first.Log {
		t.Errorf("the run that succeeded is now %+v", log.Succeeded)
	}
	encoded, err := json.Marshal(tm.logObject(t, "shop-dev"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"canary-configured", "canary-literal", "canary-passphrase", "canary-operator", `\u001b`, `\u0007`, "operator-test-"} {
		if strings.Contains(string(encoded), hidden) {
			t.Errorf("the log contains %q:\n%s", hidden, failed.Log)
		}
	}
}

// TestALogStartsNoRun checks the runs of a Stack after its log was written by the operator, and changed by somebody else.
func TestALogStartsNoRun(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram:\n  outputs: {a: 1}\n")
	tm.apply(t, &v1.Stack{}, stackHead)
	tm.await(t, "shop-dev", "ready", ready)
	before := tm.logObject(t, "shop-dev")
	changed := before.DeepCopy()
	changed.SetAnnotations(map[string]string{"changed": "true"})
	if err := tm.Patch(t.Context(), changed, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	// A later change of another Stack is a point in time at which a run would have begun.
	tm.apply(t, &v1.Stack{}, strings.NewReplacer("shop-dev", "shop-next", "stack: dev", "stack: next").Replace(stackHead))
	tm.await(t, "shop-next", "ready", ready)
	if got := gather(t, tm.namespace)["stack_runs_total"]; len(got) != 1 || got[0] != 2 {
		t.Errorf("stack_runs_total is %v, want one run of each Stack", got)
	}
	if now := tm.logObject(t, "shop-dev"); now.GetResourceVersion() != changed.GetResourceVersion() {
		t.Error("the operator has written the log again")
	}
}

func TestAStackOfTheLongestNameHasALog(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	const longest = 42 // The CustomResourceDefinition of Stack bounds the name.
	name := strings.Repeat("a", longest)
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram:\n  outputs: {a: 1}\n")
	tm.apply(t, &v1.Stack{}, strings.Replace(stackHead, "shop-dev", name, 1))
	tm.await(t, name, "ready", ready)
	if log := tm.log(t, name); log.Succeeded == nil {
		t.Errorf("the log of a Stack with a name of %d characters is %+v", longest, log)
	}
}

// TestALogOfAnEarlierStackIsTakenOver has a log that belongs to a deleted Stack of the same name.
func TestALogOfAnEarlierStackIsTakenOver(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	left := &unstructured.Unstructured{Object: map[string]any{"failed": map[string]any{
		"operation": "up", "ended": "2001-01-01T00:00:00.000000Z", "began": "2001-01-01T00:00:00.000000Z", "commit": "", "message": "old", "log": "old\n",
	}}}
	left.SetGroupVersionKind(stacklog.Resource().GroupVersion().WithKind(stacklog.Kind))
	left.SetNamespace(tm.namespace)
	left.SetName("shop-dev")
	left.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "pulumi.com/v1", Kind: v1.StackKind, Name: "shop-dev", UID: "gone"}})
	c.create(t, left)
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram:\n  outputs: {a: 1}\n")
	tm.apply(t, &v1.Stack{}, stackHead)
	stack := tm.await(t, "shop-dev", "ready", ready)
	object := tm.logObject(t, "shop-dev")
	if owners := object.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != stack.UID {
		t.Errorf("the log belongs to %+v, want the new Stack", owners)
	}
	log, err := stacklog.From(object.Object, stack.CreationTimestamp.Time)
	if err != nil || log.Failed != nil || log.Succeeded == nil {
		t.Errorf("the log of the new Stack is %+v (%v)", log, err)
	}
}

// TestAStackWithoutALogIsReady has an operator without the permission to write logs, as with an older layer 2.
func TestAStackWithoutALogIsReady(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	logs := startLoggedOperator(t, c)
	tm := newTeam(t, c)
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: "operator"}}
	if err := tm.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	c.create(t,
		&rbacv1.Role{ObjectMeta: binding.ObjectMeta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: binding.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}},
		},
	)
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram:\n  outputs: {a: 1}\n")
	tm.apply(t, &v1.Stack{}, stackHead)
	tm.await(t, "shop-dev", "ready", ready)
	if lines := linesWith(logs, "the log of the run is not kept", fmt.Sprintf("%s/shop-dev", tm.namespace)); len(lines) != 1 {
		t.Errorf("the operator's log has %q, want one line", lines)
	}
}
