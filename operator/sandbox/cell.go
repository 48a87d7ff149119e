package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"syscall"

	"github.com/strata-platform/strata/operator/accept"
	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// Confinement describes what a command may use. The zero value grants an empty file
// system and the caller's network, and sets no limits.
type Confinement struct {
	// Grants lists the files that the command may access. If namespaces are available, the
	// command sees no other files.
	Grants []Grant

	// Network is the network of the command. If Network is nil, the command shares the
	// caller's network.
	Network *Network

	// Limits bounds the resources that the command and its children use.
	Limits Limits
}

// Limits bounds a command and each of its processes, from shortly after the start. Zero
// means no bound.
type Limits struct {
	// FileSize is the maximum size of a file, in bytes.
	FileSize uint64

	// Memory is the maximum size of one process's private writable memory, in bytes.
	Memory uint64

	// Processes is the maximum number of processes and threads of the command. A command
	// that exceeds it is killed. Since Linux 6.14, the kernel refuses the command more than
	// a quarter beyond it.
	Processes uint64

	// UserProcesses is the maximum number of processes and threads of the user. The kernel
	// checks it when the command starts another process or thread, and does not apply it to
	// root (setrlimit(2)).
	UserProcesses uint64

	// First makes the kernel kill the command before other processes when memory runs out.
	First bool
}

// Cell is a started command in its confinement.
type Cell struct {
	cmd       *exec.Cmd
	listeners []net.Listener
	cancel    context.CancelFunc

	// relays waits for the goroutines that serve the command until it has ended.
	relays sync.WaitGroup

	// isolated says that the command has its own namespaces. adopting says that it has
	// none, and that this process must find and kill the processes that the command leaves
	// behind.
	isolated, adopting bool

	// pidfd refers to the command, even after it has ended, until boundProcesses closes it. It is negative if the system has
	// no such descriptors.
	pidfd int

	// calls is a channel of functions for the thread that is in the command's namespaces.
	calls chan func()

	// ended is closed when the command has ended. err is then its error.
	ended chan struct{}
	err   error

	// multiplied says that the command was killed because it had too many processes. Read
	// it after the relays have ended.
	multiplied bool
}

// Start starts a command in a confinement. Start uses the standard streams, folder,
// environment and extra files of cmd, which must not have been started. On Linux the
// command does not outlive this process. The caller must call Wait.
//
// If [Check] returns an error, Start confines the command by Landlock only, to the
// grants, if the kernel supports Landlock. The command then shares the caller's
// network.
func Start(cmd *exec.Cmd, confinement Confinement) (*Cell, error) {
	return start(cmd, confinement, false)
}

// start implements Start. With adopting, and without namespaces, the caller finds the processes that the command leaves behind by
// their HOME, and ends them.
func start(cmd *exec.Cmd, confinement Confinement, adopting bool) (*Cell, error) {
	isolated := Check() == nil
	c := &Cell{cmd: cmd, pidfd: -1, calls: make(chan func()), ended: make(chan struct{}), isolated: isolated, adopting: adopting && !isolated}
	started := make(chan error, 1)
	onThread(func() { c.live(confinement, started) })
	if err := <-started; err != nil {
		c.close()
		return nil, err
	}
	err := confinement.Limits.apply(cmd.Process.Pid)
	if err == nil {
		err = c.boundProcesses(confinement.Limits.Processes)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = c.Wait()
		return nil, fmt.Errorf("limit the resources of the command: %w", err)
	}
	c.relays.Go(func() { c.hold(confinement.Limits.Processes) })
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	for i, listener := range c.listeners {
		loop := accept.Loop{Places: maxConnections, Serve: confinement.Network.Endpoints[i].serve}
		c.relays.Go(func() { loop.Run(ctx, listener) })
	}
	return c, nil
}

func (c *Cell) begin() error {
	if c.adopting {
		return processes.Start(c.cmd, environ.Variable(c.cmd.Env, "HOME"))
	}
	return c.cmd.Start()
}

func (c *Cell) finish() error {
	if c.adopting {
		return processes.Wait(c.cmd)
	}
	return c.cmd.Wait()
}

// Wait waits until the command ends. Wait returns the error of [exec.Cmd.Wait], joined
// with [ErrProcesses] if the command had too many processes. If namespaces are
// available, all processes that the command started have ended, too.
func (c *Cell) Wait() error {
	<-c.ended
	c.close()
	if c.multiplied {
		return errors.Join(ErrProcesses, c.err)
	}
	return c.err
}

// ErrProcesses means that a command was killed because it had more processes and
// threads than its limit.
var ErrProcesses = errors.New("it has too many processes and threads")

// Done returns a channel that is closed when the command has ended.
func (c *Cell) Done() <-chan struct{} { return c.ended }

// Signal sends the command a signal. The kernel does not deliver a signal without a
// handler to the first process of a PID namespace, which the command may be
// (pid_namespaces(7)). Signal therefore sends SIGKILL instead of a signal that the
// command neither handles nor ignores.
func (c *Cell) Signal(signal syscall.Signal) error {
	if c.isolated && !processes.Heeds(c.cmd.Process.Pid, signal) {
		signal = syscall.SIGKILL
	}
	return c.cmd.Process.Signal(signal)
}

// Dial connects to an address in the command's network, and from the local address
// unless that is empty. Dial fails if the command has ended. A nil Cell stands for a
// command without confinement, which uses the caller's network.
func (c *Cell) Dial(ctx context.Context, local, address string) (net.Conn, error) {
	dialer := &net.Dialer{}
	if local != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(local)}
	}
	if c == nil || !c.isolated {
		return dialer.DialContext(ctx, "tcp", address)
	}
	var conn net.Conn
	err := c.call(ctx, func() (err error) {
		conn, err = dialer.DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// errEnded means that a cell's command has ended.
var errEnded = errors.New("the command has ended")

// call runs f on the cell's thread.
func (c *Cell) call(ctx context.Context, f func() error) error {
	result := make(chan error, 1)
	select {
	case c.calls <- func() { result <- f() }:
		return <-result
	case <-c.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close closes the listeners, and waits until the relays have ended.
func (c *Cell) close() {
	for _, listener := range c.listeners {
		listener.Close()
	}
	if c.cancel != nil {
		c.cancel()
	}
	c.relays.Wait()
}
