// Package approval contains the kind Approval: the consent of a person to what a Plan says, or to the destruction of Stacks. The
// operator waits for an Approval before it deletes or replaces a resource that holds data, unless the platform says otherwise.
package approval

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/plan"
)

// Names of the kind. It has the group and version of [plan.Kind].
const (
	Kind   = "Approval"
	Plural = "approvals"
)

// When a team's Stacks need an Approval: the values of approval in a TenantPolicy, and of the annotation of a Stack.
const (
	// Data asks for an Approval of deletions and replacements of resources that hold data. It is the default.
	Data = "data"

	// Always asks for an Approval of every change.
	Always = "always"

	// Never asks for none.
	Never = "never"
)

// Annotation of a Stack demands an Approval of every change if its value is [Always]. A Stack cannot demand less than its team's
// TenantPolicy.
const Annotation = "strata.dev/approval"

// MostStacks is the number of Stacks that one Approval can contain.
const MostStacks = 1000

// ToApprove stands in the message of a Stack that waits, between what would happen and the command that approves it. Without it, nobody
// can approve.
const ToApprove = "; to approve it: "

// Resource returns the resource of Approvals.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: plan.Group, Version: plan.Version, Resource: Plural}
}

// Approval is the consent of one person. Its spec cannot be changed.
type Approval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec Spec `json:"spec"`
}

// Spec says who approves what. Either Plan or Destroy is set.
type Spec struct {
	// By is the name of the user who approves. The admission policy of layer 3 accepts only the name of the user who creates the
	// Approval.
	By string `json:"by"`

	// Plan is the approved Plan.
	Plan *Plan `json:"plan,omitempty"`

	// Destroy are Stacks whose resources may be destroyed, without a Plan. `strata down` and `strata team remove` create such an
	// Approval.
	Destroy []Stack `json:"destroy,omitempty"`
}

// Plan identifies a Plan of the Approval's namespace and its result. The Plan's spec, which names the commit, cannot change, and its
// digest covers the states that the plan starts from.
type Plan struct {
	Name   string    `json:"name"`
	UID    types.UID `json:"uid"`
	Digest string    `json:"digest"`
}

// Stack identifies a Stack of the Approval's namespace.
type Stack struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// From reads an Approval.
func From(object *unstructured.Unstructured) (*Approval, error) {
	a := &Approval{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, a); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", Kind, object.GetNamespace(), object.GetName(), err)
	}
	return a, nil
}

// Object returns the Approval for a client of the API server.
func (a *Approval) Object() (*unstructured.Unstructured, error) {
	a.APIVersion, a.Kind = plan.Group+"/"+plan.Version, Kind
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	if err != nil {
		return nil, fmt.Errorf("write %s %s/%s: %w", Kind, a.Namespace, a.Name, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}
