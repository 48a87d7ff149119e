package sql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
)

// runInstanceOperation does the work of an operation on an instance and ends the operation. Close interrupts the work;
// Start resumes it.
func (s *service) runInstanceOperation(ctx context.Context, op *sqladmin.Operation) error {
	key := instanceKey(op.TargetProject, op.TargetId)
	defer s.servers.lock(key)()
	var on *instance
	err := s.Store.Update(func(tx *bbolt.Tx) (err error) {
		if on, err = store.Get[instance](tx, instances, key); err != nil {
			return err
		}
		op.Status, op.StartTime = "RUNNING", api.Timestamp(s.Now())
		return store.Put(tx, instanceOps, op.TargetProject+"/"+op.Name, op)
	})
	if err != nil {
		return err
	}
	var fault error
	if on == nil {
		fault = errors.New("the instance no longer exists")
	} else if on.family().Served {
		fault = s.workOn(ctx, on, op.OperationType)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Store.Update(func(tx *bbolt.Tx) error {
		if err := s.endInstanceOperation(tx, op, fault); err != nil {
			return err
		}
		on, err := store.Get[instance](tx, instances, key)
		if err != nil || on == nil {
			return err
		}
		if fault == nil && op.OperationType == "DELETE" {
			return errors.Join(store.Remove(tx, instances, key), store.Remove(tx, authorities, key), store.RemoveAll(tx, owners, key+"/"))
		}
		on.Busy, on.Root, on.Instance.State = "", "", "RUNNABLE"
		if fault != nil {
			on.Instance.State = "FAILED"
		}
		if server := s.servers.get(key); server != nil {
			on.Instance.IpAddresses = on.addresses(server.Address())
		}
		return store.Put(tx, instances, key, on)
	})
}

// workOn starts, stops or erases the server of an instance, depending on the kind of the operation.
func (s *service) workOn(ctx context.Context, on *instance, kind string) error {
	if s.databases == nil {
		return errors.New("this emulator was started without a database runtime")
	}
	switch kind {
	case "DELETE":
		s.servers.remove(on.key())
		return s.databases.Erase(ctx, on.key())
	case "RESTART":
		if err := s.stopInstance(on.key()); err != nil {
			return err
		}
	}
	server, err := s.startInstance(ctx, on)
	if err != nil {
		return err
	}
	if kind == "CREATE" {
		family := on.family()
		err = engine.MySQL{Server: server}.PutUser(ctx, engine.User{Name: family.Root, Host: family.AnyHost}, &on.Root)
	}
	if err == nil && !on.runs() {
		err = s.stopInstance(on.key())
	}
	return err
}

// startInstance starts the server of an instance, or returns the running one.
func (s *service) startInstance(ctx context.Context, on *instance) (engine.Server, error) {
	key := on.key()
	if s.databases == nil {
		return nil, fmt.Errorf("start the server of instance %s: this emulator was started without a database runtime", key)
	}
	if running := s.servers.get(key); running != nil {
		return running, nil
	}
	server, err := s.databases.Start(ctx, key)
	if err != nil {
		return nil, err
	}
	running, err := s.serve(ctx, on, server)
	if err != nil {
		return nil, errors.Join(err, s.databases.Stop(key))
	}
	s.servers.add(key, running)
	return running, nil
}

// serve sets the grants of a server that has started. An interrupted change may have left others. Then it serves
// connectors.
func (s *service) serve(ctx context.Context, on *instance, server engine.Server) (*runningServer, error) {
	if err := s.setGrants(ctx, on, engine.MySQL{Server: server}); err != nil {
		return nil, err
	}
	signers, err := s.ensureAuthorities(on.key())
	if err != nil {
		return nil, err
	}
	proxy, err := serverproxy.Listen(server.Address(), on.proxied(), *signers, func() time.Time { return s.Now() })
	if err != nil {
		return nil, err
	}
	return &runningServer{server, proxy}, nil
}

// stopInstance stops the server of an instance and keeps its data.
func (s *service) stopInstance(key string) error {
	s.servers.remove(key)
	return s.databases.Stop(key)
}

// resumeInstances starts the servers of existing instances and resumes unfinished operations.
func (s *service) resumeInstances(ctx context.Context) error {
	var pending []*sqladmin.Operation
	var existing []*instance
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, instances, "", func(_ string, on *instance) error {
			if on.Busy != "" {
				op, err := store.Get[sqladmin.Operation](tx, instanceOps, on.Instance.Project+"/"+on.Busy)
				if err == nil && op != nil {
					pending = append(pending, op)
				}
				return err
			}
			if on.Instance.State == "RUNNABLE" && on.runs() && on.family().Served {
				existing = append(existing, on)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	var faults []error
	for _, op := range pending {
		if err := s.runInstanceOperation(ctx, op); err != nil {
			faults = append(faults, fmt.Errorf("resume %s of instance %s: %w", op.OperationType, op.TargetId, err))
		}
	}
	for _, on := range existing {
		if _, err := s.startInstance(ctx, on); err != nil {
			faults = append(faults, fmt.Errorf("resume instance %s: %w", on.key(), err))
		}
	}
	return errors.Join(faults...)
}

// stopInstances stops all running servers.
func (s *service) stopInstances() error {
	var faults []error
	for _, key := range s.servers.keys() {
		if err := s.stopInstance(key); err != nil {
			faults = append(faults, fmt.Errorf("stop instance %s: %w", key, err))
		}
	}
	return errors.Join(faults...)
}
