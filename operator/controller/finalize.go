package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/outcome"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/shape"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
)

// finalize destroys the resources of a deleted Stack if the spec says so, and then
// removes the finalizer. The stack's state lists the resources, so finalize needs the
// program only if the spec asks for it.
func (s *session) finalize(ctx context.Context) (time.Duration, error) {
	spec, status := &s.stack.Spec, &s.stack.Status
	if !spec.DestroyOnFinalize || spec.Preview || status.ProjectInfo == nil {
		return 0, s.release(ctx)
	}
	if other, err := s.claimant().Shared(ctx); err != nil {
		return 0, err
	} else if other != "" {
		s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent,
			fmt.Sprintf("the resources are not destroyed: Stack %s also holds %s", other, claims.Describe(status.ProjectInfo)))
		return 0, s.release(ctx)
	}
	req, err := s.destroyRequest(ctx)
	if err != nil {
		return 0, err
	}
	current := schedule.Version{Inputs: s.refs.Digest()}
	if last := status.LastUpdate; last != nil {
		current.Revision = last.LastAttemptedCommit
	}
	if req.RunProgram {
		if current.Revision, err = s.addProgram(ctx, &req); err != nil {
			return 0, err
		}
	}
	cause := "Stack is deleted"
	if last := status.LastUpdate; last != nil && last.Type == v1.DestroyType {
		var wait time.Duration
		if cause, wait = schedule.Due(s.stack, current, time.Now()); cause == "" {
			outcome.Conclude(s.stack, s.unconfined)
			return wait, nil
		}
	}
	if wait, err := s.run(ctx, cause, current, req); wait != 0 || err != nil || s.waiting {
		return wait, err
	}
	return 0, s.release(ctx)
}

// destroyRequest returns the request that destroys the Stack's resources. If a
// reference of the Stack does not resolve, or the spec names another backend, it uses
// the record of the last run.
func (s *session) destroyRequest(ctx context.Context) (engine.Request, error) {
	held := s.stack.Status.ProjectInfo
	in, err := s.refs.Resolve(ctx, &s.stack.Spec)
	var req engine.Request
	if err == nil {
		if req, err = s.request(in); err == nil {
			req.Config, req.SecretConfig = in.Config, in.SecretConfig
			if now := claims.Place(held.Name, req); held.Backend != "" && now.Backend != held.Backend {
				err = stall.Invalid("the resources of this Stack are in %s, but its spec now names %s: undo the change, so that the operator can destroy the resources",
					claims.Describe(held), claims.Describe(&now))
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		rec, readErr := s.records.Read(ctx, s.stack)
		if readErr != nil {
			return req, errors.Join(err, readErr)
		}
		if rec == nil {
			return req, fmt.Errorf("the operator cannot destroy the Stack's resources: %w", err)
		}
		req = engine.Request{Backend: rec.Backend, SecretsProvider: rec.SecretsProvider, Env: rec.Env, Secrets: rec.Secrets}
		err = s.checkBackend(&req)
	}
	req.Operation, req.RunProgram = engine.Destroy, s.stack.Spec.RunProgram
	req.Project, req.Stack, req.NoCreate = held.Name, cmp.Or(held.Stack, s.stack.Spec.Stack), true
	shape.Any(&s.stack.Spec, &req)
	return req, err
}

// addProgram adds the program to a destroy that runs it. If the program is not
// available, the destroy continues without it, because it may well succeed.
func (s *session) addProgram(ctx context.Context, req *engine.Request) (revision string, err error) {
	prog, err := s.program(ctx)
	if unavailable := (*stall.Error)(nil); errors.As(err, &unavailable) {
		s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent, "spec.runProgram: destroying without the program: "+unavailable.Message)
		req.RunProgram = false
		if last := s.stack.Status.LastUpdate; last != nil {
			revision = last.LastAttemptedCommit
		}
		return revision, nil
	} else if err != nil {
		return "", err
	}
	if prog.Content != nil && prog.Project != req.Project {
		req.RunProgram = false
		return prog.Revision, nil
	}
	if req.Allowed, err = s.tenant.Allowed(ctx, prog.Source); errors.Is(err, tenant.ErrMissing) {
		// The deletion of a namespace deletes the policy and the Stack in any order.
		s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent, "spec.runProgram: destroying without the program: "+err.Error())
		req.RunProgram = false
		return prog.Revision, nil
	} else if err != nil {
		return "", err
	}
	req.Program, req.Source, req.Path = prog.Content, prog.Source, prog.Path
	req.Secrets = append(slices.Clone(req.Secrets), s.refs.Used()...)
	return prog.Revision, nil
}

// release removes the finalizer from a Stack whose resources are destroyed or are to
// stay.
func (s *session) release(ctx context.Context) error {
	if err := s.records.Drop(ctx, s.stack); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(s.stack, v1.StackFinalizer)
	if err := s.patch(ctx); apierrors.IsForbidden(err) {
		return &stranded{s.strandedMessage(), err}
	} else if err != nil {
		return fmt.Errorf("remove finalizer from Stack %s: %w", s.key(), err)
	}
	s.dependencies = nil
	return nil
}

// stranded is the error of a deleted Stack that the operator may no longer change. The
// operator can neither remove the finalizer nor report this in the status. A Stack
// becomes stranded if its namespace is being deleted and the operator's RoleBinding
// there goes before the Stack. Rights in all namespaces are no solution: a user who may
// change the Stacks of any team may run programs as that team.
type stranded struct {
	message string
	cause   error
}

// Error implements error.
func (s *stranded) Error() string { return s.message + ": " + s.cause.Error() }

// strandedMessage says who has to do what. Nobody can create a RoleBinding in a namespace that is being deleted, so the
// operator's rights must temporarily come from a ClusterRoleBinding.
func (s *session) strandedMessage() string {
	left := ""
	if info := s.stack.Status.ProjectInfo; info != nil && s.stack.Spec.DestroyOnFinalize {
		left = fmt.Sprintf("; the resources in %s then stay", claims.Describe(info))
	}
	const binding = "strata-teardown"
	return fmt.Sprintf("Stack %[1]s is deleted, but the operator may not remove its finalizer: the operator's RoleBinding in the namespace is gone, as when the namespace is deleted. "+
		"As administrator of the cluster, grant the operator its rights temporarily: "+
		"kubectl create clusterrolebinding %[2]s --clusterrole=strata:operator-tenant --serviceaccount=%[3]s:pulumi-operator; "+
		"kubectl wait stacks.pulumi.com %[4]s -n %[5]s --for=delete --timeout=10m; kubectl delete clusterrolebinding %[2]s. "+
		"Or remove the finalizer yourself: kubectl patch stacks.pulumi.com %[4]s -n %[5]s --type=json -p '[{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]'%[6]s",
		s.key(), binding, s.records.Namespace(), s.stack.Name, s.stack.Namespace, left)
}
