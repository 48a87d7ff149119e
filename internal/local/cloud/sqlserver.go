package cloud

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"
)

// DatabaseRuntime runs the MySQL-protocol servers of Cloud SQL instances. The name of an instance here is
// "project/name".
type DatabaseRuntime interface {
	// Start starts the server of an instance and returns when the server answers. An instance without a data folder
	// gets an empty one. If the server runs already, Start returns that server.
	Start(ctx context.Context, instance string) (Database, error)
	// Stop stops the server and keeps its data. It succeeds if no server runs.
	Stop(instance string) error
	// Erase stops the server and removes all of its data. It succeeds if there is no data.
	Erase(ctx context.Context, instance string) error
}

// Database is the running server of an instance.
type Database interface {
	// Address returns the IP address of the server, which listens on port 3306.
	Address() string
	// Root returns a connection as the runtime's root user, whose host is the server's own address.
	Root() *sql.DB
}

// sqlServers holds the running servers of instances, and one lock per instance that serializes the API's changes.
type sqlServers struct {
	mu      sync.Mutex
	running map[string]Database
	locks   map[string]*sync.Mutex
}

// lock locks the databases and users of an instance, and returns the function that unlocks them.
func (k *sqlServers) lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*sync.Mutex{}
	}
	if k.locks[key] == nil {
		k.locks[key] = &sync.Mutex{}
	}
	own := k.locks[key]
	k.mu.Unlock()
	own.Lock()
	return own.Unlock
}

func (k *sqlServers) set(key string, db Database) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == nil {
		k.running = map[string]Database{}
	}
	if db == nil {
		delete(k.running, key)
		return
	}
	k.running[key] = db
}

func (k *sqlServers) get(key string) Database {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running[key]
}

// engine returns the instance that the path names and its engine, locked. The caller must call unlock.
func (s *Server) engine(c *call) (found *instance, engine sqlEngine, unlock func(), err error) {
	key := instanceKey(c.projectID(), c.vars["instance"])
	if _, _, err := s.idleEngine(c, key); err != nil {
		return nil, nil, nil, err
	}
	unlock = s.sql.lock(key)
	found, engine, err = s.idleEngine(c, key)
	if err != nil {
		unlock()
	}
	return found, engine, unlock, err
}

func (s *Server) idleEngine(c *call, key string) (*instance, sqlEngine, error) {
	found, err := s.instance(c)
	if err != nil {
		return nil, nil, err
	}
	if err := found.idle(); err != nil {
		return nil, nil, err
	}
	running := s.sql.get(key)
	switch {
	case found.Instance.State != "RUNNABLE", !found.runs():
		return nil, nil, invalidSQL("Invalid request: Invalid request since instance is not running.")
	case found.Paper != nil:
		return found, paperEngine{s.store, key}, nil
	case running == nil:
		return nil, nil, sqlError(503, "backendError", "The server of the instance has not started yet. Please retry.")
	}
	return found, mysqlEngine{running}, nil
}

// runInstanceOperation does the work of an operation on an instance and ends the operation. Close interrupts the work;
// Start resumes it.
func (s *Server) runInstanceOperation(ctx context.Context, op *sqladmin.Operation) error {
	key := instanceKey(op.TargetProject, op.TargetId)
	defer s.sql.lock(key)()
	var on *instance
	err := s.store.update(func(tx *bbolt.Tx) (err error) {
		if on, err = get[instance](tx, instances, key); err != nil {
			return err
		}
		op.Status, op.StartTime = "RUNNING", timestamp(s.now())
		return put(tx, instanceOps, op.TargetProject+"/"+op.Name, op)
	})
	if err != nil {
		return err
	}
	var fault error
	if on == nil {
		fault = errors.New("the instance is gone")
	} else if on.family().served {
		fault = s.workOn(ctx, on, op.OperationType)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.store.update(func(tx *bbolt.Tx) error {
		if err := s.endInstanceOperation(tx, op, fault); err != nil {
			return err
		}
		on, err := get[instance](tx, instances, key)
		if err != nil || on == nil {
			return err
		}
		if fault == nil && op.OperationType == "DELETE" {
			return errors.Join(remove(tx, instances, key), removeAll(tx, sqlOwners, key+"/"))
		}
		on.Busy, on.Root, on.Instance.State = "", "", "RUNNABLE"
		if fault != nil {
			on.Instance.State = "FAILED"
		}
		if server := s.sql.get(key); server != nil {
			on.Instance.IpAddresses = on.addresses(server.Address())
		}
		return put(tx, instances, key, on)
	})
}

// workOn starts, stops or erases the server of an instance, as the kind of the operation says.
func (s *Server) workOn(ctx context.Context, on *instance, kind string) error {
	if s.databases == nil {
		return errors.New("nothing to run instances with")
	}
	switch kind {
	case "DELETE":
		s.sql.set(on.key(), nil)
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
		err = mysqlEngine{server}.putUser(ctx, sqlUser{Name: family.root, Host: family.anyHost}, &on.Root)
	}
	if err == nil && !on.runs() {
		err = s.stopInstance(on.key())
	}
	return err
}

// startInstance starts the server of an instance. It then settles the grants, because a killed emulator may have left
// them half done.
func (s *Server) startInstance(ctx context.Context, on *instance) (Database, error) {
	key := on.key()
	if s.databases == nil {
		return nil, fmt.Errorf("start the server of instance %s: nothing to run instances with", key)
	}
	server, err := s.databases.Start(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx, on, mysqlEngine{server}); err != nil {
		return nil, err
	}
	s.sql.set(key, server)
	return server, nil
}

// stopInstance stops the server of an instance and keeps its data.
func (s *Server) stopInstance(key string) error {
	s.sql.set(key, nil)
	return s.databases.Stop(key)
}

// resumeInstances starts the servers of existing instances and resumes unfinished operations.
func (s *Server) resumeInstances(ctx context.Context) error {
	var pending []*sqladmin.Operation
	var existing []*instance
	err := s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, instances, "", func(_ string, on *instance) error {
			if on.Busy != "" {
				op, err := get[sqladmin.Operation](tx, instanceOps, on.Instance.Project+"/"+on.Busy)
				if err == nil && op != nil {
					pending = append(pending, op)
				}
				return err
			}
			if on.Instance.State == "RUNNABLE" && on.runs() && on.family().served {
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
func (s *Server) stopInstances() error {
	s.sql.mu.Lock()
	defer s.sql.mu.Unlock()
	var faults []error
	for key := range s.sql.running {
		if err := s.databases.Stop(key); err != nil {
			faults = append(faults, fmt.Errorf("stop instance %s: %w", key, err))
		}
	}
	s.sql.running = nil
	return errors.Join(faults...)
}
