package planstest

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/plan"
)

// Stack creates a Stack in the team's namespace, unless it exists, and sets its status.
func (c *Cluster) Stack(t *testing.T, name string, status v1.StackStatus) {
	t.Helper()
	stacks := c.objects.Resource(v1.GroupVersion.WithResource("stacks")).Namespace(Namespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": "Stack", "metadata": map[string]any{"name": name, "namespace": Namespace},
		"spec": map[string]any{"stack": "dev", "programRef": map[string]any{"name": name}},
	}}
	if _, err := stacks.Create(t.Context(), object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		t.Fatal(err)
	}
	if object, err = stacks.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	object.Object["status"] = content
	if _, err := stacks.UpdateStatus(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// DeleteStack deletes a Stack.
func (c *Cluster) DeleteStack(t *testing.T, name string) {
	t.Helper()
	if err := c.objects.Resource(v1.GroupVersion.WithResource("stacks")).Namespace(Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Plan creates a Plan in the team's namespace, in place of an older one, with a status.
func (c *Cluster) Plan(t *testing.T, name string, spec plan.Spec, status plan.Status) *plan.Plan {
	t.Helper()
	plans := c.objects.Resource(plan.Resource()).Namespace(Namespace)
	if err := plans.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	p := &plan.Plan{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}, Spec: spec}
	object, err := p.Object()
	if err == nil {
		object, err = plans.Create(t.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plan.From(object); err != nil {
		t.Fatal(err)
	}
	return c.Complete(t, p, status)
}

// Approvals returns the Approvals of the team's namespace.
func (c *Cluster) Approvals(t *testing.T) []*approval.Approval {
	t.Helper()
	list, err := c.objects.Resource(approval.Resource()).Namespace(Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*approval.Approval
	for i := range list.Items {
		a, err := approval.From(&list.Items[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// Complete sets the status of a Plan, as the operator does.
func (c *Cluster) Complete(t *testing.T, p *plan.Plan, status plan.Status) *plan.Plan {
	t.Helper()
	p.Status = status
	object, err := p.Object()
	if err == nil {
		object, err = c.objects.Resource(plan.Resource()).Namespace(Namespace).UpdateStatus(t.Context(), object, metav1.UpdateOptions{})
	}
	if err == nil {
		p, err = plan.From(object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}
