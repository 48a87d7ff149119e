package approvals

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
)

// approve returns nil if the run needs no approval or an Approval covers it, and what it waits for otherwise.
func (p *Pass) approve(ctx context.Context, result *events.Plan) error {
	needed, unseen := needs(p.demand, result)
	if len(needed) == 0 && unseen == 0 {
		return nil
	}
	now, hides := planned.Stack(p.Stack.Name, result)
	now.Content = planned.Content(*p.Request, p.Version.Revision+" "+p.Version.Inputs)
	now.Approval, now.Removed = p.demand, p.Request.Operation == engine.Destroy
	p.depend()
	given, err := p.list(ctx)
	if err != nil {
		return err
	}
	if p.given = p.destroyer(given); p.given != nil {
		return nil
	}
	why := ""
	for _, each := range given {
		fit, err := p.fit(ctx, each.Spec.Plan, now, needed, unseen)
		if err != nil {
			return err
		}
		if fit.about && fit.missing == "" {
			p.given = each
			return nil
		}
		// Nobody expects an approval from before the last update to cover another program.
		last := p.Stack.Status.LastUpdate
		if recent := last == nil || !each.CreationTimestamp.Before(&last.LastResyncTime); why == "" && fit.about && (recent || fit.same) {
			why = fmt.Sprintf("the approval of Plan %s by %s does not cover it: %s", each.Spec.Plan.Name, each.Spec.By, fit.missing)
		}
	}
	shown, err := p.show(ctx, now, hides, needed, unseen)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// Only the platform can delete the namespace of a team.
		return nil
	}
	if err != nil {
		return err
	}
	message := p.message(needed, unseen, why, shown)
	p.Stack.Status.Approval = &v1.StackApproval{Plan: shown.Name, Digest: shown.Status.Digest, Message: message, Time: metav1.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[client.ObjectKeyFromObject(p.Stack)] = question{about: p.about, answers: answers(given), plan: shown.UID, message: message}
	return waits(message)
}

// message says what the run waits for.
func (p *Pass) message(needed []plan.Step, unseen int, why string, shown *plan.Plan) string {
	var out strings.Builder
	first := plan.Step{Op: "change", Name: "more than can be shown"}
	if len(needed) > 0 {
		first = needed[0]
	}
	fmt.Fprintf(&out, "%s would %s %s %q", p.Request.Operation, first.Op, first.Type, first.Name)
	if first.LosesData {
		out.WriteString(" (its data is lost)")
	}
	if more := len(needed) - 1 + unseen; more > 0 {
		fmt.Fprintf(&out, " and make %d more changes that need approval", more)
	}
	if why != "" {
		out.WriteString("; " + why)
	}
	if shown.Status.Phase != plan.Ready {
		fmt.Fprintf(&out, "; nobody can approve Plan %s: %s", shown.Name, shown.Status.Message)
		return planned.Clean(out.String(), planned.LongestMessage)
	}
	team := " -n " + p.Stack.Namespace
	if p.policy != nil && p.policy.Team != "" {
		team = " --team " + p.policy.Team
	}
	out.WriteString(approval.ToApprove + "strata approve " + shown.Name + team)
	return planned.Clean(out.String(), planned.LongestMessage)
}

// mostApprovals bounds the Approvals of a namespace that the Gate considers: the newest.
const mostApprovals = 100

// list returns the newest Approvals of the Stack's namespace, the newest first.
func (p *Pass) list(ctx context.Context) ([]*approval.Approval, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(approval.Resource().GroupVersion().WithKind(approval.Kind + "List"))
	if err := p.reader.List(ctx, list, client.InNamespace(p.Stack.Namespace)); err != nil {
		return nil, fmt.Errorf("list the %s of namespace %s: %w", approval.Plural, p.Stack.Namespace, err)
	}
	var given []*approval.Approval
	for i := range list.Items {
		if a, err := approval.From(&list.Items[i]); err == nil && a.DeletionTimestamp.IsZero() {
			given = append(given, a)
		}
	}
	slices.SortFunc(given, func(a, b *approval.Approval) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return given[:min(len(given), mostApprovals)], nil
}

// answers identifies Approvals.
func answers(given []*approval.Approval) string {
	var all []string
	for _, each := range given {
		all = append(all, string(each.UID))
	}
	return strings.Join(all, " ")
}

// destroyWithin is how long after an Approval of its destruction a Stack may be deleted. An Approval of an interrupted `strata down` outlives
// it, and must not cover a commit that deletes the Stack on another day.
const destroyWithin = time.Hour

// destroyer returns the Approval of the destruction of exactly this Stack, or nil. It covers the destroy of the deleted Stack only.
func (p *Pass) destroyer(given []*approval.Approval) *approval.Approval {
	if p.Request.Operation != engine.Destroy || p.Stack.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, each := range given {
		named := slices.Contains(each.Spec.Destroy, approval.Stack{Name: p.Stack.Name, UID: p.Stack.UID})
		if named && p.Stack.DeletionTimestamp.Sub(each.CreationTimestamp.Time) <= destroyWithin {
			return each
		}
	}
	return nil
}

// fit says how an approved Plan fits a run.
type fit struct {
	// about says that the Plan is about the Stack, and same that it is about the content of the run.
	about, same bool

	// missing is what the Plan lacks to cover the run, or "".
	missing string
}

// fit compares an approved Plan with a run.
func (p *Pass) fit(ctx context.Context, of *approval.Plan, now plan.Stack, needed []plan.Step, unseen int) (fit, error) {
	if of == nil {
		return fit{}, nil
	}
	found, err := p.read(ctx, types.NamespacedName{Namespace: p.Stack.Namespace, Name: of.Name})
	if err != nil {
		return fit{}, err
	}
	if found == nil || found.UID != of.UID || found.Status.Phase != plan.Ready || found.Status.Digest == "" || found.Status.Digest != of.Digest {
		return fit{about: of.Name == p.planKey().Name, missing: "the Plan has changed since"}, nil
	}
	for _, approved := range found.Status.Stacks {
		if approved.Name == p.Stack.Name {
			return fit{about: true, same: approved.Content == now.Content, missing: Missing(approved, now, needed, unseen)}, nil
		}
	}
	return fit{}, nil
}

// read reads a Plan. It returns nil if there is none.
func (p *Pass) read(ctx context.Context, key types.NamespacedName) (*plan.Plan, error) {
	object := planned.Object(key)
	if err := p.reader.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read Plan %s: %w", key, err)
	}
	return plan.From(object)
}
