package controller

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

// run runs an operation on the Stack and puts what becomes of it into the status.
// It returns how long to wait for the next one; zero is never.
func (s *session) run(ctx context.Context, cause, revision string, req engine.Request) (time.Duration, error) {
	if err := s.prepare(ctx, &req); err != nil {
		return 0, err
	}
	current := v1.CurrentStackUpdate{
		Generation:       s.stack.Generation,
		ReconcileRequest: s.stack.Annotations[v1.ReconcileRequestAnnotation],
		Name:             fmt.Sprintf("%s-%x", s.stack.Name, time.Now().UnixMilli()),
		Commit:           revision,
	}
	s.stack.Status.CurrentUpdate = &current
	s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason, fmt.Sprintf("%s is running: %s", req.Operation, cause))
	// The mark must be there before the run: it tells a later operator that a lock
	// may be its own.
	if err := s.save(ctx); err != nil {
		return 0, err
	}
	s.event(corev1.EventTypeNormal, v1.StackUpdateDetectedEvent, cause)

	result, err := s.engine.Run(ctx, req)
	if ctx.Err() != nil {
		// The operator is stopping. The update stays current, so that the next one
		// takes it up again.
		return 0, fmt.Errorf("%s of Stack %s/%s was stopped: %w", req.Operation, s.stack.Namespace, s.stack.Name, ctx.Err())
	}
	if req.Operation == engine.Destroy && nothingToDestroy(err, s.stack.Status.LastUpdate) {
		result, err = &engine.Result{}, nil
	}
	if err != nil {
		s.fail(current, req.Operation, err)
		return backoff(s.stack), nil
	}
	s.succeed(current, req, result)
	s.conclude()
	_, wait := due(s.stack, revision, time.Now())
	return wait, nil
}

// nothingToDestroy tells whether a destroy failed because nothing was ever made.
// After a success the stack must exist: that it does not is then a lost state, and
// its resources would be orphaned.
func nothingToDestroy(err error, last *v1.StackUpdateState) bool {
	var failure *engine.Error
	return errors.As(err, &failure) && failure.Reason == engine.StackMissing && (last == nil || last.LastSuccessfulCommit == "")
}

// prepare fills in what the Stack asks for besides its program.
func (s *session) prepare(ctx context.Context, req *engine.Request) error {
	in, err := resolve(ctx, s.reader, s.stack)
	if err != nil {
		return err
	}
	spec := &s.stack.Spec
	req.Stack, req.NoCreate = spec.Stack, spec.UseLocalStackOnly
	req.Backend, req.SecretsProvider = spec.Backend, spec.SecretsProvider
	if s.backends != "" {
		req.BackendFolder = filepath.Join(s.backends, s.stack.Namespace)
	}
	req.Config, req.SecretConfig, req.Env = in.config, in.secretConfig, in.env
	if err := req.CheckBackend(); err != nil {
		return invalid("%v", err)
	}
	file, token, err := kubeconfig(ctx, s.client, s.config, s.stack)
	if err != nil {
		return err
	}
	req.Secrets = slices.Concat(in.secrets, []string{token})
	req.Kubeconfig = file
	req.Interrupted = s.interrupted
	if req.Operation != engine.Destroy {
		req.Refresh, req.ExpectNoRefreshChanges = spec.Refresh, spec.ExpectNoRefreshChanges
		req.Targets, req.TargetDependents = spec.Targets, spec.TargetDependents
	}
	return nil
}

