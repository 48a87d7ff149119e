package supervisor

import (
	"github.com/strata-platform/strata/internal/local/process"
)

// Status is what a supervisor tells of itself.
type Status struct {
	Pid int `json:"pid"`
	// GoogleURL is the base URL of the emulated Google Cloud, GitURL that of the Git server.
	GoogleURL string `json:"googleURL"`
	GitURL    string `json:"gitURL"`
	// Cluster is the state of the control plane and its node.
	Cluster ClusterState `json:"cluster"`
	// ClusterError says why the cluster does not run.
	ClusterError string `json:"clusterError,omitempty"`
	// Server is the URL of the API server while the cluster runs.
	Server string `json:"server,omitempty"`
	// Processes are the programs of the control plane.
	Processes []process.State `json:"processes"`
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
