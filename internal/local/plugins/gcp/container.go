package gcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"
)

// clusterCall starts an operation on a cluster and waits for its end. The API refuses it while another operation is in
// progress; then clusterCall tries again.
func (g *plugin) clusterCall(
	ctx context.Context, project, location string, limit time.Duration,
	start func(*container.Service) (*container.Operation, error),
) error {
	svc, err := g.clients.container(ctx)
	if err != nil {
		return fmt.Errorf("make Kubernetes Engine client: %w", err)
	}
	var op *container.Operation
	err = wait(ctx, limit, "other operations on the cluster", func(context.Context) (bool, error) {
		op, err = start(svc)
		if clusterBusy(err) {
			return false, nil
		}
		return true, explained(err)
	})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("projects/%s/locations/%s/operations/%s", project, location, op.Name)
	return wait(ctx, limit, fmt.Sprintf("operation %s (%s)", op.Name, op.OperationType), func(ctx context.Context) (bool, error) {
		if op.Status != "DONE" {
			if op, err = svc.Projects.Locations.Operations.Get(name).Context(ctx).Do(); err != nil {
				return false, explained(err)
			}
		}
		if op.Status != "DONE" {
			return false, nil
		}
		if op.Error != nil && op.Error.Message != "" {
			return true, errors.New(op.Error.Message)
		}
		if op.StatusMessage != "" { // the older field for the error
			return true, errors.New(op.StatusMessage)
		}
		return true, nil
	})
}

func clusterBusy(err error) bool {
	var api *googleapi.Error
	return errors.As(err, &api) && api.Code == http.StatusBadRequest && strings.Contains(api.Message, "running incompatible operation")
}

func clusterName(project, location, name string) string {
	return fmt.Sprintf("projects/%s/locations/%s/clusters/%s", project, location, name)
}
