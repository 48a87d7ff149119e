package sandboxed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// run is a run of a container in a sandbox.
type run struct {
	container   runtime.Container
	pod         *pod
	image       images.Image
	sandbox     *sandboxes.Pod
	process     *sandboxes.Process
	description spec.Container
	signal      syscall.Signal
	log         *containerLog
	output      *output
	input       *input // nil: the container has no input
	stopped     atomic.Bool

	done chan struct{}
	exit runtime.Exit // valid when done is closed
}

// follow waits for the end of the container, and removes the container.
func (r *run) follow() {
	exit, err := r.process.Wait(context.Background())
	r.output.end()
	if r.input != nil {
		r.input.Close()
	}
	if errors.Is(err, sandboxes.ErrGone) {
		exit = spec.Exit{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}
	} else if err := r.sandbox.RemoveContainer(context.Background(), r.description.ID); err != nil && !errors.Is(err, sandboxes.ErrGone) {
		r.pod.runtime.options.Log.Error("remove a container", "container", r.description.ID, "error", err)
	}
	r.log.Close()
	r.exit = runtime.Exit{Code: exit.Code, Signal: int(exit.Signal), Message: messageOf(r.container)}
	switch {
	case exit.Exceeded == spec.MemoryLimit:
		r.exit.Reason = "OOMKilled"
		r.exit.Err = errors.New("the container used more memory than its limit")
	case exit.Exceeded == spec.ProcessesLimit:
		r.exit.Err = fmt.Errorf("the container had more than %d processes and threads", r.description.Limits.Processes)
	case errors.Is(err, sandboxes.ErrGone):
		r.exit.Err = errors.New("the pod's sandbox has ended")
	case exit.Code != 0:
		r.exit.Err = fmt.Errorf("exit code %d", exit.Code)
	}
	if r.stopped.Load() {
		r.exit.Err = nil
	}
	close(r.done)
}

// Done implements runtime.Run.
func (r *run) Done() <-chan struct{} { return r.done }

// Exit implements runtime.Run.
func (r *run) Exit() runtime.Exit { return r.exit }

// ImageID returns the image's digest reference.
func (r *run) ImageID() string { return r.image.Name + "@" + r.image.Manifest.Digest.String() }

// Stop sends the image's stop signal, and kills the container after grace.
func (r *run) Stop(grace time.Duration) {
	r.stopped.Store(true)
	// A failure means that the process has ended.
	_ = r.process.Signal(context.Background(), r.signal)
	select {
	case <-r.done:
		return
	case <-time.After(grace):
	}
	_ = r.process.Kill(context.Background())
	<-r.done
}

// stopSignal returns the signal that ends an image's program: SIGTERM, or the one of the image.
func stopSignal(name string) syscall.Signal {
	if number := unix.SignalNum(name); number != 0 {
		return number
	}
	if number := unix.SignalNum("SIG" + name); number != 0 {
		return number
	}
	return syscall.SIGTERM
}

// Exec runs a command in the container, with the container's user and variables.
func (r *run) Exec(ctx context.Context, command []string) error {
	out := &head{}
	started, err := r.sandbox.Exec(ctx, r.description.ID, r.command(command, false), sandboxes.Streams{Stdout: out, Stderr: out})
	if err != nil {
		return err
	}
	exit, err := started.Wait(ctx)
	if ctx.Err() != nil {
		_ = started.Kill(context.WithoutCancel(ctx))
		<-started.Done()
		return ctx.Err()
	}
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d", exit.Code)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out.text()))
	}
	return nil
}

// Listens returns true: other pods may connect to any port of a pod.
func (*run) Listens(int32) bool { return true }

// Address implements runtime.Run.
func (r *run) Address(port int32) string {
	r.pod.mu.Lock()
	defer r.pod.mu.Unlock()
	return netip.AddrPortFrom(r.pod.ip, uint16(port)).String()
}

// Dial connects from the machine to a port of the pod.
func (r *run) Dial(ctx context.Context, port int32) (net.Conn, error) {
	return r.pod.runtime.options.Network.Dial(ctx, r.pod.name, uint16(port))
}
