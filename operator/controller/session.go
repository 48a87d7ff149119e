package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/origin"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/tenant"
)

// session is one reconciliation of one Stack.
type session struct {
	*stackReconciler

	stack *v1.Stack

	// saved is the Stack as last read from or written to the API server.
	saved *v1.Stack

	// refs resolves the Stack's references. dependencies lists all objects that the
	// session has read.
	refs         *inputs.Resolver
	dependencies []dependents.Object

	// tenant reads the namespace's TenantPolicy.
	tenant *tenant.Reader

	// unseen says that the Stack has a generation or a reconcile request that the operator
	// has not observed before.
	unseen bool

	// interrupted says that an earlier update of this Stack began and did not end.
	interrupted bool

	// lookedUp is the time of the last lookup of the commit. lookedUp is zero if the source
	// needs no lookup.
	lookedUp time.Time

	// lookingUp says that a lookup is active.
	lookingUp bool

	// printed is what the session's run has printed, for the Stack's log.
	printed string

	// waiting says that a run is due and waits for a slot.
	waiting bool
}

// poll shortens the wait if the Stack follows a branch, because no event reports new
// commits.
func (s *session) poll(wait time.Duration) time.Duration {
	if s.stack.Spec.Branch != "" && !s.lookedUp.IsZero() && !s.waiting {
		return schedule.Sooner(wait, max(time.Second, schedule.Resync(s.stack)-time.Since(s.lookedUp)))
	}
	return wait
}

// key returns the Stack's namespace and name.
func (s *session) key() types.NamespacedName { return client.ObjectKeyFromObject(s.stack) }

// depend records a dependency on an object that the session is about to read.
func (s *session) depend(on dependents.Object) {
	s.dependencies = append(s.dependencies, on)
	s.dependents.Add(s.key(), on)
}

// program finds the Stack's program.
func (s *session) program(ctx context.Context) (*origin.Program, error) {
	return s.origins.Find(ctx, s.stack, s.refs, s.slots.Has(s.key()))
}

// event creates an event on the Stack unless its namespace has exceeded its rate.
func (s *session) event(kind, reason, message string) { s.events.Add(s.stack, kind, reason, message) }
