package pull

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// explain gives an error of a request its kind. The text contains neither credentials nor URLs, whose queries may be
// credentials for a storage service.
func (r *remote) explain(ctx context.Context, err error) error {
	if found, ok := errors.AsType[*fault.Error](err); ok {
		return found
	}
	if cause := context.Cause(ctx); fault.Of(cause) != "" {
		return cause
	}
	registry := r.reference.Context().RegistryStr()
	answer, answered := errors.AsType[*transport.Error](err)
	if !answered {
		if parent := ctx.Err(); parent != nil && errors.Is(err, parent) {
			return fmt.Errorf("%s: %w", r.object(), parent)
		}
		why := err
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			why = wrapped.Err
		}
		return &fault.Error{Kind: fault.Unavailable, Object: r.object(), Why: "the registry " + registry + " does not answer: " + r.clean(why.Error()),
			Next: "check the network, or load the image with `strata image load`"}
	}
	found := &fault.Error{Object: r.object(), Why: "the registry " + registry + " answers " + r.message(answer)}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		found.Kind, found.Next = fault.Denied, "check that the image exists, and log in to the registry or add an imagePullSecret"
	case code == http.StatusNotFound:
		found.Kind, found.Next = fault.NotFound, "check the name and the tag"
	case code == http.StatusTooManyRequests:
		found.Kind, found.Next = fault.Unavailable, "wait, or log in to the registry for a higher limit"
	case code >= http.StatusInternalServerError || code == http.StatusRequestTimeout:
		found.Kind = fault.Unavailable
	default:
		found.Kind = fault.Corrupt
	}
	return found
}

// message returns the answer of a registry for display.
func (r *remote) message(answer *transport.Error) string {
	parts := []string{strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode)}
	for _, d := range answer.Errors {
		parts = append(parts, string(d.Code)+": "+d.Message)
	}
	return r.clean(strings.Join(parts, ", "))
}

// clean removes credentials, which a registry may repeat in its answer, and makes the text one line.
func (r *remote) clean(text string) string {
	for _, secret := range r.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	quoted := quoted(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
