package gcloud

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"
)

// DatabaseRuntime runs the MySQL-protocol servers behind Cloud SQL instances. An instance is named by its project and
// its name, "project/name".
type DatabaseRuntime interface {
	// Start makes the server of an instance run, with an empty data folder where it has none yet, and returns when it
	// answers. Where it runs already, that server is returned.
	Start(ctx context.Context, instance string) (Database, error)
	// Stop stops the server and keeps its data. It succeeds where none runs.
	Stop(instance string) error
	// Erase stops the server and removes all of its data. It succeeds where there is none.
	Erase(ctx context.Context, instance string) error
}

// Database is the running server of an instance.
type Database interface {
	// Address is the IP address that the server listens on, at port 3306.
	Address() string
	// Root is a connection as the root user of the server's own address, which belongs to the runtime.
	Root() *sql.DB
}

// sqlServers are the running servers of instances.
type sqlServers struct {
	mu      sync.Mutex
	running map[string]*sqlServer
}

// sqlServer is the running server of one instance. Its lock orders the changes made through the API.
type sqlServer struct {
	sync.Mutex
	Database
}

func instanceKey(project, name string) string { return project + "/" + name }

func (k *sqlServers) set(key string, db Database) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == nil {
		k.running = map[string]*sqlServer{}
	}
	if db == nil {
		delete(k.running, key)
		return
	}
	k.running[key] = &sqlServer{Database: db}
}

func (k *sqlServers) get(key string) *sqlServer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running[key]
}

// runInstanceOperation does the work of an operation on an instance and ends it. Work that is cut short by Close is left
// for Start. secret is the root password of a new instance, which is not stored.
func (s *Server) runInstanceOperation(ctx context.Context, op *sqladmin.Operation, secret string) error {
	key := instanceKey(op.TargetProject, op.TargetId)
	err := s.store.update(func(tx *bbolt.Tx) error {
		op.Status, op.StartTime = "RUNNING", timestamp(s.now())
		return put(tx, instanceOps, op.TargetProject+"/"+op.Name, op)
	})
	if err != nil {
		return err
	}
	var fault error
	var address string
	switch op.OperationType {
	case "CREATE":
		address, fault = s.startInstance(ctx, key)
		if fault == nil && secret != "" {
			fault = putUser(ctx, s.sql.get(key), mysqlUser{name: rootUser, host: anyHost}, &secret)
		}
	case "DELETE":
		s.sql.set(key, nil)
		fault = s.databases.Erase(ctx, key)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.store.update(func(tx *bbolt.Tx) error {
		if err := s.endInstanceOperation(tx, op, fault); err != nil {
			return err
		}
		instance, err := get[sqladmin.DatabaseInstance](tx, instances, key)
		if err != nil || instance == nil {
			return err
		}
		switch {
		case fault != nil:
			instance.State = "FAILED"
		case op.OperationType == "DELETE":
			return remove(tx, instances, key)
		default:
			instance.State = "RUNNABLE"
			instance.IpAddresses = []*sqladmin.IpMapping{{Type: "PRIMARY", IpAddress: address}}
		}
		return put(tx, instances, key, instance)
	})
}

// startInstance starts the server of an instance and returns its address.
func (s *Server) startInstance(ctx context.Context, key string) (string, error) {
	if s.databases == nil {
		return "", fmt.Errorf("start the server of instance %s: nothing to run instances with", key)
	}
	db, err := s.databases.Start(ctx, key)
	if err != nil {
		return "", err
	}
	s.sql.set(key, db)
	return db.Address(), nil
}

// resumeInstances starts the servers of the instances that exist and takes up operations that had not ended.
func (s *Server) resumeInstances(ctx context.Context) error {
	var pending []*sqladmin.Operation
	var existing []*sqladmin.DatabaseInstance
	err := s.store.view(func(tx *bbolt.Tx) error {
		err := each(tx, instanceOps, "", func(_ string, op *sqladmin.Operation) error {
			if op.Status != "DONE" {
				pending = append(pending, op)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return each(tx, instances, "", func(_ string, instance *sqladmin.DatabaseInstance) error {
			if instance.State == "RUNNABLE" {
				existing = append(existing, instance)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	var faults []error
	for _, op := range pending {
		if err := s.runInstanceOperation(ctx, op, ""); err != nil {
			faults = append(faults, fmt.Errorf("resume %s of instance %s: %w", op.OperationType, op.TargetId, err))
		}
	}
	for _, instance := range existing {
		if _, err := s.startInstance(ctx, instanceKey(instance.Project, instance.Name)); err != nil {
			faults = append(faults, fmt.Errorf("resume instance %s: %w", instance.Name, err))
		}
	}
	return errors.Join(faults...)
}

// stopInstances stops the servers that run.
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
