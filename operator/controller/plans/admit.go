package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/controller/plans/commit"
	"github.com/strata-platform/strata/operator/controller/plans/ordered"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/plan"
)

// fluxOwner is the field owner of Flux's kustomize-controller, which applies the commit. With the same owner, a dry run removes the
// fields that the commit no longer contains.
const fluxOwner = "kustomize-controller"

// Labels and annotations of kustomize-controller (its package kustomizev1, the constants of the API group).
const (
	syncLabel          = "kustomize.toolkit.fluxcd.io/name"
	syncNamespaceLabel = "kustomize.toolkit.fluxcd.io/namespace"
	pruneAnnotation    = "kustomize.toolkit.fluxcd.io/prune"
)

// begin finds the Stacks that the commit of a Plan changes. It returns why the Plan fails, or an error if another attempt may succeed.
func (r *reconciler) begin(ctx context.Context, w *work, p *plan.Plan) (failure string, err error) {
	ctx, cancel := context.WithTimeout(ctx, beginLimit)
	defer cancel()
	w.size = planned.SizeOf(p)
	if w.size > mostObject {
		return fmt.Sprintf("the Plan has %d bytes, at most %d are possible: leave out objects that no Stack needs", w.size, mostObject), nil
	}
	if p.Spec.Stack != "" {
		return "spec.stack: only the operator creates the Plan of a Stack", nil
	}
	if r.Unconfined != nil {
		return "this operator cannot isolate previews, so it plans no commit that nobody has reviewed: " + r.Unconfined.Error(), nil
	}
	policy, err := tenant.NewReader(r.Client.RESTMapper(), r.Client, p.Namespace, func(dependents.Object) {}).Policy(ctx)
	switch {
	case errors.Is(err, tenant.ErrMissing) || err == nil && policy == nil:
		return fmt.Sprintf("the namespace %s belongs to no team: plan in the namespace of a team", p.Namespace), nil
	case err != nil:
		return "", err
	case !slices.Contains(policy.Accounts, p.Spec.Account):
		return fmt.Sprintf("spec.account %q is no account of team %s", p.Spec.Account, policy.Team), nil
	}
	c, err := commit.Parse(p.Spec.Manifests, p.Namespace)
	if err != nil {
		return err.Error(), nil
	}
	if err := r.write(ctx, w, plan.Status{Phase: plan.Running}); err != nil {
		return "", err
	}
	config, err := identity.As(ctx, r.Client, r.Config, p.Namespace, p.Spec.Account)
	if err != nil {
		return "", err
	}
	as, err := client.New(config, client.Options{Mapper: r.Client.RESTMapper(), Scheme: r.Client.Scheme()})
	if err != nil {
		return "", fmt.Errorf("connect to the cluster as %s: %w", p.Spec.Account, err)
	}
	a := &admission{reconciler: r, as: as, commit: c, plan: p, team: policy.Team, changed: map[string]map[string]bool{}, refused: map[string]map[string]string{}}
	if err := a.admit(ctx); err != nil {
		return "", err
	}
	w.configMaps = c.Objects[commit.ConfigMapKind]
	return "", a.find(ctx, w)
}

// admission is what admission makes of a commit.
type admission struct {
	*reconciler
	as     client.Client
	commit *commit.Commit
	plan   *plan.Plan
	team   string

	// changed holds the objects that are new or that the commit changes, and refused the API server's words for those that it refuses,
	// by kind and name. live holds the Stacks that exist.
	changed map[string]map[string]bool
	refused map[string]map[string]string
	live    map[string]*v1.Stack

	// orders are the changes of the commit to orders of the catalogue.
	orders ordered.Changes
}

