package operator_test

import (
	"context"
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

func TestOfTwoOperatorsTheLeaderWorks(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	tm := newTeam(t, c)
	rights := metav1.ObjectMeta{Namespace: platform.OperatorNamespace, Name: "leader"}
	objects := []client.Object{
		&rbacv1.Role{ObjectMeta: rights, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: rights, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights.Name},
			Subjects: account(platform.OperatorNamespace, platform.OperatorAccount),
		},
	}
	c.create(t, objects...)
	t.Cleanup(func() {
		// The other tests grant the operator only the rights of the platform.
		for _, object := range objects {
			if err := c.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		}
	})
	leader := func() string {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: platform.OperatorNamespace, Name: "pulumi-operator"}
		if err := c.Get(t.Context(), key, lease); err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	led := func(by func(string) bool) func() error {
		return func() error {
			if holder := leader(); !by(holder) {
				return errors.New("the Lease is held by " + holder)
			}
			return nil
		}
	}
	apply := func(size string) {
		tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram: {outputs: {size: "+size+"}}")
		tm.apply(t, &v1.Stack{}, stackOf("shop", "shop"))
		tm.await(t, "shop", "Ready with size "+size, func(s *v1.Stack) bool { return ready(s) && string(s.Status.Outputs["size"].Raw) == size })
	}

	first := startOperator(t, c, "--leader-elect")
	eventually(t, "an operator leads", led(func(holder string) bool { return holder != "" }))
	former := leader()
	second := startOperator(t, c, "--leader-elect")
	apply("1")
	if now := leader(); now != former || len(second.runs(t)) > 0 {
		t.Errorf("%s leads, and was %s; the second operator has runs %v", now, former, second.runs(t))
	}

	first.stop(t)
	eventually(t, "the second operator leads", led(func(holder string) bool { return holder != "" && holder != former }))
	apply("2")
}
