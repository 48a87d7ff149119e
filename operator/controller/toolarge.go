package controller

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// patchStatus writes the Stack's status. If that fails, the Stack in memory keeps its
// status.
func (s *session) patchStatus(ctx context.Context) error {
	// Patch overwrites its argument with the response.
	sent := s.stack.DeepCopy()
	if err := s.client.Status().Patch(ctx, sent, client.MergeFrom(s.saved)); err != nil {
		return err
	}
	*s.stack = *sent
	return nil
}

// refused reports whether the API server or etcd will always reject a status as it is.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "request is too large") ||
		err != nil && strings.Contains(err.Error(), "etcdserver: request is too large")
}

// reduce removes a run's outputs from a status and records the error. If the status
// were never written, it would say forever that the run is active.
func (s *session) reduce(err error) {
	status := &s.stack.Status
	status.Outputs = s.saved.Status.Outputs
	message := "the API server does not take the Stack's status (" + cut(err.Error(), longestNote) + "): make the Stack's spec and outputs smaller"
	if last := status.LastUpdate; last != nil && (s.saved.Status.LastUpdate == nil || last.Name != s.saved.Status.LastUpdate.Name) {
		if last.State == v1.SucceededStackStateMessage {
			message = string(last.Type) + " succeeded, and what it made stays, but " + message
		}
		last.State, last.Reason = v1.FailedStackStateMessage, v1.StalledTooLargeReason
		last.Message = message
	}
	status.MarkStalled(v1.StalledTooLargeReason, message)
}
