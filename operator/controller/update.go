package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/engine"
)

// run runs an operation on the Stack and writes the result into the status. run returns
// the wait before the next operation; zero means never.
func (s *session) run(ctx context.Context, cause string, what schedule.Version, req engine.Request) (time.Duration, error) {
	if !s.slots.Take(s.key()) {
		s.waiting = true
		s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason,
			fmt.Sprintf("%s waits for one of the runs that are going on to end: %s", req.Operation, cause))
		return 0, nil
	}
	limit, err := s.limit(ctx)
	if err != nil {
		return 0, err
	}
	alone, err := s.identify(ctx, &req)
	if err != nil {
		return 0, err
	}
	req.Interrupted = s.interrupted
	before, cutOff := s.stack.Status.ProjectInfo, s.stack.Status.CurrentUpdate
	current := v1.CurrentStackUpdate{
		Generation:       s.stack.Generation,
		ReconcileRequest: s.stack.Annotations[v1.ReconcileRequestAnnotation],
		Name:             fmt.Sprintf("%s-%x", s.stack.Name, time.Now().UnixMilli()),
		Commit:           what.Revision,
		Inputs:           what.Inputs,
	}
	s.stack.Status.CurrentUpdate = &current
	s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason, fmt.Sprintf("%s is running: %s", req.Operation, cause))
	// CurrentUpdate must be saved before the run, because it tells a later operator that a
	// lock may be its own.
	if err := s.begin(ctx, &req); err != nil {
		s.stack.Status.CurrentUpdate = cutOff
		return 0, err
	}
	s.event(corev1.EventTypeNormal, v1.StackUpdateDetectedEvent, cause)

	result, err := s.engineRun(ctx, limit, req)
	if ctx.Err() != nil {
		// The operator is stopping. CurrentUpdate stays, so that the next operator resumes
		// the update.
		return 0, fmt.Errorf("%s of Stack %s was stopped: %w", req.Operation, s.key(), ctx.Err())
	}
	if req.Operation == engine.Destroy && nothingToDestroy(err, s.stack.Status.LastUpdate) {
		result, err = &engine.Result{}, nil
	}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		s.stack.Status.CurrentUpdate = cutOff
		return 0, refused.error
	}
	if err != nil {
		if before == nil && neverBegan(err) {
			s.stack.Status.ProjectInfo = nil
		}
		// The status holds the backoff, so that it outlives the operator. The work queue does not see this error and does not
		// log it.
		log.FromContext(ctx).Error(bounded{err}, "run failed", "operation", req.Operation)
		s.fail(current, req, err)
		if alone != "" {
			s.stack.Status.MarkStalled(v1.StalledNamespaceTerminatingReason, alone+": "+s.stack.Status.LastUpdate.Message+s.letGo())
		}
		return schedule.Backoff(s.stack), nil
	}
	s.succeed(current, req, result)
	s.conclude()
	_, wait := schedule.Due(s.stack, what, time.Now())
	return wait, nil
}

// begin records, before the run creates anything, where the run stores its resources
// and what a destroy of them needs.
func (s *session) begin(ctx context.Context, req *engine.Request) error {
	if req.Operation == engine.Destroy {
		if err := s.beginDestroy(ctx, req); err != nil {
			return err
		}
	}
	if req.Operation == engine.Preview || req.Operation == engine.Destroy {
		return s.save(ctx)
	}
	status := &s.stack.Status
	note := func(project string) error {
		if err := s.stays(project, *req); err != nil {
			return err
		}
		info := place(project, *req)
		info.Runtime = runtimeYAML
		if held := status.ProjectInfo; held != nil && held.Name == project {
			info.Runtime = held.Runtime
			change, err := changesProvider(held, req.SecretsProvider)
			if err != nil {
				return err
			}
			req.Options.ChangeSecretsProvider = change
		}
		// Until the run has succeeded, the previous provider may still be in use.
		if req.Options.ChangeSecretsProvider {
			info.SecretsProvider = status.ProjectInfo.SecretsProvider
		}
		return s.claim(ctx, &info, func() error {
			if s.stack.Spec.DestroyOnFinalize {
				if err := s.records.keep(ctx, s.stack, s.record(project, *req)); err != nil {
					return err
				}
			}
			return s.save(ctx)
		})
	}
	if req.Source == nil {
		return note(req.Project)
	}
	req.Begin = func(project string) error {
		if err := note(project); err != nil {
			return &refusal{err}
		}
		return nil
	}
	return s.save(ctx)
}

