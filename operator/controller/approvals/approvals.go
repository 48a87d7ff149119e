// Package approvals makes the runs of Stacks wait for approvals.
//
// Before an update or a destroy, the engine shows this package what the run would do. If that needs an approval and no Approval covers it,
// the run ends before it changes anything, and the package writes the result of the preview into the Plan "stack.NAME" of the Stack's
// namespace, for somebody to approve.
package approvals

import (
	"context"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
)

// Gate makes runs wait for approvals. All reconciliations share a Gate.
type Gate struct {
	client client.Client

	// reader reads from the API server: a cache of Plans would hold megabytes.
	reader client.Reader

	mu sync.Mutex
	// waiting holds what each waiting Stack waits for. After a restart, the operator asks once more.
	waiting map[types.NamespacedName]question
}

// question is a run that waits for an approval.
type question struct {
	// about identifies the run, and answers the Approvals that did not cover it. A run with other answers may begin.
	about, answers string

	// plan is the UID of the Plan that shows the run.
	plan types.UID

	message string
}

// New returns a Gate. c writes, and reader reads from the API server.
func New(c client.Client, reader client.Reader) *Gate {
	return &Gate{client: c, reader: reader, waiting: map[types.NamespacedName]question{}}
}

// Forget drops what a Stack waits for. The operator calls it when the Stack is gone.
func (g *Gate) Forget(stack types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting, stack)
}

// Run is a run that may need an approval.
type Run struct {
	// Stack is the Stack, and Version the version of its program and inputs.
	Stack   *v1.Stack
	Version schedule.Version

	// Request is the request of the run. Guard sets its Approve and Risks.
	Request *engine.Request

	// Depend is called with each object that the run waits for, before the Gate reads it.
	Depend func(dependents.Object)
}

// Pass is a run that the Gate guards. A nil Pass is a run that needs no approval.
type Pass struct {
	*Gate
	Run

	// about identifies the run among the runs of its Stack, and annotated says that the Stack demands approval of every change. Both are
	// those of the Stack that the run began with: a write of the status replaces the Stack by what the API server has by then.
	about     string
	annotated bool

	// held says that the last update demanded approval of every change.
	held bool

	// policy is that of the team, or nil. demand is what needs an approval: [approval.Data] or [approval.Always].
	policy *tenant.Policy
	demand string

	// given is the Approval that covers the run, or nil.
	given *approval.Approval
}

// Guard makes a run ask for the approval that it needs. The error is a [*stall.Error] if the same run has asked before, and nobody has
// approved it since.
func (g *Gate) Guard(ctx context.Context, run Run, policies *tenant.Reader) (*Pass, error) {
	operation := run.Request.Operation
	if operation != engine.Up && operation != engine.Destroy {
		return nil, nil
	}
	policy, err := policyOf(ctx, policies)
	if err != nil {
		return nil, err
	}
	p := &Pass{Gate: g, Run: run, policy: policy, annotated: run.Stack.Annotations[approval.Annotation] == approval.Always}
	if last := run.Stack.Status.LastUpdate; last != nil {
		p.held = last.Approval == approval.Always
	}
	if p.demand, err = demand(run.Stack, policy); err != nil {
		return nil, err
	}
	if p.demand == approval.Never {
		return p, nil
	}
	p.about = p.identify()
	if err := p.again(ctx); err != nil {
		return nil, err
	}
	if operation == engine.Destroy && !run.Stack.DeletionTimestamp.IsZero() {
		// If the Approvals cannot be read, the destroy shows whether it needs one.
		if given, err := p.list(ctx); err == nil {
			if p.given = p.destroyer(given); p.given != nil {
				return p, nil
			}
		}
	}
	run.Request.Approve = func(ctx context.Context, result *events.Plan) error {
		if err := p.approve(ctx, result); err != nil {
			return &stall.Refusal{Err: err}
		}
		return nil
	}
	if p.demand == approval.Data {
		run.Request.Risks = plan.HoldsData
	}
	return p, nil
}

// identify returns what identifies the run among the runs of its Stack.
func (p *Pass) identify() string {
	s := p.Stack
	return strings.Join([]string{
		string(s.UID), fmt.Sprint(s.Generation), s.Annotations[v1.ReconcileRequestAnnotation], string(p.Request.Operation), p.demand,
		p.Version.Revision, p.Version.Inputs,
	}, "\n")
}

// again returns the error of a run that has asked before if nothing has changed since.
func (p *Pass) again(ctx context.Context) error {
	key := client.ObjectKeyFromObject(p.Stack)
	p.mu.Lock()
	asked, is := p.waiting[key]
	p.mu.Unlock()
	if !is || asked.about != p.about {
		return nil
	}
	p.depend()
	given, err := p.list(ctx)
	if err != nil {
		return err
	}
	shown := &metav1.PartialObjectMetadata{}
	shown.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind))
	if err := p.reader.Get(ctx, p.planKey(), shown); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Plan %s: %w", p.planKey(), err)
	}
	if asked.answers != answers(given) || asked.plan != shown.UID {
		return nil
	}
	return waits(asked.message)
}

// depend makes the Stack depend on the Approvals of its namespace and on the Plan that shows its run.
func (p *Pass) depend() {
	p.Depend(dependents.On(approval.Resource(), p.Stack.Namespace, dependents.Any))
	p.Depend(dependents.On(plan.Resource(), p.Stack.Namespace, p.planKey().Name))
}

func waits(message string) error {
	return &stall.Error{Reason: v1.StalledAwaitingApprovalReason, Message: message}
}

// Given returns the Approval that covers the run, or nil.
func (p *Pass) Given() *approval.Approval {
	if p == nil {
		return nil
	}
	return p.given
}

// End records the end of the run in the status, after its result. Who approved a successful run stands there until the next one.
func (p *Pass) End(ctx context.Context, succeeded bool) {
	if p == nil {
		return
	}
	p.Forget(client.ObjectKeyFromObject(p.Stack))
	status := &p.Stack.Status
	held := status.Approval
	if !succeeded {
		if held != nil && held.By == "" {
			status.Approval = nil
		}
		return
	}
	status.LastUpdate.Approval, status.Approval = "", nil
	// The demand of a Stack that has lost its annotation ends with an approval. A run that needed none does not end it.
	if p.annotated || p.held && p.given == nil {
		status.LastUpdate.Approval = approval.Always
	}
	if p.given != nil {
		status.Approval = &v1.StackApproval{By: p.given.Spec.By, Time: p.given.CreationTimestamp}
		if of := p.given.Spec.Plan; of != nil {
			status.Approval.Plan, status.Approval.Digest = of.Name, of.Digest
		}
	}
	if held == nil {
		return
	}
	if err := p.deletePlan(ctx); err != nil {
		// The Plan goes with its Stack. Its approvals no longer cover anything, because the state has changed.
		log.FromContext(ctx).Info("the Plan of an approved run stays", "reason", err.Error())
	}
}
