package outcome

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/report"
)

// Rejected reports whether the API server or etcd will always reject a status as it is.
func Rejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "request is too large") ||
		err != nil && strings.Contains(err.Error(), "etcdserver: request is too large")
}

// Reduce replaces a run's outputs in a status by those in saved, the last status that the API server accepted, and records
// the error of the API server. If the operator never wrote the status, the Stack would report an active run forever.
func Reduce(status, saved *v1.StackStatus, err error) {
	status.Outputs = saved.Outputs
	message := "the API server rejects the Stack's status (" + report.Cut(err.Error(), report.LongestNote) + "): make the Stack's spec and outputs smaller"
	if last := status.LastUpdate; last != nil && (saved.LastUpdate == nil || last.Name != saved.LastUpdate.Name) {
		if last.State == v1.SucceededStackStateMessage {
			message = string(last.Type) + " succeeded, and its resources stay, but " + message
		}
		last.State, last.Reason = v1.FailedStackStateMessage, v1.StalledTooLargeReason
		last.Message = message
	}
	status.MarkStalled(v1.StalledTooLargeReason, message)
}
