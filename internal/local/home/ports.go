package home

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// firstPort is the lowest port that is kept for a name.
	firstPort = 15000
	// firstOutgoing is the lowest port of outgoing connections where the kernel does not say (Linux's own default).
	firstOutgoing = 32768
	// portTries bounds the search for a free port.
	portTries = 200
	// releaseTimeout is how long a process that is ending may take to give its port back.
	releaseTimeout = 3 * time.Second
	releasePoll    = 20 * time.Millisecond
)

// ports is held while the kept ports are read and written: the parts of a supervisor ask for theirs when they need them.
var ports sync.Mutex

// Port returns the port kept for a name, and chooses a free one at the first call. Kept ports keep kubeconfigs,
// contexts and Git URLs stable over restarts. Only the supervisor calls it, so one writing process is all there is.
func (h Home) Port(name string) (int, error) {
	ports.Lock()
	defer ports.Unlock()
	f, err := h.read()
	if err != nil {
		return 0, err
	}
	if port, ok := f.Ports[name]; ok {
		return port, nil
	}
	taken := map[int]bool{}
	for _, p := range f.Ports {
		taken[p] = true
	}
	port, err := freePort(taken)
	if err != nil {
		return 0, fmt.Errorf("choose a port for %s: %w", name, err)
	}
	f.Ports[name] = port
	return port, h.write(f)
}

// Ports returns the ports that are kept, by name.
func (h Home) Ports() (map[string]int, error) {
	ports.Lock()
	defer ports.Unlock()
	f, err := h.read()
	return f.Ports, err
}

// Listen listens on the loopback port kept for a name. A kept port that another program took meanwhile is an error. One
// that a process is about to give back, killed a moment ago, is waited for.
func (h Home) Listen(name string) (net.Listener, error) {
	port, err := h.Port(name)
	if err != nil {
		return nil, err
	}
	deadline := time.After(releaseTimeout)
	for {
		l, err := listen(port)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		by := holder(port)
		if by == "" {
			select {
			case <-deadline:
			case <-time.After(releasePoll):
				continue
			}
		}
		return nil, fmt.Errorf("%s: port %d of this home is in use%s: end that program, or run `%s` and begin a new home: %w", name, port, by, h.Call("down --purge"), err)
	}
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// freePort finds a port that is free and not kept for another name. It lies below those that the kernel gives to
// outgoing connections: such a connection could have the port while the home is stopped.
func freePort(taken map[int]bool) (int, error) {
	end := outgoingPorts()
	for range portTries {
		port := 0
		if end > firstPort {
			port = firstPort + rand.IntN(end-firstPort)
		}
		l, err := listen(port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, err
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		if !taken[port] {
			return port, nil
		}
	}
	return 0, fmt.Errorf("none of %d ports that were tried is free", portTries)
}

// outgoingPorts is the lowest port that the kernel gives to outgoing connections (ip(7), ip_local_port_range).
func outgoingPorts() int {
	limits, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if fields := bytes.Fields(limits); len(fields) == 2 {
		if first, err := strconv.Atoi(string(fields[0])); err == nil {
			return first
		}
	}
	return firstOutgoing
}