// succeed records an update that succeeded.
func (s *session) succeed(current v1.CurrentStackUpdate, req engine.Request, result *engine.Result) {
	status := &s.stack.Status
	status.CurrentUpdate = nil
	status.LastUpdate = updateState(current, req.Operation, v1.SucceededStackStateMessage)
	status.LastUpdate.LastSuccessfulCommit = current.Commit
	status.ProjectInfo = &v1.ProjectInfo{Name: req.Project, Runtime: runtimeYAML}
	if req.Operation == engine.Destroy {
		status.Outputs = nil
		s.event(corev1.EventTypeNormal, v1.StackDestroySuccessfulEvent, "the stack's resources are destroyed"+counted(result.Changes))
		return
	}
	status.Outputs = v1.StackOutputs{}
	for name, output := range result.Outputs {
		value := apiextensionsv1.JSON{Raw: output.Value}
		if output.Secret {
			value.Raw = []byte(`"` + v1.SecretOutput + `"`)
		}
		status.Outputs[name] = value
	}
	s.event(corev1.EventTypeNormal, v1.StackUpdateSuccessfulEvent, fmt.Sprintf("%s succeeded%s", req.Operation, counted(result.Changes)))
}

// fail records an update that failed.
func (s *session) fail(current v1.CurrentStackUpdate, operation engine.Operation, err error) {
	status := &s.stack.Status
	reason := engine.Failed
	message := err.Error()
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		reason, message = failure.Reason, failure.Message
	}
	// An update that was killed stays current as long as its lock may be left.
	if reason != engine.Interrupted && (reason != engine.Locked || !s.interrupted) {
		status.CurrentUpdate = nil
	}
	last, next := status.LastUpdate, updateState(current, operation, v1.FailedStackStateMessage)
	next.Message = message
	if last != nil {
		next.LastSuccessfulCommit = last.LastSuccessfulCommit
		if last.State == v1.FailedStackStateMessage && last.Type == next.Type && last.Generation == next.Generation &&
			last.ReconcileRequest == next.ReconcileRequest && last.LastAttemptedCommit == next.LastAttemptedCommit {
			next.Failures = last.Failures + 1
		}
	}
	status.LastUpdate = next
	event := v1.StackUpdateFailureEvent
	if reason == engine.Locked {
		event = v1.StackUpdateConflictEvent
	}
	s.event(corev1.EventTypeWarning, event, fmt.Sprintf("%s failed: %s", operation, message))
	if reason == engine.Locked && !s.stack.Spec.RetryOnUpdateConflict {
		status.MarkStalled(v1.StalledConflictReason, message)
		return
	}
	s.conclude()
}

func updateState(current v1.CurrentStackUpdate, operation engine.Operation, state v1.StackUpdateStateMessage) *v1.StackUpdateState {
	return &v1.StackUpdateState{
		Generation:          current.Generation,
		ReconcileRequest:    current.ReconcileRequest,
		Name:                current.Name,
		Type:                v1.UpdateType(operation),
		State:               state,
		LastAttemptedCommit: current.Commit,
		LastResyncTime:      metav1.Now(),
	}
}

// conclude derives the conditions from the last update.
func (s *session) conclude() {
	status := &s.stack.Status
	last := status.LastUpdate
	ready := meta.FindStatusCondition(status.Conditions, v1.ReadyCondition)
	switch {
	case last.State == v1.FailedStackStateMessage && ready != nil && ready.Message == last.Message:
		// They say so already, and possibly more.
	case last.State == v1.SucceededStackStateMessage:
		message := fmt.Sprintf("%s of revision %s succeeded", last.Type, last.LastSuccessfulCommit)
		if fields := notApplied(&s.stack.Spec); len(fields) > 0 {
			message += "; has no effect under this operator: " + strings.Join(fields, ", ")
		}
		if s.unconfined != nil {
			message += "; the run was not confined: " + s.unconfined.Error()
		}
		status.MarkReady(message)
	case last.Failures >= failuresToStall-1:
		status.MarkStalled(v1.StalledUpdateFailedReason, last.Message)
	case last.Type == v1.PreviewType:
		status.MarkReconciling(v1.ReconcilingPreviewFailedReason, last.Message)
	default:
		status.MarkReconciling(v1.ReconcilingRetryReason, last.Message)
	}
}

// counted writes the number of resources by what was done to them.
func counted(changes map[string]int) string {
	var parts []string
	for _, kind := range []string{"create", "update", "replace", "delete", "same"} {
		if n := changes[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
