package supervisor

import (
	"context"
	"os"
	"time"

	"github.com/strata-platform/strata/internal/local/process"
)

// readyTimeout is how long the control plane may take to tell the status that it is ready.
const readyTimeout = 2 * time.Second

// Status is what a supervisor tells of itself and of what it runs.
type Status struct {
	// Home is the path of the home.
	Home string `json:"home"`
	// Pid, StartedAt and MemoryBytes, which is resident memory, are the supervisor's own.
	Pid         int       `json:"pid"`
	StartedAt   time.Time `json:"startedAt"`
	MemoryBytes int64     `json:"memoryBytes,omitempty"`
	// Stopping says that the supervisor was asked to stop.
	Stopping bool `json:"stopping,omitempty"`
	// GoogleURL is the base URL of the emulated Google Cloud, GitURL that of the Git server.
	GoogleURL string `json:"googleURL"`
	GitURL    string `json:"gitURL"`
	// Ports are the ports on 127.0.0.1 that the home keeps, by the name of what listens there.
	Ports map[string]int `json:"ports"`
	// Cluster is the state of the control plane and its node.
	Cluster ClusterState `json:"cluster"`
	// ClusterError says why the cluster does not run.
	ClusterError string `json:"clusterError,omitempty"`
	// Waiting is what a start of the cluster waits for.
	Waiting string `json:"waiting,omitempty"`
	// Server is the URL of the API server while the cluster runs.
	Server string `json:"server,omitempty"`
	// ControlPlane and Node are asked for every status.
	ControlPlane Health `json:"controlPlane"`
	Node         Health `json:"node"`
	// Processes are the programs of the control plane, of the databases and of pods.
	Processes []process.State `json:"processes"`
}

// Health is how a part of the cluster is.
type Health struct {
	Ready bool `json:"ready"`
	// Message says why it is not ready.
	Message string `json:"message,omitempty"`
	// Restarts counts how often the node was run again; its process is the supervisor itself.
	Restarts int `json:"restarts,omitempty"`
}

// ClusterState is a state of the control plane and its node.
type ClusterState string

// States of the cluster.
const (
	ClusterAbsent   ClusterState = "absent"
	ClusterStarting ClusterState = "starting"
	ClusterRunning  ClusterState = "running"
	ClusterFailed   ClusterState = "failed"
)

// status looks at everything once.
func (s *supervisor) status(ctx context.Context) (Status, error) {
	ports, err := s.Home.Ports()
	if err != nil {
		return Status{}, err
	}
	status := Status{
		Home: s.Home.Dir(), Pid: os.Getpid(), StartedAt: s.began, MemoryBytes: process.Memory(os.Getpid()), Stopping: s.ctx.Err() != nil,
		GoogleURL: s.googleURL, GitURL: s.gitURL, Ports: ports,
	}
	s.cluster.describe(ctx, &status)
	status.Processes = append(status.Processes, s.databases.States()...)
	status.Processes = append(status.Processes, s.cluster.pods.States()...)
	return status, nil
}

// describe fills in what concerns the cluster.
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

func health(err error) Health {
	if err != nil {
		return Health{Message: err.Error()}
	}
	return Health{Ready: true}
}
