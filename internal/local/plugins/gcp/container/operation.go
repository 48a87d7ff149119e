// Package container contains the resources of Google Kubernetes Engine: clusters and node pools.
package container

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// provider is the configured provider, with the operations of this package as methods.
type provider struct{ *core.Provider }

// clusterCall starts an operation on a cluster and waits until the operation is done. While another operation on the
// cluster is in progress, the API rejects the call, and clusterCall retries it. limit limits each of the two waits.
func (g provider) clusterCall(
	ctx context.Context, project, location string, limit time.Duration,
	start func(*container.Service) (*container.Operation, error),
) error {
	svc, err := g.Container(ctx)
	if err != nil {
		return err
	}
	var op *container.Operation
	err = core.Wait(ctx, limit, "other operations on the cluster", func(context.Context) (bool, error) {
		op, err = start(svc)
		if clusterBusy(err) {
			return false, nil
		}
		return true, core.Explain(err)
	})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("projects/%s/locations/%s/operations/%s", project, location, op.Name)
	return core.Wait(ctx, limit, fmt.Sprintf("operation %s (%s)", op.Name, op.OperationType), func(ctx context.Context) (bool, error) {
		if op.Status != "DONE" {
			if op, err = svc.Projects.Locations.Operations.Get(name).Context(ctx).Do(); err != nil {
				return false, core.Explain(err)
			}
		}
		if op.Status != "DONE" {
			return false, nil
		}
		if op.Error != nil && op.Error.Message != "" {
			return true, errors.New(op.Error.Message)
		}
		if op.StatusMessage != "" { // the deprecated field for the error
			return true, errors.New(op.StatusMessage)
		}
		return true, nil
	})
}

// clusterBusy reports whether the API rejected a call because another operation on the cluster is in progress. The API
// reports this with a general status and reason, so that only the message identifies it.
func clusterBusy(err error) bool {
	var api *googleapi.Error
	return errors.As(err, &api) && api.Code == http.StatusBadRequest && strings.Contains(api.Message, "running incompatible operation")
}

// clusterName returns the full name of a cluster, which is also the ID of the resource.
func clusterName(project, location, name string) string {
	return fmt.Sprintf("projects/%s/locations/%s/clusters/%s", project, location, name)
}
