package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
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
