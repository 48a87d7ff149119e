// Package admission refuses the objects of a team as the API server of its platform would, without that API server.
package admission

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	rbac "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/check/kinds"
	"github.com/strata-platform/strata/internal/check/policies"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/config"
	"github.com/strata-platform/strata/platform"
)

// flux is the suffix of the groups of Flux, which every platform has. This program has no schemas of its kinds.
const flux = ".toolkit.fluxcd.io"

// Admission judges the objects that one account of a team applies.
type Admission struct {
	kinds     *kinds.Kinds
	policies  *policies.Policies
	namespace string
	account   platform.AccountLimits
}

// Kinds returns Kubernetes' own kinds, those of the operator and those of the entries of a catalogue.
func Kinds(entries []*catalogue.Entry) (*kinds.Kinds, error) {
	definitions, err := Definitions(entries)
	if err != nil {
		return nil, err
	}
	return kinds.New(definitions)
}

// Definitions returns the CustomResourceDefinitions of the operator, and of the entries of a catalogue.
func Definitions(entries []*catalogue.Entry) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(config.Files, "crd/bases/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		content, err := fs.ReadFile(config.Files, name)
		if err != nil {
			return nil, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			return nil, fmt.Errorf("read %s in this program: %w", name, err)
		}
		all = append(all, definition)
	}
	for _, entry := range entries {
		all = append(all, entry.Definition())
	}
	return all, nil
}

// New returns the admission of an account. of are the limits of its team.
func New(known *kinds.Kinds, of platform.Limits, account platform.AccountLimits) (*Admission, error) {
	made, err := policies.New(policies.Team{Namespace: of.Namespace, Account: account.Name, Policy: of.Policy})
	if err != nil {
		return nil, err
	}
	return &Admission{kinds: known, policies: made, namespace: of.Namespace, account: account}, nil
}

// Prepare compiles the policies for Stacks and Programs. It may run at the same time as Refusals.
func (a *Admission) Prepare() {
	if a.policies != nil {
		a.policies.Prepare(v1.GroupVersion.Group)
	}
}

// WithoutTeam returns an admission that knows the kinds only: it has no policies and no permissions.
func WithoutTeam(known *kinds.Kinds) *Admission { return &Admission{kinds: known} }

// Refusals returns the refusals of an object, up to the first step of the API server that refuses it. It fills in what the
// cluster fills in.
func (a *Admission) Refusals(ctx context.Context, object *unstructured.Unstructured) ([]kinds.Refusal, error) {
	kind := object.GroupVersionKind()
	resource, namespaced, known := a.kinds.Resource(kind)
	if !known && kind.Group == catalogue.Group && len(a.account.Rules) > 0 {
		// A platform has entries of its own, which only its repository contains.
		return nil, nil
	}
	if !known && !strings.HasSuffix(kind.Group, flux) {
		return []kinds.Refusal{{Field: "kind", Reason: metav1.StatusReasonNotFound,
			Message: fmt.Sprintf("no matches for kind %q in version %q", kind.Kind, kind.GroupVersion())}}, nil
	}
	if refusal, denied := a.forbidden(object, resource, namespaced); denied {
		return []kinds.Refusal{refusal}, nil
	}
	if a.policies == nil && namespaced && object.GetNamespace() == "" {
		// Flux sets the team's namespace, which is unknown here.
		object.SetNamespace("default")
		defer object.SetNamespace("")
	}
	all, err := a.kinds.Admit(ctx, object, func() error {
		if a.policies == nil {
			return nil
		}
		return a.policies.Fill(ctx, object, resource)
	})
	if err != nil || len(all) > 0 || a.policies == nil {
		return all, err
	}
	for _, denial := range a.policies.Judge(ctx, object, resource) {
		all = append(all, kinds.Refusal{Field: fieldOf(object, denial.Message), Reason: metav1.StatusReasonInvalid, Message: denial.Error()})
	}
	return all, nil
}

// forbidden returns the refusal of an account without the permission to apply an object.
func (a *Admission) forbidden(object *unstructured.Unstructured, resource schema.GroupVersionResource, namespaced bool) (kinds.Refusal, bool) {
	if a.policies == nil {
		return kinds.Refusal{}, false
	}
	namespace := ""
	if namespaced {
		namespace = object.GetNamespace()
	}
	allowed := namespace == a.namespace && slices.ContainsFunc(a.account.Rules, func(rule rbac.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, resource.Group) && slices.Contains(rule.Resources, resource.Resource) &&
			slices.Contains(rule.Verbs, "patch") && slices.Contains(rule.Verbs, "create") &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, object.GetName()))
	})
	if allowed {
		return kinds.Refusal{}, false
	}
	user := "system:serviceaccount:" + a.namespace + ":" + a.account.Name
	return kinds.Forbidden(object, resource.Resource, resource.Group, namespace, user), true
}