// admit replaces each object of the commit by what the API server would make of it.
func (a *admission) admit(ctx context.Context) error {
	for _, object := range a.commit.Order {
		kind, name := object.GetKind(), object.GetName()
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		order := ordered.Is(object.GroupVersionKind())
		err := a.Client.Get(ctx, client.ObjectKeyFromObject(object), live)
		if order && meta.IsNoMatchError(err) {
			a.orders.Fail(fmt.Sprintf("the platform offers no %s, which the order %s needs", kind, name))
			continue
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read %s %s: %w", kind, name, err)
		}
		exists := err == nil
		applied := object.DeepCopy()
		//nolint:staticcheck // client.Apply takes typed configurations, and the objects have no such types
		err = a.as.Patch(ctx, applied, client.Apply, client.FieldOwner(fluxOwner), client.ForceOwnership, client.DryRunAll)
		switch {
		case transient(err):
			return fmt.Errorf("apply %s %s in a dry run: %w", kind, name, err)
		case err != nil && order:
			a.orders.Fail(fmt.Sprintf("the API server would refuse %s %s: %v", kind, name, err))
			continue
		case err != nil:
			set(a.refused, kind, name, fmt.Sprintf("%s %s: %v", kind, name, err))
			continue
		}
		if order {
			if !exists {
				live = nil
			}
			a.orders.Apply(live, applied)
			continue
		}
		if !exists || differs(live, applied) {
			set(a.changed, kind, name, true)
		}
		a.commit.Objects[kind][name] = applied
	}
	return nil
}

func set[T any](in map[string]map[string]T, kind, name string, value T) {
	if in[kind] == nil {
		in[kind] = map[string]T{}
	}
	in[kind][name] = value
}

// differs reports whether a dry run has changed the content of an object. The API server counts the changes of a Stack or a Program, but
// not those of a ConfigMap.
func differs(live, applied *unstructured.Unstructured) bool {
	if applied.GetKind() != commit.ConfigMapKind {
		return live.GetGeneration() != applied.GetGeneration()
	}
	return !equality.Semantic.DeepEqual(live.Object["data"], applied.Object["data"]) ||
		!equality.Semantic.DeepEqual(live.Object["binaryData"], applied.Object["binaryData"])
}

// transient reports whether another attempt may have another result.
func transient(err error) bool {
	if err == nil {
		return false
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.Status().Code
	return code == 401 || code == 408 || code == 429 || code >= 500
}

// find fills in the targets of the work: the Stacks that the commit changes or deletes, by their names.
func (a *admission) find(ctx context.Context, w *work) error {
	// An earlier attempt may have failed halfway.
	w.targets, w.planned, w.note, w.refused = nil, nil, "", false
	var live v1.StackList
	if err := a.Client.List(ctx, &live, client.InNamespace(a.plan.Namespace)); err != nil {
		return fmt.Errorf("list the Stacks: %w", err)
	}
	a.live = map[string]*v1.Stack{}
	for i := range live.Items {
		a.live[live.Items[i].Name] = &live.Items[i]
	}
	for _, name := range slices.Sorted(maps.Keys(a.commit.Objects[commit.StackKind])) {
		t, err := a.target(ctx, w, name)
		if err != nil {
			return err
		}
		if t != nil {
			w.targets = append(w.targets, t)
		}
	}
	slices.SortStableFunc(w.targets, func(a, b *target) int { return cmp.Compare(a.turn(), b.turn()) })
	if err := a.findOrders(ctx, w); err != nil {
		return err
	}
	removed := a.removed()
	w.targets = append(w.targets, removed[:min(len(removed), commit.MostStacks)]...)
	if more := len(removed) - commit.MostStacks; more > 0 {
		w.note = fmt.Sprintf("the commit deletes %d more Stacks", more)
	}
	for _, kind := range []string{commit.ProgramKind, commit.ConfigMapKind} {
		for _, name := range slices.Sorted(maps.Keys(a.refused[kind])) {
			if w.refused = true; w.note == "" {
				w.note = "the API server would refuse " + a.refused[kind][name]
			}
		}
	}
	return nil
}

// decode converts an object to its type.
func decode(object *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
