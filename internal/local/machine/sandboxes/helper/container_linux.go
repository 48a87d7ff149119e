package helper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/sentry"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// process is a started process. exit is valid when done is closed.
type process struct {
	done chan struct{}
	exit spec.Exit
}

// container is a started container.
type container struct {
	process
	id string // runsc's ID
	// processes is the runsc ID of the container whose PID namespace this container has: its own, or that of its target.
	processes string
	limits    spec.Limits

	// exceeded is the limit that the container exceeded, so that it was killed. The pod's lock protects it.
	exceeded spec.Limit
}

// callTimeout bounds calls that a sandbox answers at once, unless it is broken.
const callTimeout = 30 * time.Second

// start creates and starts a container. It returns its terminal, if it has one.
func (p *pod) start(ctx context.Context, description spec.Container, files []*os.File) (any, *os.File, error) {
	if err := description.Validate(); err != nil {
		return nil, nil, err
	}
	streams, err := streamsOf(files, description.Terminal)
	if err != nil {
		return nil, nil, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	c, err := p.add(description)
	if err != nil {
		return nil, nil, fmt.Errorf("start container %q: %w", description.ID, err)
	}
	terminal, err := p.run(ctx, c, description, streams)
	if err != nil {
		p.drop(ctx, description.ID, c)
		return nil, nil, fmt.Errorf("start container %q: %w", description.ID, err)
	}
	go p.follow(&c.process, func(ctx context.Context) (syscall.WaitStatus, error) { return p.sentry.Wait(ctx, c.id) }, c)
	return nil, terminal, nil
}

// streamsOf returns the standard streams that a request carries.
func streamsOf(files []*os.File, terminal bool) ([3]*os.File, error) {
	if terminal && len(files) == 0 {
		return [3]*os.File{}, nil
	}
	if terminal || len(files) != 3 {
		return [3]*os.File{}, fmt.Errorf("the request has %d streams: send three, or none for a terminal", len(files))
	}
	return [3]*os.File(files), nil
}

// add lists a container that is about to start.
func (p *pod) add(description spec.Container) (*container, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed {
		return nil, protocol.ErrGone
	}
	if p.containers[description.ID] != nil {
		return nil, errors.New("it exists: remove it first")
	}
	p.next++
	c := &container{process: process{done: make(chan struct{})}, id: fmt.Sprintf("%s-%d", p.Sandbox, p.next), limits: description.Limits}
	if c.processes = c.id; description.Target != "" {
		target := p.containers[description.Target]
		if target == nil {
			return nil, fmt.Errorf("its target %q: %w", description.Target, protocol.ErrGone)
		}
		c.processes = target.processes
	}
	p.containers[description.ID] = c
	return c, nil
}

// run creates the container with runsc and starts its program. It returns the program's terminal, if it has one.
func (p *pod) run(ctx context.Context, c *container, description spec.Container, streams [3]*os.File) (terminal *os.File, err error) {
	dir := filepath.Join(bundleFolder, c.id)
	defer unpin(dir) // The container has copies of the mounts when it has started.
	if description.Mounts, err = pinSubPaths(dir, description.Mounts); err != nil {
		return nil, err
	}
	if err := p.WriteContainer(dir, description, c.processes); err != nil {
		return nil, err
	}
	create := []string{"--bundle=" + dir}
	if description.Terminal {
		console, err := listenConsole(filepath.Join(dir, "console"))
		if err != nil {
			return nil, err
		}
		defer console.close()
		create = append(create, "--console-socket="+console.path)
		defer func() {
			if err == nil {
				terminal, err = console.receive()
			}
		}()
	}
	if err := p.runsc.run(ctx, [3]*os.File{}, "create", append(create, c.id)...); err != nil {
		return nil, err
	}
	if err := p.runsc.run(ctx, streams, "start", c.id); err != nil {
		return nil, err
	}
	return nil, nil
}

// follow records how a process ends.
func (p *pod) follow(started *process, wait func(context.Context) (syscall.WaitStatus, error), c *container) {
	status, err := wait(context.Background())
	if err != nil {
		status = syscall.WaitStatus(syscall.SIGKILL) // Its container was removed, or its sandbox has ended.
	}
	if errors.Is(err, sentry.ErrGone) {
		// A sandbox that breaks connections is of no use, so its end is certain when the response comes.
		p.runsc.reaper.kill(p.process)
		<-p.ended
	}
	started.exit = spec.ExitOf(status)
	p.mu.Lock()
	started.exit.Exceeded = c.exceeded
	p.mu.Unlock()
	close(started.done)
}

// wait waits until a process has ended. The result of exec can be waited for once.
func (p *pod) wait(r protocol.ProcessRef) (any, *os.File, error) {
	started, err := p.find(r)
	if err != nil {
		return nil, nil, err
	}
	<-started.done
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.execs, execKey{r.Container, r.PID})
	return started.exit, nil, nil
}

func (p *pod) find(r protocol.ProcessRef) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.PID != 0 {
		if started := p.execs[execKey{r.Container, r.PID}]; started != nil {
			return started, nil
		}
	} else if c := p.containers[r.Container]; c != nil {
		return &c.process, nil
	}
	return nil, fmt.Errorf("process %d of container %q of pod %q: %w", r.PID, r.Container, p.ID, protocol.ErrGone)
}

// container returns a container by its ID.
func (p *pod) container(id string) (*container, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.containers[id]
	if c == nil {
		return nil, fmt.Errorf("container %q of pod %q: %w", id, p.ID, protocol.ErrGone)
	}
	return c, nil
}

// removeContainer kills and removes a container. It succeeds for a container that does not exist.
func (p *pod) removeContainer(ctx context.Context, id string) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	c, err := p.container(id)
	if err != nil {
		return nil
	}
	if err := p.runsc.run(ctx, [3]*os.File{}, "delete", "--force", c.id); err != nil {
		return fmt.Errorf("remove container %q: %w", id, err)
	}
	<-c.done
	p.drop(ctx, id, nil)
	return os.RemoveAll(filepath.Join(bundleFolder, c.id))
}

// drop takes a container from the list. If c is not nil, the container did not start, and drop also removes its files.
func (p *pod) drop(ctx context.Context, id string, c *container) {
	if c != nil {
		_ = p.runsc.run(ctx, [3]*os.File{}, "delete", "--force", c.id)
		_ = os.RemoveAll(filepath.Join(bundleFolder, c.id))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.containers, id)
}

// console is the socket on which runsc sends the terminal of a container.
type console struct {
	path     string
	listener *net.UnixListener
}

func listenConsole(path string) (*console, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		return nil, err
	}
	return &console{path, listener}, nil
}

func (c *console) close() { c.listener.Close() }

// receive returns the terminal that runsc has sent before it ended.
func (c *console) receive() (*os.File, error) {
	_ = c.listener.SetDeadline(time.Now().Add(callTimeout))
	conn, err := c.listener.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("receive the terminal: %w", err)
	}
	defer conn.Close()
	oob := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 64), oob)
	if err != nil {
		return nil, fmt.Errorf("receive the terminal: %w", err)
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("receive the terminal: runsc sent none")
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("receive the terminal: runsc sent none")
	}
	return os.NewFile(uintptr(fds[0]), "terminal"), nil
}
