package controller

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

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/project"
)

// tenant is the spec of the one TenantPolicy of a namespace, by which the platform describes the namespace's team.
type tenant struct {
	Team string `json:"team"`

	// Contact is the contact for requests beyond the policy.
	Contact string `json:"contact"`

	// Types lists the resource types that the team may declare, as people write them. TypeNames and TypePrefixes are the same
	// types in the form for comparison.
	Types        []string `json:"types"`
	TypeNames    []string `json:"typeNames"`
	TypePrefixes []string `json:"typePrefixes"`

	// RunTimeout is the time limit of a run, as a Go duration. If RunTimeout is empty, the operator's limit applies.
	RunTimeout string `json:"runTimeout"`

	// Context names the Secret and the ConfigMap that the platform creates for the team's Stacks.
	Context struct {
		Name string `json:"name"`
	} `json:"context"`
}

// tenantName is the name of the one TenantPolicy of a namespace.
const tenantName = "strata"

var (
	tenantKind     = schema.GroupVersionKind{Group: "strata.dev", Version: "v1", Kind: "TenantPolicy"}
	tenantResource = tenantKind.GroupVersion().WithResource("tenantpolicies")
)

// errNoTenant means that the cluster has the kind TenantPolicy and the namespace has no policy.
var errNoTenant = errors.New("layer 2 makes it, by strata layer up platform")

// tenant reads the namespace's TenantPolicy once per session. tenant returns nil if the cluster does not have the kind, and
// errNoTenant if the cluster has the kind and the namespace has no policy.
func (s *session) tenant(ctx context.Context) (*tenant, error) {
	if s.policy != nil {
		return s.policy, nil
	}
	// A watch of a missing kind would fail, and the Stack would poll every minute.
	if _, err := s.client.RESTMapper().RESTMapping(tenantKind.GroupKind(), tenantKind.Version); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("look for the kind %s: %w", tenantKind.Kind, err)
	}
	s.depend(dependency{scope{tenantResource, s.stack.Namespace}, tenantName})
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(tenantKind)
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: tenantName}
	if err := s.reader.Get(ctx, key, object); meta.IsNoMatchError(err) {
		return nil, nil
	} else if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no TenantPolicy %s, which says what a project may declare: %w", key, errNoTenant)
	} else if err != nil {
		return nil, fmt.Errorf("read what the team is allowed, TenantPolicy %s: %w", key, err)
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	found := &tenant{}
	if err := kruntime.DefaultUnstructuredConverter.FromUnstructured(spec, found); err != nil {
		return nil, fmt.Errorf("read what the team is allowed, TenantPolicy %s: %w", key, err)
	}
	s.policy = found
	return found, nil
}

// allowed returns what a project from this source may declare, or nil if nothing restricts it. Admission checks Programs,
// because admission knows who created them. The error is errNoTenant if the namespace lacks its policy.
func (s *session) allowed(ctx context.Context, from engine.Source) (*project.Allowed, error) {
	if from == nil {
		return nil, nil
	}
	found, err := s.tenant(ctx)
	if err != nil || found == nil {
		return nil, err
	}
	return found.allowed(), nil
}

func (t *tenant) allowed() *project.Allowed {
	return &project.Allowed{Types: t.TypeNames, Prefixes: t.TypePrefixes, Team: t.Team, Contact: t.Contact, Written: t.Types}
}

// refusals records what was allowed when the engine refused a project, so that a change of the policy triggers a new run.
// After a restart the operator runs refused projects once more, because it has no records then.
type refusals struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]*project.Allowed
}

// note records what was allowed when the engine refused a Stack's project.
func (r *refusals) note(stack *v1.Stack, by *project.Allowed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.NamespacedName]*project.Allowed{}
	}
	r.seen[client.ObjectKeyFromObject(stack)] = by
}

// obsolete reports whether the engine refused a Stack's project under a policy that has changed since.
func (r *refusals) obsolete(stack *v1.Stack, now *project.Allowed) bool {
	stalled := meta.FindStatusCondition(stack.Status.Conditions, v1.StalledCondition)
	if stalled == nil || stalled.Reason != v1.StalledTypeNotAllowedReason {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !reflect.DeepEqual(r.seen[client.ObjectKeyFromObject(stack)], now)
}

// forget drops the record of a deleted Stack.
func (r *refusals) forget(stack types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, stack)
}

// mend returns the advice for a Secret or ConfigMap that is missing or lacks a key. If the platform makes the object, the
// advice names the policy's contact. For other objects, mend returns its argument otherwise.
func (s *session) mend(ctx context.Context, name, otherwise string) string {
	// If the policy cannot be read, the missing object is still the more important problem.
	found, err := s.tenant(ctx)
	if err != nil || found == nil || found.Context.Name != name {
		return otherwise
	}
	return "layer 2 makes it, by strata layer up platform: ask " + found.Contact
}
