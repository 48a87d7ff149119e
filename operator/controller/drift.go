package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/drift"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/engine"
)

// errChanged stops a drift check whose Stack needs a run.
var errChanged = errors.New("the Stack or its Program changed")

// changePoll is how often a drift check looks in the cache for a change of its Stack.
const changePoll = 200 * time.Millisecond

// checkDrift checks the Stack for drift if a check is due, and returns the wait before the next check; zero means never. A
// check never keeps a run waiting: it begins only if a slot is free and nobody waits for one, and it ends as soon as a run
// needs its slot or its Stack changes.
func (s *session) checkDrift(ctx context.Context, project string, req engine.Request) (time.Duration, error) {
	due, wait := drift.Due(s.stack, s.driftEvery, time.Now())
	if !due {
		return wait, nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, drift.Limit, errTookTooLong)
	defer cancel()
	stoppable, stop := context.WithCancelCause(limited)
	defer stop(nil)
	if !s.slots.TakeSpare(s.key(), func() { stop(errGaveWay) }) {
		return drift.Retry, nil
	}
	if _, err := identity.Set(ctx, s.client, s.config, s.stack, &req); err != nil {
		return 0, err
	}
	s.running(s.key())
	go s.stopWhenChanged(stoppable, stop)
	began := time.Now()
	req.Operation, req.Project = engine.Drift, project
	result, err := s.engine.Run(stoppable, req)
	switch cause := context.Cause(stoppable); {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("drift check of Stack %s was stopped: %w", s.key(), ctx.Err())
	case err != nil && (errors.Is(cause, errGaveWay) || errors.Is(cause, errChanged)):
		return drift.Retry, nil
	case err != nil && errors.Is(cause, errTookTooLong):
		err = fmt.Errorf("it took longer than %s", drift.Limit)
	}
	s.metrics.Ran(s.stack.Namespace, string(req.Operation), err, time.Since(began))
	if err != nil {
		log.FromContext(ctx).Error(report.Error{Err: err}, "drift check failed")
	}
	if found := drift.Record(s.stack, result, err); found != "" {
		s.event(corev1.EventTypeWarning, v1.StackDriftEvent, found)
	}
	_, wait = drift.Due(s.stack, s.driftEvery, time.Now())
	return wait, nil
}

// stopWhenChanged stops a drift check when its Stack or its Program changes, or when somebody requests a run.
func (s *session) stopWhenChanged(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(changePoll)
	defer ticker.Stop()
	program := s.programVersion(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		stack := &v1.Stack{}
		if err := s.client.Get(ctx, s.key(), stack); err != nil {
			continue
		}
		if stack.Generation != s.stack.Generation || !stack.DeletionTimestamp.IsZero() || s.programVersion(ctx) != program ||
			stack.Annotations[v1.ReconcileRequestAnnotation] != s.stack.Annotations[v1.ReconcileRequestAnnotation] {
			stop(errChanged)
			return
		}
	}
}

// programVersion returns the generation of the Stack's Program in the cache. It returns zero without a Program.
func (s *session) programVersion(ctx context.Context) int64 {
	if s.stack.Spec.ProgramRef == nil {
		return 0
	}
	// The cache has only the metadata of Programs.
	program := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "Program"}}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.stack.Namespace, Name: s.stack.Spec.ProgramRef.Name}, program); err != nil {
		return 0
	}
	return program.Generation
}
