package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/operator/sandbox/processes"
	"github.com/strata-platform/strata/operator/sandbox/seccomp"
)

// live enters the confinement, starts the command, and runs calls until the command has
// ended. live sends the result of the start to started.
//
// A child inherits the namespaces and the confinement of the thread that starts it, and
// dies with that thread. The thread cannot leave the confinement, so it ends with this
// function.
func (c *Cell) live(confinement Confinement, started chan<- error) {
	if err := c.enter(confinement); err != nil {
		started <- fmt.Errorf("confine the command: %w", err)
		return
	}
	processes.DieWithParent(c.cmd)
	c.cmd.SysProcAttr.PidFD = &c.pidfd
	if err := c.begin(); err != nil {
		started <- err
		return
	}
	started <- nil
	go func() {
		c.err = c.finish()
		close(c.ended)
	}()
	for {
		select {
		case f := <-c.calls:
			f()
		case <-c.ended:
			return
		}
	}
}

// onThread calls f on a thread that ends with f. The thread is never the main thread:
// Go does not end the main thread, so the main thread would stay in its namespaces and
// keep them alive.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		begun := make(chan struct{})
		onThread(func() {
			close(begun)
			f()
		})
		<-begun // While this goroutine locks the main thread, f runs on another one.
		runtime.UnlockOSThread()
	}()
}

// enter confines the calling thread and the processes that it starts.
func (c *Cell) enter(confinement Confinement) error {
	if err := processes.Mark(); err != nil {
		return err
	}
	if !c.isolated {
		if checkLandlock() != nil {
			return nil
		}
		return restrict(confinement.Grants)
	}
	if err := unshare(confinement.Network != nil); err != nil {
		return err
	}
	if confinement.Network != nil {
		if err := c.listen(confinement.Network.Endpoints); err != nil {
			return err
		}
	}
	if err := enterRoot(confinement.Grants, c.cmd.Path, confinement.Network.hosts()); err != nil {
		return err
	}
	if checkLandlock() == nil {
		if err := restrict(confinement.Grants); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return seccomp.Install()
}

// listen listens on the endpoints in the calling thread's network namespace.
func (c *Cell) listen(endpoints []Endpoint) error {
	if err := raiseLoopback(); err != nil {
		return err
	}
	for i, endpoint := range endpoints {
		address, err := netip.ParseAddrPort(endpoint.Address)
		if err == nil && !address.Addr().IsLoopback() {
			err = addAddress(i, address.Addr())
		}
		if err != nil {
			return fmt.Errorf("endpoint %q: %w", endpoint.Address, err)
		}
		// Go listens on a literal address in the calling goroutine, and so on this thread.
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", endpoint.Address)
		if err != nil {
			return fmt.Errorf("endpoint %q: %w", endpoint.Address, err)
		}
		c.listeners = append(c.listeners, listener)
	}
	return nil
}
