package supervisor

import (
	"context"
	"os"
	"time"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// readyTimeout is how long the control plane may take to report its readiness.
const readyTimeout = 2 * time.Second

// Status describes a supervisor and its programs.
type Status struct {
	// Home is the path of the home. Version and Commit are those of the strata that runs it, which are also the operator's. Commit is empty
	// if the build has none.
	Home    string `json:"home"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Pid, StartedAt and MemoryBytes describe the supervisor's own process. MemoryBytes is its resident memory.
	Pid         int       `json:"pid"`
	StartedAt   time.Time `json:"startedAt"`
	MemoryBytes int64     `json:"memoryBytes,omitempty"`
	// Stopping says that the supervisor is stopping.
	Stopping bool `json:"stopping,omitempty"`
	// GoogleURL is the base URL of the emulated Google Cloud. GitURL is that of the Git server.
	GoogleURL string `json:"googleURL"`
	GitURL    string `json:"gitURL"`
	// Ports maps the names of listeners to the home's reserved ports on 127.0.0.1.
	Ports map[string]int `json:"ports"`
	// Cluster is the state of the control plane and its node.
	Cluster ClusterState `json:"cluster"`
	// ClusterError is the reason why the cluster does not run.
	ClusterError string `json:"clusterError,omitempty"`
	// Waiting describes what a start of the cluster is waiting for.
	Waiting string `json:"waiting,omitempty"`
	// Server is the URL of the API server while the cluster runs.
	Server string `json:"server,omitempty"`
	// ControlPlane and Node are the results of fresh checks.
	ControlPlane Health `json:"controlPlane"`
	Node         Health `json:"node"`
	// Processes are the programs of the control plane, of the databases and of pods.
	Processes []process.State `json:"processes"`
}

// Health is the state of a part of the cluster.
type Health struct {
	Ready bool `json:"ready"`
	// Message is the reason why the part is not ready.
	Message string `json:"message,omitempty"`
	// Restarts counts the restarts of the node, which runs in the supervisor's process.
	Restarts int `json:"restarts,omitempty"`
}

// ClusterState is a state of the control plane and its node.
type ClusterState string

// These are the states of the cluster.
const (
	ClusterAbsent   ClusterState = "absent"
	ClusterStarting ClusterState = "starting"
	ClusterRunning  ClusterState = "running"
	ClusterFailed   ClusterState = "failed"
)

// status returns the state of the supervisor and its programs. It checks the cluster's readiness.
func (s *supervisor) status(ctx context.Context) (Status, error) {
	ports, err := s.Home.Ports()
	status := Status{
		Home: s.Home.Dir(), Version: buildinfo.Version, Commit: buildinfo.Read().Commit, Pid: os.Getpid(), StartedAt: s.began, MemoryBytes: process.Memory(os.Getpid()),
		Stopping: s.ctx.Err() != nil, GoogleURL: s.googleURL, GitURL: s.gitURL, Ports: ports,
	}
	s.cluster.describe(ctx, &status)
	status.Processes = append(append(status.Processes, s.databases.States()...), s.cluster.pods.States()...)
	return status, err
}

// describe fills in the cluster's part of the status.
func (c *cluster) describe(ctx context.Context, status *Status) {
	c.mu.Lock()
	plane, local := c.plane, c.node
	status.Cluster = c.state
	if c.err != nil {
		status.ClusterError = c.err.Error()
	}
	c.mu.Unlock()
	if plane == nil {
		return
	}
	status.Processes, status.Waiting = plane.States(), plane.Waiting()
	if status.Cluster != ClusterRunning {
		return
	}
	status.Server = plane.Server()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	status.ControlPlane = health(plane.Ready(ctx))
	status.Node = health(plane.NodeReady(ctx))
	var why error
	if status.Node.Restarts, why = local.state(); !status.Node.Ready && why != nil {
		status.Node.Message = why.Error()
	}
}

// health returns the health of a part with the error of its check.
func health(err error) Health {
	if err != nil {
		return Health{Message: err.Error()}
	}
	return Health{Ready: true}
}
