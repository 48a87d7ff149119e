// Package dolt implements the servers of Cloud SQL instances with Dolt, a database that speaks MySQL's protocol, as
// one child process per instance.
package dolt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

const (
	// startTimeout is how long a server may take to answer after its start. stopGrace is how long it may take to exit.
	startTimeout = time.Minute
	stopGrace    = 10 * time.Second
	// freeTimeout is how long an address may take to become free.
	freeTimeout = 5 * time.Second
	// dialTimeout is how long a connection to a server may take.
	dialTimeout = 10 * time.Second
	// retryEvery is the interval between checks whether a starting server answers, and whether an address is free.
	retryEvery = 25 * time.Millisecond
)

// Options names the servers' program and the folders of their data and logs. All fields are required.
type Options struct {
	// Binary returns the path of the dolt program. Start calls it for the first server.
	Binary func(context.Context) (string, error)
	// Dir holds a folder per instance. The path of its configuration is an argument of every server.
	Dir string
	// Logs is the folder of the servers' logs.
	Logs string
}

// Runtime runs the servers of instances. It implements engine.Runtime.
type Runtime struct {
	options Options

	mu      sync.Mutex // held while a server starts or stops
	servers map[string]*server

	keeping sync.Mutex // guards kept, which includes servers that are still starting
	kept    map[string]*process.Keeper
}

var _ engine.Runtime = (*Runtime)(nil)

// New returns a runtime without running servers.
func New(options Options) *Runtime {
	return &Runtime{options: options, servers: map[string]*server{}, kept: map[string]*process.Keeper{}}
}

// instanceNames matches instance names that cannot lead out of the runtime's folder.
var instanceNames = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*$`)

// folder returns the folder of an instance.
func (r *Runtime) folder(instance string) (folder, error) {
	if !instanceNames.MatchString(instance) {
		return "", fmt.Errorf("%q is not a valid name of an instance", instance)
	}
	return folder(filepath.Join(r.options.Dir, filepath.FromSlash(instance))), nil
}

// Start starts the server of an instance and returns when it answers. The runtime restarts a server that dies.
func (r *Runtime) Start(ctx context.Context, instance string) (engine.Server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if running := r.servers[instance]; running != nil {
		return running, nil
	}
	started, err := r.start(ctx, instance)
	if err != nil {
		r.keep(instance, nil)
		return nil, fmt.Errorf("start the server of instance %s: %w", instance, err)
	}
	r.servers[instance] = started
	return started, nil
}

// start starts the server of an instance. The caller must hold mu.
func (r *Runtime) start(ctx context.Context, instance string) (*server, error) {
	dir, err := r.folder(instance)
	if err != nil {
		return nil, err
	}
	binary, err := r.options.Binary(ctx)
	if err != nil {
		return nil, err
	}
	needs, password, err := dir.prepare(ctx)
	if err != nil {
		return nil, err
	}
	address, _, _ := net.SplitHostPort(needs.Address)
	name := "sql-" + filepath.Base(string(dir))
	log := filepath.Join(r.options.Logs, name+".log")
	keeper, err := process.Keep(process.Spec{
		Name: name,
		Path: binary,
		Args: []string{"sql-server", "--config", dir.config()},
		Env: []string{
			// The HOME variable identifies the processes that a killed server leaves behind.
			"HOME=" + dir.home(),
			"DOLT_ROOT_PATH=" + dir.home(),
			// The runtime's root user has the server's own address as its host, so it is not the root user of Cloud
			// SQL's API.
			"DOLT_ROOT_HOST=" + address,
			"DOLT_ROOT_PASSWORD=" + password,
			"DOLT_DISABLE_EVENT_FLUSH=true",
			"TMPDIR=" + dir.temp(),
			"PATH=" + os.Getenv("PATH"),
		},
		Dir:         dir.data(),
		Log:         log,
		Confinement: needs.confinement(binary),
	}, stopGrace)
	if err != nil {
		return nil, err
	}
	r.keep(instance, keeper)
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net = "root", password, "tcp"
	config.Addr = needs.Address
	config.DialFunc = func(ctx context.Context, _, to string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return keeper.Dial(ctx, address, to)
	}
	config.Logger = &mysql.NopLogger{} // The server rejects connections while it starts.
	connector, err := mysql.NewConnector(config)
	if err != nil {
		keeper.Stop()
		return nil, err
	}
	unpublish, err := publish(keeper, needs.Address)
	if err != nil {
		keeper.Stop()
		return nil, err
	}
	started := &server{keeper: keeper, address: address, root: sql.OpenDB(connector), unpublish: unpublish}
	started.root.SetMaxOpenConns(4)
	if err := started.wait(ctx, log); err != nil {
		return nil, errors.Join(err, started.stop())
	}
	return started, nil
}

// States returns the states of the servers, sorted by name.
func (r *Runtime) States() []process.State {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	var states []process.State
	for _, instance := range slices.Sorted(maps.Keys(r.kept)) {
		states = append(states, r.kept[instance].State())
	}
	return states
}

// keep records the keeper of an instance's server. A nil keeper removes the record.
func (r *Runtime) keep(instance string, keeper *process.Keeper) {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	if keeper == nil {
		delete(r.kept, instance)
		return
	}
	r.kept[instance] = keeper
}

// Addresses returns the addresses of the running servers. It waits while a server starts or stops.
func (r *Runtime) Addresses() []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []netip.Addr
	for _, s := range r.servers {
		if a, err := netip.ParseAddr(s.address); err == nil {
			found = append(found, a)
		}
	}
	return found
}

// Stop stops the server of an instance and keeps its data.
func (r *Runtime) Stop(instance string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop(instance)
}

// stop is Stop for a caller that holds mu.
func (r *Runtime) stop(instance string) error {
	running := r.servers[instance]
	if running == nil {
		return nil
	}
	delete(r.servers, instance)
	defer r.keep(instance, nil)
	if err := running.stop(); err != nil {
		return fmt.Errorf("stop the server of instance %s: %w", instance, err)
	}
	return nil
}

// Erase stops the server of an instance and removes the instance's folder.
func (r *Runtime) Erase(_ context.Context, instance string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	dir, err := r.folder(instance)
	if err != nil {
		return fmt.Errorf("erase an instance: %w", err)
	}
	if err := errors.Join(r.stop(instance), os.RemoveAll(string(dir))); err != nil {
		return fmt.Errorf("erase instance %s: %w", instance, err)
	}
	return nil
}