// changesProvider reports whether the stack must be reencrypted with another secrets
// provider. An empty provider changes nothing.
func changesProvider(held *v1.ProjectInfo, provider string) (bool, error) {
	if held.Stack == "" || provider == "" || provider == held.SecretsProvider {
		return false, nil
	}
	if !byPassphrase(provider) {
		return true, nil
	}
	if byPassphrase(held.SecretsProvider) {
		return false, nil
	}
	return false, invalid("spec.secretsProvider: the stack's secrets are encrypted by %s, and pulumi asks for the passphrase to change to; "+
		"run pulumi stack change-secrets-provider by hand, or change it back", publicAddress(held.SecretsProvider))
}

// byPassphrase reports whether a provider encrypts with PULUMI_CONFIG_PASSPHRASE, or
// with the backend's own means, for which nothing needs to change.
func byPassphrase(provider string) bool {
	return provider == "" || provider == "default" || provider == "passphrase"
}

// refusal is an error by which the operator, as opposed to the engine, prevents a run.
type refusal struct{ error }

// identify gives the run its Kubernetes identity. A destroy continues without one if
// the service account is gone, because there may be nothing in the cluster to destroy.
// If the namespace is being deleted, its objects go with it. In that case alone says
// why the run has no identity.
func (s *session) identify(ctx context.Context, req *engine.Request) (alone string, err error) {
	first, renew, err := token(ctx, s.client, s.stack)
	if err != nil {
		abandoned, terminating := abandoned(err)
		if req.Operation != engine.Destroy || !abandoned {
			return "", err
		}
		if terminating {
			env := map[string]string{"PULUMI_K8S_DELETE_UNREACHABLE": "true"}
			maps.Copy(env, req.Env)
			req.Env = env
			return "the namespace is being deleted, and with it who the Stack runs as", nil
		}
		s.event(corev1.EventTypeWarning, v1.StackUpdateFailureEvent, "destroying without access to the cluster: "+err.Error())
		return "", nil
	}
	if req.Kubeconfig, err = kubeconfig(s.config, s.stack.Namespace); err != nil {
		return "", err
	}
	req.Token = func(ctx context.Context) (string, time.Duration, error) {
		if given := first; given != "" {
			first = ""
			return given, renew, nil
		}
		return token(ctx, s.client, s.stack)
	}
	return "", nil
}

// neverBegan reports whether a run failed before the engine changed the stack. The
// stack then holds no new resources.
func neverBegan(err error) bool {
	var failure *engine.Error
	return !errors.As(err, &failure) || !failure.Began && failure.Reason != engine.Interrupted
}

// nothingToDestroy reports whether a destroy failed because no run ever created the
// stack. After a success, a missing stack means that its state is lost, and its
// resources would be orphaned.
func nothingToDestroy(err error, last *v1.StackUpdateState) bool {
	var failure *engine.Error
	return errors.As(err, &failure) && failure.Reason == engine.StackMissing && (last == nil || last.LastSuccessfulCommit == "")
}

