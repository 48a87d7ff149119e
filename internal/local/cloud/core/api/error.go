package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Error is an error response in the form of Google's APIs.
type Error struct {
	Code    int          `json:"code"`
	Message string       `json:"message"`
	Errors  []ErrorItem  `json:"errors,omitempty"`
	Status  string       `json:"status,omitempty"`
	Details []*ErrorInfo `json:"details,omitempty"`
}

// ErrorItem is the older form of an error's reason. Google's Go client prints it.
type ErrorItem struct {
	Message      string `json:"message"`
	Domain       string `json:"domain"`
	Reason       string `json:"reason"`
	Location     string `json:"location,omitempty"`
	LocationType string `json:"locationType,omitempty"`
}

// ErrorInfo is the newer form of an error's reason: google.rpc.ErrorInfo, google.rpc.LocalizedMessage, or Resource
// Manager's ProjectIamPolicyError.
type ErrorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason,omitempty"`
	Domain   string            `json:"domain,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Locale   string            `json:"locale,omitempty"`
	Message  string            `json:"message,omitempty"`
	Kind     string            `json:"type,omitempty"`
	Member   string            `json:"member,omitempty"`
	Role     string            `json:"role,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Code, e.Status, e.Message) }

// NewError returns an error with an HTTP status, a status of google.rpc.Code and a reason in the older form.
func NewError(code int, status, reason, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{
		Code:    code,
		Message: message,
		Status:  status,
		Errors:  []ErrorItem{{Message: message, Domain: "global", Reason: reason}},
	}
}

// WithInfo adds the reason in the newer form.
func (e *Error) WithInfo(reason, domain string, metadata map[string]string) *Error {
	e.Details = append(e.Details, &ErrorInfo{
		Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: reason, Domain: domain, Metadata: metadata,
	})
	return e
}

// LegacyError returns an error in the form of Google's older APIs, Cloud SQL Admin and Cloud Storage: without a status.
func LegacyError(code int, reason, format string, args ...any) *Error {
	return NewError(code, "", reason, format, args...)
}

// LegacyInvalid returns the error of Google's older APIs for an invalid request.
func LegacyInvalid(format string, args ...any) *Error {
	return LegacyError(http.StatusBadRequest, "invalid", format, args...)
}

// InvalidArgument returns the error for an invalid request.
func InvalidArgument(format string, args ...any) *Error {
	return NewError(http.StatusBadRequest, "INVALID_ARGUMENT", "badRequest", format, args...)
}

// FailedPrecondition returns the error for a request that the state of a resource does not allow.
func FailedPrecondition(format string, args ...any) *Error {
	return NewError(http.StatusBadRequest, "FAILED_PRECONDITION", "failedPrecondition", format, args...)
}

// NotFound returns the error for a resource that does not exist.
func NotFound(format string, args ...any) *Error {
	return NewError(http.StatusNotFound, "NOT_FOUND", "notFound", format, args...)
}

// AlreadyExists returns the error for a resource that already exists.
func AlreadyExists(format string, args ...any) *Error {
	return NewError(http.StatusConflict, "ALREADY_EXISTS", "alreadyExists", format, args...)
}

// PermissionDenied returns the error for a caller without a permission.
func PermissionDenied(format string, args ...any) *Error {
	return NewError(http.StatusForbidden, "PERMISSION_DENIED", "forbidden", format, args...)
}

// WriteError writes err as the response. An error that is not an Error becomes an internal error of the emulator.
func WriteError(w http.ResponseWriter, err error) {
	var refusal *Error
	if !errors.As(err, &refusal) {
		refusal = NewError(http.StatusInternalServerError, "INTERNAL", "backendError", "emulated Google Cloud: %v", err)
	}
	if refusal.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/"`)
	}
	WriteJSON(w, refusal.Code, map[string]any{"error": refusal})
}

// WriteJSON writes a response with a body in JSON.
func WriteJSON(w http.ResponseWriter, code int, body any) {
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		http.Error(w, "emulated Google Cloud: encode the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(data, '\n'))
}
