// Package sql contains the resources and functions of Cloud SQL: instances, databases and users.
package sql

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// provider is the configured provider, with the operations of this package as methods.
type provider struct{ *core.Provider }

// sqlCall starts an operation on an instance and waits until the operation is done. While another operation on the
// instance is in progress, the API rejects the call, and sqlCall retries it. limit limits each of the two waits.
func (g provider) sqlCall(
	ctx context.Context, project string, limit time.Duration, start func(*sqladmin.Service) (*sqladmin.Operation, error),
) error {
	svc, err := g.SQL(ctx)
	if err != nil {
		return err
	}
	var op *sqladmin.Operation
	err = core.Wait(ctx, limit, "other operations on the instance", func(context.Context) (bool, error) {
		op, err = start(svc)
		if operationInProgress(err) {
			return false, nil
		}
		return true, core.Explain(err)
	})
	if err != nil {
		return err
	}
	return core.Wait(ctx, limit, fmt.Sprintf("operation %s (%s)", op.Name, op.OperationType), func(ctx context.Context) (bool, error) {
		if op.Status != "DONE" {
			if op, err = svc.Operations.Get(project, op.Name).Context(ctx).Do(); err != nil {
				return false, core.Explain(err)
			}
		}
		return op.Status == "DONE", operationError(op)
	})
}

// operationInProgress reports whether the API rejected a call because another operation on the instance is in progress.
func operationInProgress(err error) bool {
	var api *googleapi.Error
	return errors.As(err, &api) && api.Code == http.StatusConflict &&
		len(api.Errors) > 0 && api.Errors[0].Reason == "operationInProgress"
}

// operationError returns the errors of an operation as one error, or nil.
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
