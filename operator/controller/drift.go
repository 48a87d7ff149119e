package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/drift"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/engine"
)

// checkDrift checks the Stack for drift if a check is due, and returns the wait before the next check; zero means never.
func (s *session) checkDrift(ctx context.Context, project string, req engine.Request) (time.Duration, error) {
	due, wait := drift.Due(s.stack, s.driftEvery, time.Now())
	if !due {
		return wait, nil
	}
	began := time.Now()
	req.Project = project
	checker := drift.Checker{Client: s.client, Config: s.config, Engine: s.engine, Slots: s.slots}
	result, err := checker.Check(ctx, s.stack, s.tenant, req, func() { s.running(s.key()) })
	if errors.Is(err, drift.ErrGaveWay) {
		return drift.Retry, nil
	} else if ctx.Err() != nil {
		return 0, err
	}
	s.metrics.Ran(s.stack.Namespace, string(engine.Drift), err, time.Since(began))
	if err != nil {
		log.FromContext(ctx).Error(report.Error{Err: err}, "drift check failed")
	}
	if found := drift.Record(s.stack, result, err); found != "" {
		s.event(corev1.EventTypeWarning, v1.StackDriftEvent, found)
	}
	_, wait = drift.Due(s.stack, s.driftEvery, time.Now())
	return wait, nil
}
