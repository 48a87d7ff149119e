package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error response in the form of Google's APIs.
type apiError struct {
	Code    int          `json:"code"`
	Message string       `json:"message"`
	Errors  []errorItem  `json:"errors,omitempty"`
	Status  string       `json:"status,omitempty"`
	Details []*errorInfo `json:"details,omitempty"`
}

// errorItem is the older form of an error's reason. Google's Go client prints it.
type errorItem struct {
	Message      string `json:"message"`
	Domain       string `json:"domain"`
	Reason       string `json:"reason"`
	Location     string `json:"location,omitempty"`
	LocationType string `json:"locationType,omitempty"`
}

// errorInfo is the newer form of an error's reason: google.rpc.ErrorInfo, google.rpc.LocalizedMessage, or Resource
// Manager's ProjectIamPolicyError.
type errorInfo struct {
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

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Code, e.Status, e.Message) }

func newError(code int, status, reason, format string, args ...any) *apiError {
	message := fmt.Sprintf(format, args...)
	return &apiError{
		Code:    code,
		Message: message,
		Status:  status,
		Errors:  []errorItem{{Message: message, Domain: "global", Reason: reason}},
	}
}

func (e *apiError) withInfo(reason, domain string, metadata map[string]string) *apiError {
	e.Details = append(e.Details, &errorInfo{
		Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: reason, Domain: domain, Metadata: metadata,
	})
	return e
}

// legacyError returns an error in the form of Google's older APIs, Cloud SQL Admin and Cloud Storage: without a status.
func legacyError(code int, reason, format string, args ...any) *apiError {
	return newError(code, "", reason, format, args...)
}

func legacyInvalid(format string, args ...any) *apiError {
	return legacyError(http.StatusBadRequest, "invalid", format, args...)
}

func invalidArgument(format string, args ...any) *apiError {
	return newError(http.StatusBadRequest, "INVALID_ARGUMENT", "badRequest", format, args...)
}

func failedPrecondition(format string, args ...any) *apiError {
	return newError(http.StatusBadRequest, "FAILED_PRECONDITION", "failedPrecondition", format, args...)
}

func notFound(format string, args ...any) *apiError {
	return newError(http.StatusNotFound, "NOT_FOUND", "notFound", format, args...)
}

func alreadyExists(format string, args ...any) *apiError {
	return newError(http.StatusConflict, "ALREADY_EXISTS", "alreadyExists", format, args...)
}

func permissionDenied(format string, args ...any) *apiError {
	return newError(http.StatusForbidden, "PERMISSION_DENIED", "forbidden", format, args...)
}

// writeError answers with err. An error that is not an apiError becomes an internal error of the emulator.
func writeError(w http.ResponseWriter, err error) {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		refusal = newError(http.StatusInternalServerError, "INTERNAL", "backendError", "emulated Google Cloud: %v", err)
	}
	if refusal.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/"`)
	}
	writeJSON(w, refusal.Code, map[string]any{"error": refusal})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
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
