package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// run is a run of a container as a process. The Process implements Done and Stop.
type run struct {
	*process.Process
	commands bool // the image allows commands of probes and hooks
	env      []string
	dir      string
	ports    map[int32]int // container port -> port on loopback, in the network of the process
}

// Exit implements runtime.Run.
func (r *run) Exit() runtime.Exit {
	return runtime.Exit{Code: r.ExitCode(), Signal: r.Signal(), Err: r.ExitError()}
}

// ImageID implements runtime.Run.
func (r *run) ImageID() string { return runtime.ImageID(runtime.Process) }

// Exec runs a command on this machine, with the container's environment, in the pod's folder.
func (r *run) Exec(ctx context.Context, command []string) error {
	if !r.commands {
		return errors.ErrUnsupported
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Dir = r.env, r.dir
	// A child of the command may keep the output open. WaitDelay stops the wait for it, and the kill below ends it.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Listens reports whether a listen flag of the catalogue replaces the port.
func (r *run) Listens(port int32) bool {
	_, listens := r.ports[port]
	return listens
}

// Address returns the port's loopback address. A port without a listen flag has the same number here.
func (r *run) Address(port int32) string {
	number := int(port)
	if mapped, ok := r.ports[port]; ok {
		number = mapped
	}
	return net.JoinHostPort(environment.Loopback, strconv.Itoa(number))
}

// Dial implements runtime.Run.
func (r *run) Dial(ctx context.Context, port int32) (net.Conn, error) {
	return r.Process.Dial(ctx, "", r.Address(port))
}
