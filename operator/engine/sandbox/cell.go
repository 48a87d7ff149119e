package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Confinement says what a command may use. The zero value grants nothing but an
// empty file system and the caller's network.
type Confinement struct {
	// Grants are the files that the command sees. Where namespaces are available,
	// no other file exists for it.
	Grants []Grant

	// Network is the network of the command. Nil means that of the caller.
	Network *Network

	// Limits bound what the command and its children take from the machine.
	Limits Limits
}

// Network is a network of a command's own. It has a loopback interface, on which the
// command reaches its own processes and the endpoints, and nothing else.
type Network struct {
	// Endpoints are the addresses that the command reaches.
	Endpoints []Endpoint
}

// To returns the endpoint of a host and a port of the caller's network, under the same
// name or address. Of an IPv6 address only that of loopback is possible.
func To(host, port string) Endpoint {
	if net.ParseIP(host) != nil {
		return Endpoint{Address: net.JoinHostPort(host, port)}
	}
	return Endpoint{Address: net.JoinHostPort(nameAddress, port), Name: host}
}

// nameAddress is what the names of endpoints resolve to. It differs from the address on
// which programs listen themselves.
const nameAddress = "127.0.0.2"

// hosts is the list of the endpoints' names and localhost, in the form of hosts(5),
// empty where no endpoint has a name.
func (n *Network) hosts() string {
	if n == nil || !slices.ContainsFunc(n.Endpoints, func(e Endpoint) bool { return e.Name != "" }) {
		return ""
	}
	var lines strings.Builder
	lines.WriteString("127.0.0.1 localhost\n")
	for _, endpoint := range n.Endpoints {
		if host, _, err := net.SplitHostPort(endpoint.Address); err == nil && endpoint.Name != "" {
			fmt.Fprintf(&lines, "%s %s\n", host, endpoint.Name)
		}
	}
	return lines.String()
}

// Endpoint is an address that a confined command reaches.
type Endpoint struct {
	// Address is what the command connects to: an IPv4 address, or one of loopback, and
	// a port.
	Address string

	// Name is a host name that the command resolves to the address, empty for none.
	Name string

	// Serve serves a connection of the command until ctx ends. Nil means that it is
	// forwarded to the same port in the caller's network, of the name if there is one and
	// of the address otherwise.
	Serve func(ctx context.Context, conn net.Conn)
}

// Limits bound a command and each of its processes, from shortly after its start. A zero
// field is no bound.
type Limits struct {
	// FileSize is the size in bytes that a file may grow to.
	FileSize uint64

	// Memory is the private memory in bytes that one process may write to.
	Memory uint64

	// Processes is how many processes and threads the command may have. With more it is
	// killed.
	Processes uint64

	// UserProcesses is how many the user may have when the command starts one more. The
	// kernel does not apply it to root (setrlimit(2)).
	UserProcesses uint64

	// First makes the kernel end the command before others when memory runs out.
	First bool
}

// Cell is a started command in its confinement.
type Cell struct {
	cmd       *exec.Cmd
	listeners []net.Listener
	cancel    context.CancelFunc

	// relays are the goroutines that serve the command until it has ended.
	relays sync.WaitGroup

	// isolated says that the command has namespaces of its own, adopting that this process
	// is to find and end what the command leaves behind where it has none.
	isolated, adopting bool

	// calls are carried out by the thread that is in the command's namespaces.
	calls chan func()

	// ended is closed when the command has ended, with its error in err.
	ended chan struct{}
	err   error

	// multiplied says that the command was killed for the number of its processes. It is
	// read when the relays have ended.
	multiplied bool
}

// Start starts a command in a confinement. Standard streams, folder, environment and
// extra files are those of cmd, which must not have been started. On Linux the command
// does not outlive this process. Whoever starts a cell calls Wait.
//
// Where [Check] fails, Landlock alone holds the command to the grants, as far as the
// kernel has it, and the command shares the caller's network.
func Start(cmd *exec.Cmd, confinement Confinement) (*Cell, error) {
	return start(cmd, confinement, false)
}

func start(cmd *exec.Cmd, confinement Confinement, adopting bool) (*Cell, error) {
	isolated := Check() == nil
	c := &Cell{cmd: cmd, calls: make(chan func()), ended: make(chan struct{}), isolated: isolated, adopting: adopting && !isolated}
	started := make(chan error, 1)
	onThread(func() { c.live(confinement, started) })
	if err := <-started; err != nil {
		c.close()
		return nil, err
	}
	if err := confinement.Limits.apply(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = c.Wait()
		return nil, fmt.Errorf("limit what the command takes: %w", err)
	}
	c.relays.Go(func() { c.hold(confinement.Limits.Processes) })
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	for i, listener := range c.listeners {
		c.relays.Go(func() { Relay(ctx, listener, maxConnections, confinement.Network.Endpoints[i].serve) })
	}
	return c, nil
}

func (c *Cell) begin() error {
	if c.adopting {
		return begin(c.cmd)
	}
	return c.cmd.Start()
}

func (c *Cell) finish() error {
	if c.adopting {
		return finish(c.cmd)
	}
	return c.cmd.Wait()
}

// Wait waits for the command's end. The error is that of [exec.Cmd.Wait], with
// [ErrProcesses] where it had too many. Where
// namespaces are available, all processes that the command started have ended, too.
func (c *Cell) Wait() error {
	<-c.ended
	c.close()
	if c.multiplied {
		return errors.Join(ErrProcesses, c.err)
	}
	return c.err
}

// ErrProcesses says that a command was killed because it had more processes and threads
// than its limit.
var ErrProcesses = errors.New("it has too many processes and threads")

// Done is closed when the command has ended.
func (c *Cell) Done() <-chan struct{} { return c.ended }

// Signal sends the command a signal. One that would end it does so, handled or not: the
// kernel keeps a signal without a handler from the first process of a namespace, which
// the command may be (pid_namespaces(7)).
func (c *Cell) Signal(signal syscall.Signal) error {
	if c.isolated && !heeds(c.cmd.Process.Pid, signal) {
		signal = syscall.SIGKILL
	}
	return c.cmd.Process.Signal(signal)
}

// Dial connects to an address in the command's network, from the given local address
// unless that is empty. It fails when the command has ended. A nil cell stands for a
// command that is not confined, whose network is the caller's.
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

// errEnded says that a cell's command has ended.
var errEnded = errors.New("the command has ended")

// call has the cell's thread carry out f.
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

// close ends the relays.
func (c *Cell) close() {
	for _, listener := range c.listeners {
		listener.Close()
	}
	if c.cancel != nil {
		c.cancel()
	}
	c.relays.Wait()
}
