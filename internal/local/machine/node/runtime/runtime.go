// Package runtime defines how the node runs the containers of its pods. A Runtime is one way to run them, for example
// as processes of this machine. The node knows its runtimes only by the interfaces of this package, so that another
// runtime is one more package and one more element of the node's List.
package runtime

import (
	"context"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

// Annotation is the annotation of a pod with the name of its runtime. ReasonAnnotation says why no other runtime runs the
// pod; only a simulated pod has it.
const (
	Annotation       = "strata.dev/runtime"
	ReasonAnnotation = "strata.dev/runtime-reason"
)

// These are the names of the runtimes.
const (
	Process   = "process"
	Sandboxed = "sandboxed"
	Simulated = "simulated"
)

// Runtime is one way to run containers.
type Runtime interface {
	// Name returns the runtime's name. It is the value of Annotation and part of a container's image ID.
	Name() string
	// Executes reports whether the runtime executes programs. If it does not, the node runs no probes or hooks, and
	// declares a container started and ready at once.
	Executes() bool
	// Find returns the image that a container of a pod asks for, or nil if the runtime does not run the image. A
	// Declined error means the same and gives the reason. Any other error means that the runtime would run the image,
	// but cannot: no other runtime runs it then, and the pod's status shows the error.
	Find(pod *corev1.Pod, image string) (Image, error)
	// Enter prepares what the containers of a pod share, and returns the pod's IP address, or the zero value if the pod
	// has none. The node calls it once before the first Start of a container in this runtime, and again after an error.
	// A Declined error passes all containers of the pod to the next runtime.
	Enter(ctx context.Context, p Pod) (netip.Addr, error)
	// Leave releases what Enter prepared, after all containers of the pod have ended. It does nothing for a pod that the
	// runtime never prepared.
	Leave(pod types.UID)
	// Forget removes the runtime's records of a container whose last run has ended. It does nothing for a container
	// that the runtime never started.
	Forget(namespace, pod, container string)
}

// Image is an image that a runtime runs.
type Image interface {
	// Start starts one run of a container. It may take long, for example to build a program; ctx ends it. An Error
	// gives the reason that the container's status shows; the reason of any other error is CreateContainerConfigError.
	// The node calls Start again after an error.
	Start(ctx context.Context, c Container) (Run, error)
}

// Volumes are the volumes of one pod. *volume.Volumes implements it.
type Volumes interface {
	// Prepare writes the content of every volume. It fails if a Secret or ConfigMap that is not optional does not exist, if
	// the node does not support a volume, or if ctx is done. Prepare also starts the updates of the volumes.
	Prepare(ctx context.Context) error
	// Mounts returns a container's mounts, longest path first. env holds the variables that subPathExpr may name.
	Mounts(c *corev1.Container, env map[string]string) ([]volume.Mount, error)
	// MakeFolders creates the missing folders of sub paths, for a runtime whose programs are trusted.
	MakeFolders(mounts []volume.Mount) error
	// Writable returns the volumes that programs write to. It contains persistent volumes after the first Prepare.
	Writable() []volume.Writable
}

// Pod describes a pod to a runtime. A runtime must not modify its object.
type Pod struct {
	// Object is the pod's latest object from the API server.
	Object *corev1.Pod
	// Dir is the absolute path of the pod's folder. Volumes creates it, and the node removes it with the pod.
	Dir string
	// Dial connects to a port of the pod's containers, for a runtime whose containers share the machine's network.
	Dial func(ctx context.Context, port int32) (net.Conn, error)
	// Environment resolves the references in the pod's spec.
	Environment environment.Resolver
	// Volumes are the pod's volumes.
	Volumes Volumes
	// Pulling shows the progress of an image's pull in the waiting containers that use the image.
	Pulling func(image, message string)
	// Event sends an event about the pod. kind is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Event func(kind, reason, format string, args ...any)
}

// Container describes a container to a runtime.
type Container struct {
	Pod
	// Spec is the container's spec when the pod was created. Its image may have changed since.
	Spec *corev1.Container
	// Init is true for an init container, including a sidecar.
	Init bool
	// Target is the name of the container whose processes an ephemeral container sees. Empty means its own only.
	Target string
	// Log is the path of the log for the container's output. A runtime keeps the previous run's log under the name
	// logfile.Previous.
	Log string
}

// IsSidecar reports whether the container is an init container that keeps running beside the others (Kubernetes,
// "Sidecar Containers").
func (c Container) IsSidecar() bool { return IsSidecar(c.Spec, c.Init) }

// IsSidecar reports whether a container is a sidecar. init says whether it is one of the pod's init containers.
func IsSidecar(c *corev1.Container, init bool) bool {
	return init && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Run is one run of a container: from its start to the end of its program. The methods may be called concurrently, and
// also after the end.
type Run interface {
	// Done returns a channel that closes when the run has ended by itself or by Stop. The run of a simulated container
	// that Kubernetes expects to complete has ended at once.
	Done() <-chan struct{}
	// Exit returns how the run ended. It is valid after Done closes.
	Exit() Exit
	// ImageID returns the ID of the image in the container's status.
	ImageID() string
	// Stop asks the program to end, kills it after grace, and returns when it has ended.
	Stop(grace time.Duration)
	// Exec runs a command of a probe or a hook in the container's environment. It returns an error that says how the
	// command failed, with its output, or errors.ErrUnsupported if the image allows no commands.
	Exec(ctx context.Context, command []string) error
	// Listens reports whether the runtime knows that the program listens on a port of the container, even if the
	// container's spec does not declare it.
	Listens(port int32) bool
	// Address returns the HOST:PORT by which messages and HTTP requests name a port of the container.
	Address(port int32) string
	// Dial connects to a port of the container, in the container's own network.
	Dial(ctx context.Context, port int32) (net.Conn, error)
}

// Exit says how a run ended. The zero value is a success.
type Exit struct {
	// Code is the exit code: 128 plus the number of the signal if a signal killed the program.
	Code int
	// Signal is the number of the signal that killed the program, or 0.
	Signal int
	// Err says why the program ended without Stop. It is nil after Stop.
	Err error
	// Reason is the reason in the container's status, such as OOMKilled. Empty means Completed or Error.
	Reason string
	// Message is the message that the program left for the container's status. Empty means none.
	Message string
}

// Error is an error of Start with the reason that the status of the waiting container shows.
type Error struct {
	// Reason is a reason of the kubelet's, for example ReasonImage.
	Reason string
	// Image names the image if its pull failed and another attempt may succeed. The node waits longer after each failure.
	Image string
	Err   error
}

func (e Error) Error() string { return e.Err.Error() }

func (e Error) Unwrap() error { return e.Err }

// These are reasons of an Error.
const (
	// ReasonImage means that the image is not available.
	ReasonImage = "ErrImagePull"
	// ReasonStart means that the program did not start.
	ReasonStart = "RunContainerError"
)

// ImageID returns the image ID in the status of a container that runs in a runtime.
func ImageID(runtime string) string { return "strata.dev/" + runtime }
