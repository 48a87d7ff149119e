package claims

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
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
	claims := New(behind{}, holds{info: info})
	claim := func(name string) error {
		stack := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: name}}
		c := &Claimant{Claims: claims, Stack: stack, Depend: func(dependents.Object) {}}
		return c.Claim(t.Context(), info, func() error { return nil })
	}
	if err := claim("a"); err != nil {
		t.Fatal(err)
	}
	if err := claim("b"); err == nil || !strings.Contains(err.Error(), "Stack a holds stack dev of project shop") {
		t.Errorf("error %v, want one that names who holds it", err)
	}
	claims.reader = holds{}
	if err := claim("b"); err != nil {
		t.Errorf("what was let go of is refused: %v", err)
	}
	if _, kept := claims.namespaces[first.Namespace].fresh[first.Name]; kept {
		t.Error("a claim that is gone is kept")
	}
	claims.Forget(types.NamespacedName{Namespace: first.Namespace, Name: "b"})
	if len(claims.namespaces) > 0 {
		t.Error("something is kept of a namespace that has no claims")
	}
}

func TestClaimsOfDifferentTeamsDoNotWaitForEachOther(*testing.T) {
	c := New(nil, nil)
	_, unlock := c.lock("slow")
	defer unlock()
	_, other := c.lock("other")
	other()
}
