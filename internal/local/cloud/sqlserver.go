package cloud

import (
	"context"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
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
func (s *sqlService) engine(c *api.Call) (found *instance, engine sqlEngine, unlock func(), err error) {
	key := instanceKey(c.ProjectID(), c.Vars["instance"])
	if _, _, err := s.idleEngine(c, key); err != nil {
		return nil, nil, nil, err
	}
	unlock = s.servers.lock(key)
	found, engine, err = s.idleEngine(c, key)
	if err != nil {
		unlock()
	}
	return found, engine, unlock, err
}

func (s *sqlService) idleEngine(c *api.Call, key string) (*instance, sqlEngine, error) {
	found, err := s.instance(c)
	if err != nil {
		return nil, nil, err
	}
	if err := found.idle(); err != nil {
		return nil, nil, err
	}
	running := s.servers.get(key)
	switch {
	case found.Instance.State != "RUNNABLE", !found.runs():
		return nil, nil, api.LegacyInvalid("Invalid request: Invalid request since instance is not running.")
	case found.Paper != nil:
		return found, s.paper(key), nil
	case running == nil:
		return nil, nil, api.LegacyError(503, "backendError", "The server of the instance has not started yet. Please retry.")
	}
	return found, mysqlEngine{running}, nil
}

// paper returns the engine of an unserved instance.
func (s *sqlService) paper(key string) paperEngine {
	in := func(tx *bbolt.Tx, fn func(*sqlPaper) error) (*instance, error) {
		found, err := requireInstance(tx, key)
		if err != nil {
			return nil, err
		}
		return found, fn(found.Paper)
	}
	return paperEngine{
		read: func(fn func(*sqlPaper) error) error {
			return s.Store.View(func(tx *bbolt.Tx) error {
				_, err := in(tx, fn)
				return err
			})
		},
		write: func(fn func(*sqlPaper) error) error {
			return s.Store.Update(func(tx *bbolt.Tx) error {
				found, err := in(tx, fn)
				if err != nil {
					return err
				}
				return store.Put(tx, instances, key, found)
			})
		},
	}
}
