package teardown_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/test/long"
)

const lateStack = `{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: late, namespace: team-web, finalizers: [finalizer.stack.pulumi.com]},
  spec: {stack: dev, programRef: {name: late}, destroyOnFinalize: true}}`

// leaving reports whether an object is being deleted, or gone.
func (c cluster) leaving(object client.Object) bool {
	c.t.Helper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := c.Get(c.t.Context(), client.ObjectKeyFromObject(object), found)
	if err != nil && !apierrors.IsNotFound(err) {
		c.t.Fatal(err)
	}
	return err != nil || found.GetDeletionTimestamp() != nil
}

func TestALateStackIsDestroyedBeforeTheOperator(t *testing.T) {
	long.Test(t)
	c := start(t)
	web, root := c.create(sync("team-web", "web")), c.create(sync("platform", "platform"))
	operator := c.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: operator, namespace: operator}}`)

	if count, err := c.down.DestroyStacks(t.Context(), silent); err != nil || count != 0 {
		t.Fatalf("%d Stacks were destroyed (%v)", count, err)
	}
	if !c.suspended(web) {
		t.Error("Flux may still apply a new Stack")
	}

	var stack *unstructured.Unstructured
	destroyed := false
	_, err := c.down.Empty(t.Context(), func(what string) {
		switch {
		case strings.Contains(what, "Kustomization team-web/web") && stack == nil:
			// Flux was applying the Stack when it was suspended.
			stack = c.create(lateStack)
			c.free(web)
		case strings.Contains(what, "Stack team-web/late") && !destroyed:
			if c.leaving(root) || c.leaving(operator) {
				t.Error("the operator is deleted before the Stack")
			}
			destroyed = true
			c.free(stack)
		case strings.Contains(what, "Kustomization platform/platform") && c.leaving(root):
			if !destroyed {
				t.Error("the platform's sync is deleted before the Stack")
			}
			if err := client.IgnoreNotFound(c.Patch(t.Context(), root, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || !destroyed {
		t.Errorf("the Stack was destroyed: %t, the error is %v", destroyed, err)
	}
}

func TestTheReportOnAStackWithoutOperatorNamesItsResources(t *testing.T) {
	long.Test(t)
	c := start(t)
	stack := c.create(lateStack)
	team := &unstructured.Unstructured{}
	team.SetAPIVersion("v1")
	team.SetKind("Namespace")
	team.SetName("team-web")
	if err := c.Delete(t.Context(), team); err != nil {
		t.Fatal(err)
	}
	err := c.down.Resume(t.Context(), silent)
	c.blocked(err, []string{"Stack team-web/late"}, "its resources in the cloud still exist", "let the operator destroy them, or delete them by hand and run")
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the report has more than one line:\n%v", err)
	}
	c.free(stack)
}

func TestTeamsThatFailTheCheckStay(t *testing.T) {
	long.Test(t)
	c := start(t)
	web := c.create(sync("team-web", "web"))
	unfit := errors.New("there is a new Stack")
	err := c.down.DeleteTeams(t.Context(), []string{"team-web"}, func(context.Context) error {
		if !c.suspended(web) {
			t.Error("the check runs while Flux may still apply a Stack")
		}
		return unfit
	}, silent)
	if !errors.Is(err, unfit) || c.suspended(web) || c.leaving(web) {
		t.Errorf("the error is %v, suspended: %t, leaving: %t", err, c.suspended(web), c.leaving(web))
	}
}

func TestAnInterruptedTeardownIsRecognisedByItsSuspensions(t *testing.T) {
	long.Test(t)
	c := start(t)
	web := c.create(sync("team-web", "web"))
	c.patch(web, `{"spec":{"suspend":true}}`)
	if is, err := c.down.Suspended(t.Context()); err != nil || is {
		t.Errorf("a suspension by somebody else counts: %t, %v", is, err)
	}
	c.patch(web, `{"spec":{"suspend":null}}`)
	cut, cancel := context.WithCancel(t.Context())
	err := c.down.DeleteTeams(cut, []string{"team-web"}, func(context.Context) error { cancel(); return cut.Err() }, silent)
	if !errors.Is(err, context.Canceled) || !c.suspended(web) {
		t.Fatalf("the error is %v", err)
	}
	if is, err := c.down.Suspended(t.Context()); err != nil || !is {
		t.Errorf("a suspension by a teardown does not count: %t, %v", is, err)
	}
	if err := c.down.Resume(t.Context(), silent); err != nil || c.suspended(web) {
		t.Errorf("the sync stays suspended (%v)", err)
	}
	if is, err := c.down.Suspended(t.Context()); err != nil || is {
		t.Errorf("a resumed sync counts as suspended: %t, %v", is, err)
	}
}
