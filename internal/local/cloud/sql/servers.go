package sql

import (
	"maps"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
)

// runningServer is the server of an instance with the port for connectors.
type runningServer struct {
	engine.Server
	proxy *serverproxy.Proxy
}

// servers holds the running servers of instances, and one lock per instance that serializes the API's changes.
type servers struct {
	mu      sync.Mutex
	running map[string]*runningServer
	locks   map[string]*sync.Mutex
}

// lock locks the databases and users of an instance, and returns the function that unlocks them.
func (k *servers) lock(key string) (unlock func()) {
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

// add adds a server that has started.
func (k *servers) add(key string, server *runningServer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running == nil {
		k.running = map[string]*runningServer{}
	}
	k.running[key] = server
}

// remove removes a server that is about to stop, and ends the connections of connectors.
func (k *servers) remove(key string) {
	k.mu.Lock()
	server := k.running[key]
	delete(k.running, key)
	k.mu.Unlock()
	if server != nil {
		server.proxy.Close()
	}
}

// keys returns the keys of the running servers.
func (k *servers) keys() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.running))
}

// get returns the server of an instance, or nil if none runs.
func (k *servers) get(key string) *runningServer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running[key]
}

// engine returns the instance that the path names and its engine, locked. The caller must call unlock.
func (s *service) engine(c *api.Call) (found *instance, eng engine.Engine, unlock func(), err error) {
	key := instanceKey(c.ProjectID(), c.Vars["instance"])
	if _, _, err := s.idleEngine(c, key); err != nil {
		return nil, nil, nil, err
	}
	unlock = s.servers.lock(key)
	found, eng, err = s.idleEngine(c, key)
	if err != nil {
		unlock()
	}
	return found, eng, unlock, err
}

func (s *service) idleEngine(c *api.Call, key string) (*instance, engine.Engine, error) {
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
	case found.Unserved != nil:
		return found, s.unserved(key), nil
	case running == nil:
		return nil, nil, api.LegacyError(503, "backendError", "The server of the instance has not started yet. Please retry.")
	}
	return found, engine.MySQL{Server: running}, nil
}

// unserved returns the engine of an instance that the emulator does not run.
func (s *service) unserved(key string) engine.UnservedEngine {
	in := func(tx *bbolt.Tx, fn func(*engine.Unserved) error) (*instance, error) {
		found, err := requireInstance(tx, key)
		if err != nil {
			return nil, err
		}
		return found, fn(found.Unserved)
	}
	return engine.UnservedEngine{
		Read: func(fn func(*engine.Unserved) error) error {
			return s.Store.View(func(tx *bbolt.Tx) error {
				_, err := in(tx, fn)
				return err
			})
		},
		Write: func(fn func(*engine.Unserved) error) error {
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
