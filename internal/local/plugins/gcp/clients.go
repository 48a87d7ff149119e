package gcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

const (
	pollInterval = 200 * time.Millisecond
	// operationTimeout bounds a long-running operation if the program sets no limit.
	operationTimeout = 20 * time.Minute
	// conflictRetries bounds how often edit reads and writes an IAM policy again after somebody else wrote it.
	conflictRetries = 100
)

// clients creates Google's API clients with the plugin's endpoints and credentials.
type clients struct {
	settings settings
	http     *http.Client
}

func (c *clients) options(endpoint string) []option.ClientOption {
	return []option.ClientOption{option.WithHTTPClient(c.http), option.WithEndpoint(endpoint)}
}

func (c *clients) iam(ctx context.Context) (*iam.Service, error) {
	return iam.NewService(ctx, c.options(root(c.settings.IAMEndpoint))...)
}

func (c *clients) resourceManager(ctx context.Context) (*crm.Service, error) {
	return crm.NewService(ctx, c.options(root(c.settings.ResourceManagerEndpoint))...)
}

func (c *clients) container(ctx context.Context) (*container.Service, error) {
	return container.NewService(ctx, c.options(root(c.settings.ContainerEndpoint))...)
}

// compute adds the version to the endpoint. Most other clients add it themselves.
func (c *clients) compute(ctx context.Context) (*compute.Service, error) {
	return compute.NewService(ctx, c.options(root(c.settings.ComputeEndpoint)+"v1/")...)
}

func (c *clients) sql(ctx context.Context) (*sqladmin.Service, error) {
	return sqladmin.NewService(ctx, c.options(root(c.settings.SQLEndpoint))...)
}

func (c *clients) serviceUsage(ctx context.Context) (*serviceusage.Service, error) {
	return serviceusage.NewService(ctx, c.options(root(c.settings.ServiceUsageEndpoint))...)
}

// storage adds the version to the endpoint. Most other clients add it themselves.
func (c *clients) storage(ctx context.Context) (*storage.Service, error) {
	return storage.NewService(ctx, c.options(root(c.settings.StorageEndpoint)+"storage/v1/")...)
}

// statusOf returns the HTTP status of an API error, or zero for other errors.
func statusOf(err error) int {
	if api, ok := errors.AsType[*googleapi.Error](err); ok {
		return api.Code
	}
	return 0
}

// gone reports whether an API error means that an object does not exist.
func gone(err error) bool { return statusOf(err) == http.StatusNotFound }

// explained returns an error with the API's own message. For a missing object, the error wraps frame.ErrNotFound.
func explained(err error) error {
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

// missingPermission returns the missing permission from the details of an API error. Resource Manager names it only
// there.
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

// wait polls until done returns true, limit has passed or ctx is done. A zero limit means operationTimeout.
func wait(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	if limit == 0 {
		limit = operationTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

// converted converts a value to another API's type with the same JSON form.
func converted[T any](v any) (T, error) {
	var t T
	raw, err := json.Marshal(v)
	if err != nil {
		return t, fmt.Errorf("convert %T: %w", v, err)
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("convert %T: %w", v, err)
	}
	return t, nil
}
