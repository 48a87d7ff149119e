package gcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sqladmin/v1beta4"
)

// sqlCall starts an operation on an instance and waits for its end. The API refuses it while another operation is in
// progress; then sqlCall tries again.
func (g *plugin) sqlCall(
	ctx context.Context, project string, limit time.Duration, start func(*sqladmin.Service) (*sqladmin.Operation, error),
) error {
	svc, err := g.clients.sql(ctx)
	if err != nil {
		return fmt.Errorf("make Cloud SQL client: %w", err)
	}
	var op *sqladmin.Operation
	err = wait(ctx, limit, "other operations on the instance", func(context.Context) (bool, error) {
		op, err = start(svc)
		if operationInProgress(err) {
			return false, nil
		}
		return true, explained(err)
	})
	if err != nil {
		return err
	}
	return wait(ctx, limit, fmt.Sprintf("operation %s (%s)", op.Name, op.OperationType), func(ctx context.Context) (bool, error) {
		if op.Status != "DONE" {
			if op, err = svc.Operations.Get(project, op.Name).Context(ctx).Do(); err != nil {
				return false, explained(err)
			}
		}
		return op.Status == "DONE", operationError(op)
	})
}

func operationInProgress(err error) bool {
	var api *googleapi.Error
	return errors.As(err, &api) && api.Code == http.StatusConflict &&
		len(api.Errors) > 0 && api.Errors[0].Reason == "operationInProgress"
}

func operationError(op *sqladmin.Operation) error {
	if op.Error == nil || len(op.Error.Errors) == 0 {
		return nil
	}
	var messages []string
	for _, e := range op.Error.Errors {
		messages = append(messages, strings.TrimSpace(e.Code+" "+e.Message))
	}
	return errors.New(strings.Join(messages, "; "))
}
