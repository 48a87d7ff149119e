package prerequisites

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
)

// chain is a reader with an endless chain of Stacks. Each has the next two as
// prerequisites.
type chain struct {
	client.Reader
	reads int
}

func (c *chain) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.reads++
	stack := object.(*v1.Stack)
	stack.Namespace, stack.Name = key.Namespace, key.Name
	var number int
	_, err := fmt.Sscan(key.Name, &number)
	stack.Spec.Prerequisites = requires(number+1, 2)
	return err
}

func requires(first, count int) (refs []v1.PrerequisiteRef) {
	for i := range count {
		refs = append(refs, v1.PrerequisiteRef{Name: fmt.Sprint(first + i)})
	}
	return refs
}

func TestPrerequisitesThatAreTooManyAreNotRead(t *testing.T) {
	for name, direct := range map[string]int{"one leads to the next": 1, "all at once": 10_000} {
		t.Run(name, func(t *testing.T) {
			reader := &chain{}
			c := &Checker{Reader: reader, Stack: &v1.Stack{}, Depend: func(dependents.Object) {}}
			c.Stack.Spec.Prerequisites = requires(1, direct)
			if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 100") {
				t.Errorf("error %v, want one that says how many there may be", err)
			}
			if reader.reads > fields.MostPrerequisites+1 {
				t.Errorf("%d Stacks were read", reader.reads)
			}
		})
	}
}
