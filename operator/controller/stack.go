package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/githubapp"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/metrics"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/engine"
)

// stackReconciler applies Stacks. A worker runs the update itself, so the work queue
// ensures that no Stack runs twice at once.
type stackReconciler struct {
	client client.Client

	// reader bypasses the cache. A run costs far more than a request, so outdated data
	// must not start one.
	reader client.Reader

	config     *rest.Config
	recorder   events.EventRecorder
	engine     *engine.Engine
	slots      *slots.Slots
	lookups    *lookup.Lookups
	claims     claims
	events     eventLimits
	refusals   refusals
	dependents *dependents
	records    *records
	metrics    *metrics.Set
	github     githubapp.Tokens

	// backends is the root of file backends, or empty if the operator refuses file
	// backends.
	backends string

	// running is called when a reconciliation continues with a run.
	running func(types.NamespacedName)

	// runTimeout is the time limit of a run if the TenantPolicy sets none.
	runTimeout time.Duration

	// reportEvery is the interval at which the conditions report what a run waits for.
	reportEvery time.Duration

	// unconfined says why runs are not confined, and is nil if they are.
	unconfined error
}

// session is one reconciliation of one Stack.
type session struct {
	*stackReconciler

	stack *v1.Stack

	// saved is the Stack as last read from or written to the API server.
	saved *v1.Stack

	// refs resolves the Stack's references. dependencies lists all objects that the
	// session has read.
	refs         *resolver
	dependencies []dependency

	// policy is the namespace's policy. policy is nil until the session has read one.
	policy *tenant

	// news says that the Stack has a generation or a reconcile request that the operator
	// has not observed before.
	news bool

	// interrupted says that an earlier update of this Stack began and did not end.
	interrupted bool

	// asked is the time of the last lookup of the commit. asked is zero if the source
	// needs no lookup.
	asked time.Time

	// asking says that a lookup is active.
	asking bool

	// waiting says that a run is due and waits for a slot.
	waiting bool
}

// Reconcile implements reconcile.Reconciler.
func (r *stackReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	stack := &v1.Stack{}
	err := r.reader.Get(ctx, req.NamespacedName, stack)
	deleted := err == nil && !stack.DeletionTimestamp.IsZero()
	if apierrors.IsNotFound(err) || deleted && !controllerutil.ContainsFinalizer(stack, v1.StackFinalizer) {
		r.slots.Leave(req.NamespacedName)
		r.lookups.Forget(req.NamespacedName)
		r.claims.forget(req.NamespacedName)
		r.refusals.forget(req.NamespacedName)
		r.dependents.retain(req.NamespacedName, nil)
		if err := r.records.forget(ctx, req.NamespacedName); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("read Stack %s: %w", req, err)
	}
	s := &session{
		stackReconciler: r, stack: stack, saved: stack.DeepCopy(),
		interrupted: stack.Status.CurrentUpdate != nil,
	}
	s.refs = newResolver(r.reader, stack.Namespace, s.depend, s.mend)
	wait, err := s.reconcile(ctx, deleted)
	if stuck := (*stranded)(nil); errors.As(err, &stuck) {
		// Only the log can report this: the API server also refuses events in the namespace.
		log.FromContext(ctx).Error(stuck.cause, stuck.message)
		wait, err = schedule.StrandedRetry, nil
	}
	if !s.waiting {
		r.slots.Leave(req.NamespacedName)
	}
	if !s.asking {
		// Keep the dependencies: the reconciliation after the lookup reads the objects again.
		r.dependents.retain(req.NamespacedName, s.dependencies)
	}
	if err != nil {
		// controller-runtime logs and counts the error and retries with a backoff.
		return reconcile.Result{}, bounded{err}
	}
	if r.dependents.blind(req.NamespacedName) {
		wait = schedule.Sooner(wait, blindPoll)
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

func (s *session) reconcile(ctx context.Context, deleted bool) (time.Duration, error) {
	stack := s.stack
	if !deleted && controllerutil.AddFinalizer(stack, v1.StackFinalizer) {
		if err := s.patch(ctx); err != nil {
			return 0, fmt.Errorf("add finalizer to Stack %s: %w", s.key(), err)
		}
	}
	unseen, err := s.observe(ctx)
	if err != nil {
		return 0, s.unsaved(deleted, err)
	}
	step := s.apply
	if deleted {
		step = s.finalize
	} else if fields := notApplied(&stack.Spec); unseen && len(fields) > 0 {
		s.event(corev1.EventTypeWarning, v1.StackFieldsNotAppliedEvent, strings.Join(fields, ", ")+": has no effect under this operator")
	}
	wait, err := step(ctx)
	wait, err = s.settle(ctx, wait, err)
	if saveErr := s.unsaved(deleted, s.save(ctx)); errors.As(saveErr, new(*stranded)) {
		return 0, saveErr
	} else if saveErr != nil {
		return 0, errors.Join(err, saveErr)
	}
	return wait, err
}

// apply runs the Stack's program if a run is due.
func (s *session) apply(ctx context.Context) (time.Duration, error) {
	spec := &s.stack.Spec
	if err := validate(spec); err != nil {
		return 0, err
	}
	prog, err := s.program(ctx)
	if err != nil {
		return 0, err
	}
	in, err := s.refs.resolve(ctx, spec)
	if err != nil {
		return 0, err
	}
	req, err := s.request(in)
	if err != nil {
		return 0, err
	}
	if err := s.stays(prog.project, req); err != nil {
		return 0, err
	}
	if req.Allowed, err = s.allowed(ctx, prog.source); err != nil {
		return 0, err
	}
	current := schedule.Version{Revision: prog.revision, Inputs: s.refs.digest()}
	cause, wait := schedule.Due(s.stack, current, time.Now())
	if cause == "" && s.refusals.obsolete(s.stack, req.Allowed) {
		cause = "what the team may declare has changed"
	}
	if cause == "" {
		s.conclude()
		return s.poll(wait), nil
	}
	if err := s.prerequisites(ctx); err != nil {
		return 0, err
	}
	req.Config, req.SecretConfig = in.config, in.secretConfig
	req.Project, req.Program, req.Source, req.Path = prog.project, prog.content, prog.source, prog.path
	s.shape(&req)
	wait, err = s.run(ctx, cause, current, req)
	return s.poll(wait), err
}

// poll shortens the wait if the Stack follows a branch, because no event reports new
// commits.
func (s *session) poll(wait time.Duration) time.Duration {
	if s.stack.Spec.Branch != "" && !s.asked.IsZero() && !s.waiting {
		return schedule.Sooner(wait, max(time.Second, schedule.Resync(s.stack)-time.Since(s.asked)))
	}
	return wait
}

// key returns the Stack's namespace and name.
func (s *session) key() types.NamespacedName { return client.ObjectKeyFromObject(s.stack) }

// depend records a dependency on an object that the session is about to read.
func (s *session) depend(on dependency) {
	s.dependencies = append(s.dependencies, on)
	s.dependents.add(s.key(), on)
}
