// Package plan contains the kind Plan: what the Stacks of a commit would do to their resources, computed before the commit is
// applied. Somebody who may read a team's repository creates a Plan, and the operator writes its status.
//
// A Plan contains the built objects of the commit, so that the operator needs neither access to the repository nor Flux's
// build. The operator runs `pulumi preview` for each Stack that the commit changes, as an account that may only read, and from
// a copy of the state without its secrets: a commit that nobody has reviewed gets no credential and no secret.
package plan

import (
	"crypto/sha256"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names of the kind.
const (
	Group   = "strata.dev"
	Version = "v1"
	Kind    = "Plan"
	Plural  = "plans"
)

// Account is the name of the service account, in each team's namespace, that the previews of Plans run as. It may read what
// the team's own accounts may read, except Secrets.
const Account = "strata-plan"

// stackPrefix begins the names of the Plans that show the runs of Stacks. The names of other Plans contain no dot.
const stackPrefix = "stack."

// NameOf returns the name of the Plan that shows the run of a Stack which waits for an approval.
func NameOf(stack string) string {
	if name := stackPrefix + stack; len(name) <= longestName {
		return name
	}
	return fmt.Sprintf("%s%s-%x", stackPrefix, stack[:longestName-len(stackPrefix)-17], sha256.Sum256([]byte(stack)))[:longestName]
}

// IsOfStack reports whether [NameOf] returns a name for some Stack. Only the operator keeps Plans of such names.
func IsOfStack(name string) bool { return strings.HasPrefix(name, stackPrefix) }

// longestName is the length of the longest name of an object.
const longestName = 253

// Resource returns the resource of Plans.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: Plural}
}

// Plan is the plan of one commit.
type Plan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec says what to plan. It cannot be changed after the creation of the Plan.
type Spec struct {
	// Branch is the branch of the commit, without refs/heads/, or empty for a commit that is on no branch.
	Branch string `json:"branch,omitempty"`

	// Commit is the full hexadecimal ID of the commit.
	Commit string `json:"commit,omitempty"`

	// Account is the service account that Flux applies the repository under. The operator asks the API server with it how
	// admission would change the objects, and whether admission would accept them.
	Account string `json:"account,omitempty"`

	// Sync is the name of the Kustomization that applies the repository. A Stack that it has applied, and that the commit no
	// longer contains, is planned to be deleted. Without Sync, no Stack is.
	Sync string `json:"sync,omitempty"`

	// Report puts the result on the commit. Its creator vouches that Manifests are those of Commit. The API server accepts it only from
	// those who have the permission "report" on Plans.
	Report bool `json:"report,omitempty"`

	// Stack names the Stack that waits for an approval of this Plan. The operator creates such a Plan, with what the Stack's next
	// run would do. It has neither Account nor Manifests, and a Commit only if the operator knows it.
	Stack string `json:"stack,omitempty"`

	// Manifests are the built Stacks and Programs of the commit, the ConfigMaps that its Stacks refer to, and its orders of the
	// catalogue, as a stream of YAML documents of at most 900,000 bytes. They are empty for a commit without any, such as one that
	// deletes the last Stack.
	Manifests string `json:"manifests"`
}

// Phases of a Plan. An empty phase means that the operator has not seen the Plan yet.
const (
	Running = "Running"
	// Ready means that each Stack of the commit is planned.
	Ready = "Ready"
	// Failed means that at least one Stack could not be planned: its Message, or that of the Plan, says why.
	Failed = "Failed"
)

// Status is the result. Only the operator writes it.
type Status struct {
	// Phase is Running, Ready or Failed.
	Phase string `json:"phase,omitempty"`

	// Message says in one line why the Plan failed, or what it waits for.
	Message string `json:"message,omitempty"`

	// Completed is the time of the operator's machine at which the Plan became Ready or Failed.
	Completed *metav1.Time `json:"completed,omitempty"`

	// Reported is the time of the operator's machine at which Flux's notification-controller accepted the result, for the commit. It is nil
	// without [Spec.Report], and until then.
	Reported *metav1.Time `json:"reported,omitempty"`

	// Digest identifies the content of Stacks: sha256:HEX. It is empty until the Plan is Ready.
	Digest string `json:"digest,omitempty"`

	// Stacks are the Stacks that the commit changes, by their names, and an entry for its [Orders] if they change.
	Stacks []Stack `json:"stacks,omitempty"`
}

// Orders is the name of the entry about the team's orders of the catalogue. No Stack has this name, so no approval of the Plan covers a
// Stack by this entry. The steps of the entry are changes of the orders themselves.
const Orders = "orders of the catalogue"

// Stack is the plan of one Stack, or of the [Orders] of the commit.
type Stack struct {
	Name string `json:"name"`

	// Content is the digest of what the preview ran, sha256:HEX: program, config and options. An approval of the plan covers a run
	// of the same content only.
	Content string `json:"content,omitempty"`

	// State is the digest of the state that the plan starts from, sha256:HEX, or empty for a Stack without state.
	State string `json:"state,omitempty"`

	// Approval says why a run of this plan waits for an approval: "data", because it deletes or replaces a resource that holds data, or
	// "always", because every change of the Stack needs an approval. It is empty if the run needs none.
	Approval string `json:"approval,omitempty"`

	// Removed says that the commit no longer contains the Stack.
	Removed bool `json:"removed,omitempty"`

	// Message says in one line why the Stack could not be planned, or what the plan of the Stack leaves out.
	Message string `json:"message,omitempty"`

	// Failed says that the Stack could not be planned.
	Failed bool `json:"failed,omitempty"`

	// Unseen says that the plan does not know what the commit does to the resources of the Stack: Message says why.
	Unseen bool `json:"unseen,omitempty"`

	// Changes counts the resources by what happens to them: create, update, replace, delete, same and so on.
	Changes map[string]int `json:"changes,omitempty"`

	// Steps are the changes of resources, first those that lose data. More counts the steps beyond those in Steps.
	Steps []Step `json:"steps,omitempty"`
	More  int    `json:"more,omitempty"`

	// Uncompared counts the fields whose secret values the plan could not compare, because it saw neither.
	Uncompared int `json:"uncompared,omitempty"`
}

// Step is the change of one resource.
type Step struct {
	// Op is create, update, replace, delete, read or import.
	Op string `json:"op"`

	// Name is the resource's name in its program, and Type its type, as in "gcp:sql/database:Database".
	Name string `json:"name"`
	Type string `json:"type"`

	// LosesData says that the step deletes or replaces a resource that holds data.
	LosesData bool `json:"losesData,omitempty"`

	// Fields are the fields that change, by their paths. More counts the fields beyond those in Fields.
	Fields []Field `json:"fields,omitempty"`
	More   int     `json:"more,omitempty"`
}

// Field is a field that changes.
type Field struct {
	// Path is the field's path, as in "spec.replicas" or "rules[0].ports".
	Path string `json:"path"`

	// Before and After are the values as JSON, cut if they are long. They are empty for a missing value, and "[secret]" for a
	// secret.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	// Replaces says that the change of this field makes Pulumi replace the resource.
	Replaces bool `json:"replaces,omitempty"`
}

// From reads a Plan.
func From(object *unstructured.Unstructured) (*Plan, error) {
	p := &Plan{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, p); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", Kind, object.GetNamespace(), object.GetName(), err)
	}
	return p, nil
}

// Object returns the Plan for a client of the API server.
func (p *Plan) Object() (*unstructured.Unstructured, error) {
	p.APIVersion, p.Kind = Group+"/"+Version, Kind
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, fmt.Errorf("write %s %s/%s: %w", Kind, p.Namespace, p.Name, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}
