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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/approvals"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/metrics"
	"github.com/strata-platform/strata/operator/controller/origin"
	"github.com/strata-platform/strata/operator/controller/outcome"
	"github.com/strata-platform/strata/operator/controller/prerequisites"
	"github.com/strata-platform/strata/operator/controller/records"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/shape"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
)

// blindPoll is how often the operator reconciles a Stack whose dependencies it cannot
// watch, because the watch is forbidden or the kind does not exist.
const blindPoll = time.Minute

// stackReconciler applies Stacks. A worker runs the update itself, so the work queue
// ensures that no Stack runs twice at once.
type stackReconciler struct {
	client client.Client

	// reader bypasses the cache. A run costs far more than a request, so outdated data
	// must not start one.
	reader client.Reader

	// config is the connection to the cluster, for the kubeconfigs of runs.
	config *rest.Config

	engine     *engine.Engine
	slots      *slots.Slots
	lookups    *lookup.Lookups
	origins    *origin.Finder
	claims     *claims.Claims
	approvals  *approvals.Gate
	events     *report.Events
	refusals   tenant.Refusals
	dependents *dependents.Watcher
	records    *records.Records
	metrics    *metrics.Set

	// backends is the root of file backends, or empty if the operator refuses file
	// backends.
	backends string

	// running is called when a reconciliation continues with a run.
	running func(types.NamespacedName)

	// runTimeout is the time limit of a run if the TenantPolicy sets none.
	runTimeout time.Duration

	// reportEvery is the interval at which the conditions report what a run waits for.
	reportEvery time.Duration

	// driftEvery is the interval between two drift checks of a Stack; zero means on request only.
	driftEvery time.Duration

	// runRecords is the folder for the records of runs, or empty.
	runRecords string

	// unconfined says why runs are not confined, and is nil if they are.
	unconfined error
}

// Reconcile implements reconcile.Reconciler.
func (r *stackReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	stack := &v1.Stack{}
	err := r.reader.Get(ctx, req.NamespacedName, stack)
	deleted := err == nil && !stack.DeletionTimestamp.IsZero()
	if apierrors.IsNotFound(err) || deleted && !controllerutil.ContainsFinalizer(stack, v1.StackFinalizer) {
		r.slots.Leave(req.NamespacedName)
		r.lookups.Forget(req.NamespacedName)
		r.claims.Forget(req.NamespacedName)
		r.approvals.Forget(req.NamespacedName)
		r.refusals.Forget(req.NamespacedName)
		r.dependents.Retain(req.NamespacedName, nil)
		if err := r.records.Forget(ctx, req.NamespacedName); err != nil {
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
	s.tenant = tenant.NewReader(r.client.RESTMapper(), r.reader, stack.Namespace, s.depend)
	s.refs = inputs.New(r.reader, stack.Namespace, s.depend, s.tenant.Advice)
	wait, err := s.reconcile(ctx, deleted)
	if stuck := (*stranded)(nil); errors.As(err, &stuck) {
		// Only the log can report this: the API server also refuses events in the namespace.
		log.FromContext(ctx).Error(stuck.cause, stuck.message)
		wait, err = schedule.StrandedRetry, nil
	}
	if !s.waiting {
		r.slots.Leave(req.NamespacedName)
	}
	if !s.lookingUp {
		// Keep the dependencies: the reconciliation after the lookup reads the objects again.
		r.dependents.Retain(req.NamespacedName, s.dependencies)
	}
	if err != nil {
		// controller-runtime logs and counts the error and retries with a backoff.
		return reconcile.Result{}, report.Error{Err: err}
	}
	if r.dependents.Blind(req.NamespacedName) {
		wait = schedule.Sooner(wait, blindPoll)
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// reconcile applies or finalizes the Stack, and saves its status. It returns when to look again. The finalizer precedes everything
// else: without it, a Stack could be deleted while its resources exist.
func (s *session) reconcile(ctx context.Context, deleted bool) (time.Duration, error) {
	stack := s.stack
	if !deleted && controllerutil.AddFinalizer(stack, v1.StackFinalizer) {
		if err := s.patch(ctx); err != nil {
			return 0, fmt.Errorf("add finalizer to Stack %s: %w", s.key(), err)
		}
	}
	changed, err := s.observe(ctx)
	if err != nil {
		return 0, s.unsaved(deleted, err)
	}
	step := s.apply
	if deleted {
		step = s.finalize
	} else if unused := fields.NotApplied(&stack.Spec); changed && len(unused) > 0 {
		s.event(corev1.EventTypeWarning, v1.StackFieldsNotAppliedEvent, strings.Join(unused, ", ")+": has no effect under this operator")
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
	if err := fields.Validate(s.stack); err != nil {
		return 0, err
	}
	prog, err := s.program(ctx)
	if err != nil {
		return 0, err
	}
	s.lookedUp = prog.LookedUp
	in, err := s.refs.Resolve(ctx, spec)
	if err != nil {
		return 0, err
	}
	req, err := s.request(in)
	if err != nil {
		return 0, err
	}
	if err := s.tenant.Provide(ctx, &req, s.refs.Note); err != nil {
		return 0, err
	}
	if err := claims.CheckPlace(s.stack.Status.ProjectInfo, prog.Project, req); err != nil {
		return 0, err
	}
	if req.Allowed, err = s.tenant.Allowed(ctx, prog.Source); err != nil {
		return 0, err
	}
	current := schedule.Version{Revision: prog.Revision, Inputs: s.refs.Digest()}
	cause, wait := schedule.Due(s.stack, current, time.Now())
	if cause == "" && s.refusals.Obsolete(s.stack, req.Allowed) {
		cause = "the types that the team may declare have changed"
	}
	if cause == "" {
		outcome.Conclude(s.stack, s.unconfined)
		next, err := s.checkDrift(ctx, prog.Project, req)
		if repair, _ := schedule.Due(s.stack, current, time.Now()); repair != "" {
			next = time.Millisecond
		}
		return s.poll(schedule.Sooner(wait, next)), err
	}
	required := prerequisites.Checker{Client: s.client, Reader: s.reader, Stack: s.stack, Depend: s.depend}
	if err := required.Check(ctx); err != nil {
		return 0, err
	}
	req.Config, req.SecretConfig = in.Config, in.SecretConfig
	req.Project, req.Program, req.Source, req.Path = prog.Project, prog.Content, prog.Source, prog.Path
	shape.Update(&s.stack.Spec, &req)
	wait, err = s.run(ctx, cause, current, req)
	return s.poll(wait), err
}
