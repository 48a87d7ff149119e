package core

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// Status returns the HTTP status of an API error, or zero for another error or nil.
func Status(err error) int {
	if api, ok := errors.AsType[*googleapi.Error](err); ok {
		return api.Code
	}
	return 0
}

// NotFound reports whether an API error means that an object does not exist.
func NotFound(err error) bool { return Status(err) == http.StatusNotFound }

// Explain converts an API error into an error of one line: the API's message, the HTTP status and the reason. It wraps
// frame.ErrNotFound if the object does not exist. It returns other errors and nil unchanged.
func Explain(err error) error {
	var api *googleapi.Error
	if !errors.As(err, &api) {
		return err
	}
	if api.Code == http.StatusNotFound {
		return fmt.Errorf("%w: %s", frame.ErrNotFound, api.Message)
	}
	reason := ""
	if len(api.Errors) > 0 && api.Errors[0].Reason != "" {
		reason = ", " + api.Errors[0].Reason
	}
	if p := missingPermission(api); p != "" && !strings.Contains(api.Message, p) {
		reason += ", missing permission " + p
	}
	return fmt.Errorf("%s (HTTP %d%s)", api.Message, api.Code, reason)
}

// missingPermission returns the permission that the details of an API error name, or "". The messages of Resource
// Manager do not contain it.
func missingPermission(err *googleapi.Error) string {
	for _, detail := range err.Details {
		d, _ := detail.(map[string]any)
		metadata, _ := d["metadata"].(map[string]any)
		if p, ok := metadata["permission"].(string); ok {
			return p
		}
	}
	return ""
}
