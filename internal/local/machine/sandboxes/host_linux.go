package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// Host runs pods in a helper process.
type Host struct {
	client   *client
	helper   *os.Process
	platform string

	// ended is closed when the helper has ended, and with it all its processes.
	ended chan struct{}
	err   error // valid when ended is closed

	close sync.Once
}

// errClosed is the cause when this process has closed the host.
var errClosed = errors.New("the host was closed")

// Probe returns nil if this system can run sandboxes, and an [UnsupportedError] otherwise.
func Probe(ctx context.Context) error {
	h, err := start(ctx, Options{})
	if err != nil {
		return err
	}
	return h.Close()
}

// Start starts the helper process and an empty sandbox, which it removes again. It returns an [UnsupportedError] if the system
// does not permit what sandboxes need. The helper ends with this process, even if this process is killed.
func Start(ctx context.Context, options Options) (*Host, error) {
	if options.Runsc == "" {
		return nil, errors.New("start the host of sandboxes: give the path of runsc")
	}
	return start(ctx, options)
}

func start(ctx context.Context, options Options) (*Host, error) {
	h, err := launch(options)
	if err != nil {
		return nil, err
	}
	var result protocol.HelloResult
	err = h.client.call(ctx, protocol.Hello, protocol.HelloRequest{Runsc: options.Runsc}, &result)
	if err != nil {
		h.Close()
		if failure := (*protocol.Failure)(nil); errors.As(err, &failure) && failure.Unsupported {
			return nil, unsupported(failure)
		}
		return nil, fmt.Errorf("start the host of sandboxes: %w", err)
	}
	h.platform = result.Platform
	return h, nil
}

// launch starts the helper process.
func launch(options Options) (*Host, error) {
	if !called.Load() {
		return nil, errors.New("start the host of sandboxes: this program does not call sandboxes.Main")
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start the host of sandboxes: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "sandboxes")
	defer theirs.Close()
	conn, err := protocol.NewConn(os.NewFile(uintptr(pair[0]), "sandboxes"))
	if err != nil {
		return nil, fmt.Errorf("start the host of sandboxes: %w", err)
	}
	// The link leads to this program even after its file was replaced.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"strata-sandboxes"}
	cmd.Env = []string{helperVariable + "=" + helperValue}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = options.Log, options.Log
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
	}
	h := &Host{client: newClient(conn), ended: make(chan struct{})}
	if err := h.spawn(cmd); err != nil {
		conn.Close()
		return nil, unsupported(fmt.Errorf("start a process in a user namespace: %w", err))
	}
	return h, nil
}

// spawn starts the helper on a thread that lives as long as the helper, because the parent-death signal reacts to the end of the
// thread (PR_SET_PDEATHSIG(2const)).
func (h *Host) spawn(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		h.helper = cmd.Process
		started <- err
		if err != nil {
			return
		}
		// The kernel reports the end of the first process of a PID namespace after the end of all others.
		err = cmd.Wait()
		h.client.fail()
		if err == nil {
			err = errClosed
		}
		h.err = fmt.Errorf("the helper process of the sandboxes has ended: %w", err)
		close(h.ended)
	}()
	return <-started
}

// Platform returns gVisor's platform: systrap or ptrace.
func (h *Host) Platform() string { return h.platform }

// Done returns a channel that is closed when the helper process has ended, because of [Host.Close] or of a failure. All pods have
// ended then.
func (h *Host) Done() <-chan struct{} { return h.ended }

// Err returns the reason of the end after Done is closed, and nil before.
func (h *Host) Err() error {
	select {
	case <-h.ended:
		return h.err
	default:
		return nil
	}
}

// Close kills all pods and ends the helper process. It waits until nothing is left, and may be called again.
func (h *Host) Close() error {
	h.close.Do(func() { h.client.conn.Close() })
	<-h.ended
	return nil
}

// CreatePod starts a pod without containers. The file is the gateway's end of the pod's network: a packet socket that sends and
// receives Ethernet frames. The caller closes the file; it is nil for a pod without a network. If the context ends first, the pod
// is removed.
func (h *Host) CreatePod(ctx context.Context, description spec.Pod) (*Pod, *os.File, error) {
	if err := description.Validate(); err != nil {
		return nil, nil, err
	}
	p := &Pod{client: h.client, id: description.ID, ended: make(chan struct{})}
	r := request{method: protocol.CreatePod, body: description, undo: func() { _ = p.Remove(context.Background()) }}
	files, err := h.client.do(ctx, r, nil)
	if err != nil {
		return nil, nil, err
	}
	go func() {
		// An error means that the helper has ended, or the pod was removed.
		_ = h.client.call(context.Background(), protocol.WaitPod, protocol.PodRef{Pod: p.id}, nil)
		close(p.ended)
	}()
	if len(files) == 0 {
		return p, nil, nil
	}
	protocol.CloseAll(files[1:])
	return p, files[0], nil
}
