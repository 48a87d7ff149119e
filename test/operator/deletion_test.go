package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

var grant = regexp.MustCompile(`Stack (\S+)/rights is deleted.*?kubectl create clusterrolebinding (\S+) --clusterrole=(\S+) --serviceaccount=([^:]+):([^;]+);`)

// TestTheCommandInTheLogDestroysAStackOfADeletedNamespace deletes a namespace without its hop: the operator's binding,
// the team's account and the team's Secrets disappear before the Stack.
func TestTheCommandInTheLogDestroysAStackOfADeletedNamespace(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	o := startOperator(t, c)
	tm := begin(t, c)
	stack := tm.await(t, "rights", "Ready", ready)
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}},
		&rbacv1.RoleBinding{ObjectMeta: tm.meta("operator")}, &rbacv1.RoleBinding{ObjectMeta: tm.meta("team")},
		&corev1.ServiceAccount{ObjectMeta: tm.meta("web")}, &corev1.Secret{ObjectMeta: tm.meta("context")},
		&corev1.Secret{ObjectMeta: tm.meta("login")}, &v1.Program{ObjectMeta: tm.meta("rights")}, stack,
	} {
		if err := tm.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	eventually(t, "the log contains the command", func() error {
		for _, found := range grant.FindAllStringSubmatch(o.log.String(), -1) {
			if found[1] == tm.namespace {
				said = found[2:]
				return nil
			}
		}
		return errors.New("it does not contain the command")
	})
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: said[0]}, RoleRef: clusterRole(said[1]), Subjects: account(said[2], said[3]),
	}
	tm.create(t, binding)
	t.Cleanup(func() {
		if err := tm.Delete(context.WithoutCancel(t.Context()), binding); err != nil {
			t.Error(err)
		}
	})
	tm.hurry(t)
	tm.await(t, "rights", "gone", gone)
	if left := tm.resources(t, "rights", "rights"); left != 0 {
		t.Errorf("%d resources are left in the state", left)
	}
}

// resources returns the number of resources in the state of a stack.
func (tm *team) resources(t *testing.T, project, stack string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(tm.state, ".pulumi", "stacks", project, stack+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Checkpoint struct {
			Latest struct {
				Resources []json.RawMessage `json:"resources"`
			} `json:"latest"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	return len(state.Checkpoint.Latest.Resources)
}
