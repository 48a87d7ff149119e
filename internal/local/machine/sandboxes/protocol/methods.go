package protocol

import "github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"

// Method names a request to the process that runs the sandboxes.
type Method string

// Each method's comment names the request's body and files, and those of the response.
const (
	// Hello: [HelloRequest]; [HelloResult]. It is the first request.
	Hello Method = "hello"
	// CreatePod: spec.Pod; nothing, and the packet socket of the gateway's end if the pod has a network.
	CreatePod Method = "create-pod"
	// RemovePod: [PodRef]. The pod's processes have ended when the response comes. It succeeds for a pod that does not exist.
	RemovePod Method = "remove-pod"
	// WaitPod: [PodRef]. The response comes when the sandbox has ended.
	WaitPod Method = "wait-pod"
	// PodStats: [PodRef]; spec.Stats.
	PodStats Method = "pod-stats"
	// Start: [StartRequest], and three streams unless it has a terminal; nothing, and the terminal.
	Start Method = "start"
	// Exec: [ExecRequest], and three streams unless it has a terminal; [ExecResult], and the terminal.
	Exec Method = "exec"
	// Wait: [ProcessRef]; spec.Exit. The response comes when the process has ended.
	Wait Method = "wait"
	// Signal: [SignalRequest].
	Signal Method = "signal"
	// RemoveContainer: [ProcessRef] with PID 0. It kills the container first.
	RemoveContainer Method = "remove-container"
)

// HelloRequest configures the process that runs the sandboxes.
type HelloRequest struct {
	// Runsc is the path of runsc. Empty checks the system only.
	Runsc string `json:"runsc"`
}

// HelloResult describes the process that runs the sandboxes.
type HelloResult struct {
	// Platform is gVisor's platform: systrap or ptrace.
	Platform string `json:"platform"`
}

// PodRef refers to a pod.
type PodRef struct {
	Pod string `json:"pod"`
}

// StartRequest starts a container.
type StartRequest struct {
	Pod       string         `json:"pod"`
	Container spec.Container `json:"container"`
}

// ExecRequest starts a process in a container.
type ExecRequest struct {
	Pod       string       `json:"pod"`
	Container string       `json:"container"`
	Process   spec.Process `json:"process"`
}

// ExecResult identifies a started process.
type ExecResult struct {
	PID int32 `json:"pid"`
}

// ProcessRef refers to a process of a container.
type ProcessRef struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`

	// PID is zero for the container's first process, and otherwise the result of Exec.
	PID int32 `json:"pid"`
}

// SignalRequest sends a signal to a process.
type SignalRequest struct {
	ProcessRef
	Signal int32 `json:"signal"`

	// Foreground sends the signal to the foreground process group of the process's terminal.
	Foreground bool `json:"foreground"`

	// All sends the signal to all processes of the container.
	All bool `json:"all"`
}
