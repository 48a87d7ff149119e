// Package tenant reads the TenantPolicy of a namespace, by which the platform describes the namespace's team.
package tenant

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/handoff/keyless"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/project"
)

// Policy is the spec of the one TenantPolicy of a namespace.
type Policy struct {
	Team string `json:"team"`

	// Contact is the contact for requests beyond the policy.
	Contact string `json:"contact"`

	// Types lists the resource types that the team may declare, as people write them. TypeNames and TypePrefixes are the same
	// types in the form for comparison.
	Types        []string `json:"types"`
	TypeNames    []string `json:"typeNames"`
	TypePrefixes []string `json:"typePrefixes"`

	// Accounts lists the service accounts that Flux applies the team's repository under.
	Accounts []string `json:"accounts"`

	// StackAccounts lists the service accounts that the team's Stacks may run as.
	StackAccounts []string `json:"stackAccounts"`

	// RunTimeout is the time limit of a run, as a Go duration. If RunTimeout is empty, the operator's limit applies.
	RunTimeout string `json:"runTimeout"`

	// Orders is the number of orders of the catalogue that the team may have, by the name of the entry.
	Orders map[string]int `json:"orders"`

	// Approval says which changes of the team's Stacks need an approval: data, always or never. Empty means data.
	Approval string `json:"approval"`

	// Notify is the name of the Kustomization in Flux's namespace about which the operator sends the results of Plans to Flux. Empty means
	// that it sends none.
	Notify string `json:"notify"`

	// Context names the Secret and the ConfigMap that the platform creates for the team's Stacks, and the only secrets provider
	// of their states; an empty SecretsProvider means the passphrase of the Secret. GoogleAccount is the Google account of the team, and
	// GoogleAudience the audience for the exchange of its tokens; empty means no account without a key.
	Context struct {
		Name            string `json:"name"`
		SecretsProvider string `json:"secretsProvider"`
		GoogleAccount   string `json:"googleAccount"`
		GoogleAudience  string `json:"googleAudience"`
	} `json:"context"`
}

// Google returns the Google account that the team's Stacks act as without a key, or nil if there is none. It may be called on nil.
func (p *Policy) Google() *keyless.Identity {
	if p == nil || p.Context.GoogleAudience == "" {
		return nil
	}
	return &keyless.Identity{Account: p.Context.GoogleAccount, Audience: p.Context.GoogleAudience}
}

// Name is the name of the one TenantPolicy of a namespace.
const Name = "strata"

var (
	kind     = schema.GroupVersionKind{Group: "strata.dev", Version: "v1", Kind: "TenantPolicy"}
	resource = kind.GroupVersion().WithResource("tenantpolicies")
)

// ErrMissing means that the cluster has the kind TenantPolicy and the namespace has no policy.
var ErrMissing = errors.New("strata layer up platform creates it")

// Reader reads the TenantPolicy of one namespace, once. Create a Reader for each reconciliation.
type Reader struct {
	mapper    meta.RESTMapper
	reader    client.Reader
	namespace string
	depend    func(dependents.Object)

	// policy is nil until the Reader has read one.
	policy *Policy
}

// NewReader returns a Reader of the policy of namespace. The Reader calls depend with the TenantPolicy before it reads the
// TenantPolicy.
func NewReader(mapper meta.RESTMapper, reader client.Reader, namespace string, depend func(dependents.Object)) *Reader {
	return &Reader{mapper: mapper, reader: reader, namespace: namespace, depend: depend}
}

// Policy returns the namespace's policy. Policy returns nil if the cluster does not have the kind TenantPolicy, and
// [ErrMissing] if the cluster has the kind and the namespace has no policy.
func (r *Reader) Policy(ctx context.Context) (*Policy, error) {
	if r.policy != nil {
		return r.policy, nil
	}
	// A watch of a missing kind would fail, and the Stack would poll every minute.
	if _, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("look for the kind %s: %w", kind.Kind, err)
	}
	r.depend(dependents.On(resource, r.namespace, Name))
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: r.namespace, Name: Name}
	if err := r.reader.Get(ctx, key, object); meta.IsNoMatchError(err) {
		return nil, nil
	} else if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no TenantPolicy %s, which lists the types that a project may declare: %w", key, ErrMissing)
	} else if err != nil {
		return nil, fmt.Errorf("read TenantPolicy %s: %w", key, err)
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	found := &Policy{}
	if err := kruntime.DefaultUnstructuredConverter.FromUnstructured(spec, found); err != nil {
		return nil, fmt.Errorf("read TenantPolicy %s: %w", key, err)
	}
	r.policy = found
	return found, nil
}

// Allowed returns the declarations that a project from this source may contain, or nil if nothing restricts them. A nil
// source is a Program: admission checks Programs, because admission knows who created them. The error is [ErrMissing] if the
// namespace has no policy and needs one.
func (r *Reader) Allowed(ctx context.Context, from engine.Source) (*project.Allowed, error) {
	if from == nil {
		return nil, nil
	}
	found, err := r.Policy(ctx)
	if err != nil || found == nil {
		return nil, err
	}
	return &project.Allowed{Types: found.TypeNames, Prefixes: found.TypePrefixes, Team: found.Team, Contact: found.Contact, Written: found.Types}, nil
}

// Refusals records which declarations were allowed when the engine refused a project, so that a change of the policy triggers
// a new run. After a restart, the operator runs refused projects once more, because it has no records then. The zero value is
// ready to use.
type Refusals struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]*project.Allowed
}

// Note records the allowed declarations at the time when the engine refused a Stack's project.
func (r *Refusals) Note(stack *v1.Stack, by *project.Allowed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.NamespacedName]*project.Allowed{}
	}
	r.seen[client.ObjectKeyFromObject(stack)] = by
}

// Obsolete reports whether the engine refused a Stack's project under a policy that has changed since.
func (r *Refusals) Obsolete(stack *v1.Stack, now *project.Allowed) bool {
	stalled := meta.FindStatusCondition(stack.Status.Conditions, v1.StalledCondition)
	if stalled == nil || stalled.Reason != v1.StalledTypeNotAllowedReason {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !reflect.DeepEqual(r.seen[client.ObjectKeyFromObject(stack)], now)
}

// Forget drops the record of a deleted Stack.
func (r *Refusals) Forget(stack types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, stack)
}

// Advice returns the advice for a Secret or ConfigMap that does not exist, or does not have the key of a reference. If the platform
// creates the object, the advice names the policy's contact. For other objects, Advice returns its argument otherwise.
func (r *Reader) Advice(ctx context.Context, name, otherwise string) string {
	// If the policy cannot be read, the missing object is still the more important problem.
	found, err := r.Policy(ctx)
	if err != nil || found == nil || found.Context.Name != name {
		return otherwise
	}
	return "strata layer up platform creates it: ask " + found.Contact
}
