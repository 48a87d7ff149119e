package gcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/api/container/v1"
)

// clusterCall starts an operation on a cluster and waits for its end.
func (g *plugin) clusterCall(
	ctx context.Context, project, location string, limit time.Duration,
	start func(*container.Service) (*container.Operation, error),
) error {
	svc, err := g.clients.container(ctx)
	if err != nil {
		return fmt.Errorf("make Kubernetes Engine client: %w", err)
	}
	op, err := start(svc)
	if err != nil {
		return explained(err)
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
		if op.StatusMessage != "" { // the older place of the same
			return true, errors.New(op.StatusMessage)
		}
		return true, nil
	})
}

func clusterName(project, location, name string) string {
	return fmt.Sprintf("projects/%s/locations/%s/clusters/%s", project, location, name)
}
