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
)

// tenant is what the platform says of the team whose namespace this is, in the one TenantPolicy there.
type tenant struct {
	Team string `json:"team"`

	// Contact is whom to ask for what is not allowed.
	Contact string `json:"contact"`

	// Types are the types that the team may declare, as people write them; TypeNames and TypePrefixes are the same for
	// comparison.
	Types        []string `json:"types"`
	TypeNames    []string `json:"typeNames"`
	TypePrefixes []string `json:"typePrefixes"`

	// RunTimeout is how long a run may take, as Go writes durations; empty leaves it to the operator.
	RunTimeout string `json:"runTimeout"`

	// Context names the Secret and the ConfigMap that the platform makes for the team's Stacks.
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

// errNoTenant is the cause where the platform says what teams are allowed, and says nothing of this namespace's.
var errNoTenant = errors.New("layer 2 makes it, by strata layer up platform")

// tenant reads the namespace's TenantPolicy, once. It is nil where the cluster has no such kind, and errNoTenant where it has.
func (s *session) tenant(ctx context.Context) (*tenant, error) {
	if s.policy != nil {
		return s.policy, nil
	}
	// A watch of a kind that is not there would fail, and have the Stack look every minute instead.
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

// allowed says what a project of this source may declare, nil where nothing bounds it. Programs are the business of
// admission, which knows who made them. The error is errNoTenant where it is not known what a project may declare.
func (s *session) allowed(ctx context.Context, from engine.Source) (*engine.Allowed, error) {
	if from == nil {
		return nil, nil
	}
	found, err := s.tenant(ctx)
	if err != nil || found == nil {
		return nil, err
	}
	return found.allowed(), nil
}

func (t *tenant) allowed() *engine.Allowed {
	return &engine.Allowed{Types: t.TypeNames, Prefixes: t.TypePrefixes, Team: t.Team, Contact: t.Contact, Written: t.Types}
}

// refusals remembers what was allowed when projects were refused, so that they are looked at again as soon as that has
// changed. An operator that has just started looks again, too.
type refusals struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]*engine.Allowed
}

// note notes what is allowed as a Stack's project is refused.
func (r *refusals) note(stack *v1.Stack, by *engine.Allowed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.NamespacedName]*engine.Allowed{}
	}
	r.seen[client.ObjectKeyFromObject(stack)] = by
}

// obsolete tells whether a Stack's project was refused by what has changed since.
func (r *refusals) obsolete(stack *v1.Stack, now *engine.Allowed) bool {
	stalled := meta.FindStatusCondition(stack.Status.Conditions, v1.StalledCondition)
	if stalled == nil || stalled.Reason != v1.StalledTypeNotAllowedReason {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !reflect.DeepEqual(r.seen[client.ObjectKeyFromObject(stack)], now)
}

// forget forgets a Stack that is gone.
func (r *refusals) forget(stack types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, stack)
}

// mend says what to do about a Secret or ConfigMap that lacks something: of those that the platform makes, whom to ask.
func (s *session) mend(ctx context.Context, name, otherwise string) string {
	// Where the policy cannot be read, what is missing is still what matters.
	found, err := s.tenant(ctx)
	if err != nil || found == nil || found.Context.Name != name {
		return otherwise
	}
	return "layer 2 makes it, by strata layer up platform: ask " + found.Contact
}
