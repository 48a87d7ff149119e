package sql

import (
	"net/http"
	"slices"
	"strconv"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// newInstanceOperation stores a new operation in the state PENDING.
func (s *service) newInstanceOperation(tx *bbolt.Tx, c *api.Call, on *instance, kind, target string) (*sqladmin.Operation, error) {
	name := strconv.FormatInt(s.Now().UnixNano(), 36) + "-" + api.RandomDigits(8)
	in := on.Instance
	op := &sqladmin.Operation{
		Kind:          "sql#operation",
		Name:          name,
		OperationType: kind,
		Status:        "PENDING",
		InsertTime:    api.Timestamp(s.Now()),
		SelfLink:      s.BaseURL + "/sqladmin/sql/v1beta4/projects/" + in.Project + "/operations/" + name,
		TargetId:      in.Name,
		TargetLink:    target,
		TargetProject: in.Project,
		User:          c.Who.Email,
		ApiWarning:    on.family().Warning(in.DatabaseVersion),
	}
	return op, store.PutOperation(tx, instanceOps, in.Project+"/"+name, op, func(old *sqladmin.Operation) bool { return old.Status == "DONE" })
}

// beginInstanceOperation stores a new operation and marks its instance as busy.
func (s *service) beginInstanceOperation(tx *bbolt.Tx, c *api.Call, on *instance, kind string) (*sqladmin.Operation, error) {
	op, err := s.newInstanceOperation(tx, c, on, kind, on.Instance.SelfLink)
	if err != nil {
		return nil, err
	}
	on.Busy = op.Name
	return op, store.Put(tx, instances, on.key(), on)
}

// doneOperation stores an operation whose work is done.
func (s *service) doneOperation(tx *bbolt.Tx, c *api.Call, on *instance, kind, target string) (*sqladmin.Operation, error) {
	op, err := s.newInstanceOperation(tx, c, on, kind, target)
	if err != nil {
		return nil, err
	}
	return op, s.endInstanceOperation(tx, op, nil)
}

// doneInstanceOperation runs doneOperation in a transaction of its own, after the engine did the work.
func (s *service) doneInstanceOperation(c *api.Call, on *instance, kind, target string) (any, error) {
	var op *sqladmin.Operation
	err := s.Store.Update(func(tx *bbolt.Tx) (err error) {
		op, err = s.doneOperation(tx, c, on, kind, target)
		return err
	})
	return op, err
}

func (s *service) endInstanceOperation(tx *bbolt.Tx, op *sqladmin.Operation, fault error) error {
	api.SetDefault(&op.StartTime, op.InsertTime)
	op.Status, op.EndTime = "DONE", api.Timestamp(s.Now())
	if fault != nil {
		op.Error = &sqladmin.OperationErrors{
			Kind:   "sql#operationErrors",
			Errors: []*sqladmin.OperationError{{Kind: "sql#operationError", Code: "INTERNAL_ERROR", Message: fault.Error()}},
		}
	}
	return store.Put(tx, instanceOps, op.TargetProject+"/"+op.Name, op)
}

func (s *service) getInstanceOperation(c *api.Call) (any, error) {
	var answer *sqladmin.Operation
	err := s.Store.View(func(tx *bbolt.Tx) error {
		var err error
		answer, err = store.Get[sqladmin.Operation](tx, instanceOps, c.Project.ID+"/"+c.Vars["operation"])
		if err == nil && answer == nil {
			return api.LegacyError(http.StatusNotFound, "operationDoesNotExist", "The Cloud SQL instance operation does not exist.")
		}
		return err
	})
	return answer, err
}

// listInstanceOperations lists operations, newest first.
func (s *service) listInstanceOperations(c *api.Call) (any, error) {
	on := c.Request.URL.Query().Get("instance")
	var all []*sqladmin.Operation
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, instanceOps, c.Project.ID+"/", func(_ string, op *sqladmin.Operation) error {
			if on == "" || op.TargetId == on {
				all = append(all, op)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	answer := &sqladmin.OperationsListResponse{Kind: "sql#operationsList"}
	answer.Items, answer.NextPageToken, err = page(c, all, func(op *sqladmin.Operation) string { return op.Name })
	return answer, err
}
