package container

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// clusterOperation is the record of a long-running operation on a cluster.
type clusterOperation struct {
	Operation *container.Operation `json:"operation"`
	Project   string               `json:"project"`
	Cluster   string               `json:"cluster"` // key of the cluster's record
}

func (op *clusterOperation) key() string {
	return clusterKey(op.Project, op.Operation.Location, op.Operation.Name)
}

// newClusterOperation stores a new operation in the state RUNNING. Its links name the project by its number, as
// Google's do.
func (s *service) newClusterOperation(tx *bbolt.Tx, on *cluster, kind, target string) (*clusterOperation, error) {
	project, err := api.FindProject(tx, on.Project)
	if err != nil {
		return nil, err
	}
	number := strconv.FormatInt(project.Number, 10)
	name := "operation-" + strconv.FormatInt(s.Now().UnixMilli(), 10) + "-" + api.RandomDigits(12)
	op := &clusterOperation{
		Project: on.Project,
		Cluster: on.key(),
		Operation: &container.Operation{
			Name:          name,
			OperationType: kind,
			Status:        running,
			Location:      on.Cluster.Location,
			Zone:          on.Cluster.Location,
			StartTime:     api.Timestamp(s.Now()),
			SelfLink:      s.BaseURL + "/container/v1/" + locationLink(number, on.Cluster.Location) + "/operations/" + name,
			TargetLink:    s.BaseURL + "/container/v1/" + strings.Replace(target, on.Project, number, 1),
		},
	}
	return op, store.PutOperation(tx, clusterOps, op.key(), op, func(old *clusterOperation) bool { return old.Operation.Status == "DONE" })
}

// beginClusterOperation stores a new operation and marks its cluster as busy.
func (s *service) beginClusterOperation(tx *bbolt.Tx, on *cluster, kind string) (*clusterOperation, error) {
	op, err := s.newClusterOperation(tx, on, kind, on.link())
	if err != nil {
		return nil, err
	}
	on.Busy = op.Operation.Name
	return op, store.Put(tx, clusters, on.key(), on)
}

// doneClusterOperation stores an operation whose work the same transaction does.
func (s *service) doneClusterOperation(tx *bbolt.Tx, on *cluster, kind, target string) (*container.Operation, error) {
	op, err := s.newClusterOperation(tx, on, kind, target)
	if err != nil {
		return nil, err
	}
	op.Operation.Status = "DONE"
	op.Operation.EndTime = api.Timestamp(s.Now())
	return op.Operation, store.Put(tx, clusterOps, op.key(), op)
}

// runClusterOperation does the work of an operation and ends the operation. Close interrupts the work; Start resumes
// it.
func (s *service) runClusterOperation(ctx context.Context, op *clusterOperation) error {
	var on *cluster
	err := s.Store.View(func(tx *bbolt.Tx) (err error) {
		on, err = store.Get[cluster](tx, clusters, op.Cluster)
		return err
	})
	if err != nil {
		return err
	}
	var access Access
	var fault error
	switch {
	case on == nil:
		fault = fmt.Errorf("the cluster was deleted meanwhile")
	case s.clusters == nil:
		fault = fmt.Errorf("this emulator was started without a cluster runtime")
	case op.Operation.OperationType == "DELETE_CLUSTER":
		fault = s.clusters.Delete(ctx, on.Cluster.Name)
	default:
		access, fault = s.clusters.Create(ctx, on.Cluster.Name)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Store.Update(func(tx *bbolt.Tx) error {
		op.Operation.Status = "DONE"
		op.Operation.EndTime = api.Timestamp(s.Now())
		if fault != nil {
			op.Operation.StatusMessage = fault.Error()
			op.Operation.Error = &container.Status{Code: 13, Message: fault.Error()}
		}
		if err := store.Put(tx, clusterOps, op.key(), op); err != nil || on == nil {
			return err
		}
		return s.endClusterOperation(tx, op.Cluster, op.Operation.OperationType, access, fault)
	})
}

// endClusterOperation records the outcome of an operation in its cluster.
func (s *service) endClusterOperation(tx *bbolt.Tx, key, kind string, access Access, fault error) error {
	on, err := store.Get[cluster](tx, clusters, key)
	if err != nil || on == nil {
		return err
	}
	on.Busy = ""
	switch {
	case fault != nil:
		on.Cluster.Status, on.Cluster.StatusMessage = failed, fault.Error()
	case kind == "DELETE_CLUSTER":
		return store.Remove(tx, clusters, key)
	default:
		on.Access = access
		on.Cluster.Status, on.Cluster.StatusMessage = running, ""
		for _, pool := range on.Cluster.NodePools {
			pool.Status = running
		}
	}
	return store.Put(tx, clusters, key, on)
}

// idle returns an error if another operation on the cluster is in progress.
func (k *cluster) idle() error {
	if k.Busy != "" {
		return api.FailedPrecondition("Cluster is running incompatible operation %s.", k.Busy)
	}
	return nil
}

func (s *service) getClusterOperation(c *api.Call) (any, error) {
	var answer *container.Operation
	err := s.Store.View(func(tx *bbolt.Tx) error {
		op, err := store.Get[clusterOperation](tx, clusterOps, clusterKey(c.Project.ID, c.Vars["location"], c.Vars["operation"]))
		if err != nil {
			return err
		}
		if op == nil {
			return api.NotFound("Not found: %s/operations/%s.", locationLink(c.Project.ID, c.Vars["location"]), c.Vars["operation"])
		}
		answer = op.Operation
		return nil
	})
	return answer, err
}

func (s *service) listClusterOperations(c *api.Call) (any, error) {
	prefix := c.Project.ID + "/"
	if location := c.Vars["location"]; location != "-" {
		prefix += location + "/"
	}
	answer := &container.ListOperationsResponse{}
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, clusterOps, prefix, func(_ string, op *clusterOperation) error {
			answer.Operations = append(answer.Operations, op.Operation)
			return nil
		})
	})
	return answer, err
}

// cancelClusterOperation returns the error of Google Cloud for operations that cannot be cancelled, because the
// emulator cancels no operation.
func (s *service) cancelClusterOperation(c *api.Call) (any, error) {
	found, err := s.getClusterOperation(c)
	if err != nil {
		return nil, err
	}
	op, _ := found.(*container.Operation)
	return nil, api.FailedPrecondition("Operation %s of the type %s, which is %s, cannot be cancelled.", op.Name, op.OperationType, op.Status)
}