// succeed records an update that succeeded.
func (s *session) succeed(current v1.CurrentStackUpdate, req engine.Request, result *engine.Result) {
	status := &s.stack.Status
	status.CurrentUpdate = nil
	status.LastUpdate = updateState(current, req.Operation, v1.SucceededStackStateMessage)
	status.LastUpdate.LastSuccessfulCommit = current.Commit
	if info := status.ProjectInfo; info != nil {
		info.SecretsProvider = cmp.Or(req.SecretsProvider, info.SecretsProvider)
		info.Runtime = cmp.Or(result.Runtime, info.Runtime)
	}
	if req.Operation == engine.Destroy {
		status.Outputs = nil
		if len(req.Targets) == 0 {
			// No resources are left to destroy.
			status.ProjectInfo = nil
		}
		s.event(corev1.EventTypeNormal, v1.StackDestroySuccessfulEvent, "the stack's resources are destroyed"+counted(result.Changes))
		return
	}
	s.event(corev1.EventTypeNormal, v1.StackUpdateSuccessfulEvent, fmt.Sprintf("%s succeeded%s", req.Operation, counted(result.Changes)))
	if req.Operation == engine.Preview {
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
}

// fail records an update that failed.
func (s *session) fail(current v1.CurrentStackUpdate, req engine.Request, err error) {
	operation := req.Operation
	status := &s.stack.Status
	reason := engine.Failed
	message := err.Error()
	stopped, done := false, false
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		reason, message, done = failure.Reason, failure.Message, failure.Done
		stopped = reason == engine.Interrupted || reason == engine.TooLarge && failure.Began && !done
	}
	// CurrentUpdate of a killed update stays as long as its lock may exist.
	if !stopped && (reason != engine.Locked || !s.interrupted) {
		status.CurrentUpdate = nil
	}
	last, next := status.LastUpdate, updateState(current, operation, v1.FailedStackStateMessage)
	next.Message = message
	if last != nil {
		next.LastSuccessfulCommit = last.LastSuccessfulCommit
		if last.State == v1.FailedStackStateMessage && last.Type == next.Type && last.Generation == next.Generation &&
			last.ReconcileRequest == next.ReconcileRequest && last.LastAttemptedCommit == next.LastAttemptedCommit && last.Inputs == next.Inputs {
			next.Failures = last.Failures + 1
		}
	}
	if done {
		next.LastSuccessfulCommit = current.Commit
	}
	if reason == engine.Locked && s.stack.Spec.RetryOnUpdateConflict || errors.Is(err, errGaveWay) {
		// This failure passes soon by itself, so the waits do not grow.
		next.Failures = 0
	}
	status.LastUpdate = next
	event := v1.StackUpdateFailureEvent
	if reason == engine.Locked {
		event = v1.StackUpdateConflictEvent
	}
	s.event(corev1.EventTypeWarning, event, fmt.Sprintf("%s failed: %s", operation, message))
	switch reason {
	case engine.Locked:
		if !s.stack.Spec.RetryOnUpdateConflict {
			status.MarkStalled(v1.StalledConflictReason, message)
			return
		}
	case engine.SourceUnavailable, engine.ProjectInvalid:
		// The cached lookup may be the cause: the commit may be gone, or the token expired.
		s.lookups.Forget(s.key())
		status.MarkStalled(v1.StalledSourceUnavailableReason, message)
		return
	case engine.NotAllowed:
		s.refusals.note(s.stack, req.Allowed)
		status.MarkStalled(v1.StalledTypeNotAllowedReason, message)
		return
	case engine.RuntimeMissing:
		status.MarkStalled(v1.StalledSpecInvalidReason, message)
		return
	case engine.TooLarge:
		next.Reason = v1.StalledTooLargeReason
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
		Inputs:              current.Inputs,
		LastResyncTime:      metav1.Now(),
	}
}

// conclude derives the conditions from the last update.
func (s *session) conclude() {
	status := &s.stack.Status
	last := status.LastUpdate
	ready := meta.FindStatusCondition(status.Conditions, v1.ReadyCondition)
	switch {
	case last.State == v1.FailedStackStateMessage && ready != nil && strings.Contains(ready.Message, last.Message):
		// The conditions already have this message, and possibly more.
	case last.State == v1.SucceededStackStateMessage:
		message := fmt.Sprintf("%s of revision %s succeeded", last.Type, last.LastSuccessfulCommit)
		if fields := notApplied(&s.stack.Spec); len(fields) > 0 {
			message += "; has no effect under this operator: " + strings.Join(fields, ", ")
		}
		if s.unconfined != nil {
			message += "; the run was not isolated: " + s.unconfined.Error()
		}
		status.MarkReady(message)
	case last.Reason != "":
		status.MarkStalled(last.Reason, last.Message+s.letGo())
	case last.Failures >= schedule.FailuresToStall-1:
		status.MarkStalled(v1.StalledUpdateFailedReason, last.Message+s.letGo())
	case last.Type == v1.PreviewType:
		status.MarkReconciling(v1.ReconcilingPreviewFailedReason, last.Message)
	default:
		status.MarkReconciling(v1.ReconcilingRetryReason, last.Message+s.letGo())
	}
}

// letGo returns, for a deleted Stack, the advice on how to delete it without a
// successful destroy. For other Stacks it returns an empty string.
func (s *session) letGo() string {
	if s.stack.DeletionTimestamp.IsZero() {
		return ""
	}
	return "; to end the Stack and leave what it made, set spec.destroyOnFinalize to false"
}

// counted formats the numbers of resources by step.
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
