package controller

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// behind is a cache that does not show yet what Stack a holds.
type behind struct{ client.Client }

func (behind) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1.StackList).Items = []v1.Stack{{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}}
	return nil
}

// holds is a reader for which every Stack holds info.
type holds struct {
	client.Reader
	info *v1.ProjectInfo
}

func (h holds) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.(*v1.Stack).Status.ProjectInfo = h.info
	return nil
}

func TestClaimThatTheCacheDoesNotShowYetCounts(t *testing.T) {
	info := &v1.ProjectInfo{Name: "shop", Stack: "dev", Backend: "gs://state"}
	first := types.NamespacedName{Namespace: "team", Name: "a"}
	r := &stackReconciler{
		client: behind{}, reader: holds{info: info}, dependents: newDependents(nil, logr.Discard(), nil),
	}
	claim := func(name string) error {
		s := &session{stackReconciler: r, stack: &v1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: name}}}
		return s.claim(t.Context(), info, func() error { return nil })
	}
	if err := claim("a"); err != nil {
		t.Fatal(err)
	}
	if err := claim("b"); err == nil || !strings.Contains(err.Error(), "Stack a holds stack dev of project shop") {
		t.Errorf("error %v, want one that names who holds it", err)
	}
	r.reader = holds{}
	if err := claim("b"); err != nil {
		t.Errorf("what was let go of is refused: %v", err)
	}
	if _, kept := r.claims.of[first.Namespace].fresh[first.Name]; kept {
		t.Error("a claim that is gone is kept")
	}
	r.claims.forget(types.NamespacedName{Namespace: first.Namespace, Name: "b"})
	if len(r.claims.of) > 0 {
		t.Error("something is kept of a namespace that has no claims")
	}
}

func TestClaimOfOneTeamWaitsForNoOthers(*testing.T) {
	c := &claims{}
	_, unlock := c.lock("slow")
	defer unlock()
	_, other := c.lock("other")
	other()
}
