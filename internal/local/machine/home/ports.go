package home

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// firstPort is the lowest reserved port.
	firstPort = 15000
	// firstNodePort is the lowest node port of Kubernetes' Services. A team chooses its node ports, so reserved ports are
	// lower: otherwise the team's Service could listen on the port of a home that is stopped.
	firstNodePort = 30000
	// firstOutgoing is the lowest port of outgoing connections if the kernel does not report it (Linux's own default).
	firstOutgoing = 32768
	// portTries bounds the search for a free port.
	portTries = 200
	// releaseTimeout is how long an ending process may take to free its port.
	releaseTimeout = 3 * time.Second
	releasePoll    = 20 * time.Millisecond
)

// ports guards the reserved ports in home.json. The parts of a supervisor reserve ports concurrently.
var ports sync.Mutex

// Port returns the reserved port of a name, and reserves a free one at the first call. Reserved ports keep
// kubeconfigs, contexts and Git URLs stable over restarts. Only the supervisor calls Port, so only one process writes.
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

// Ports returns the reserved ports by name.
func (h Home) Ports() (map[string]int, error) {
	ports.Lock()
	defer ports.Unlock()
	f, err := h.read()
	return f.Ports, err
}

// Listen listens on the reserved loopback port of a name. It returns an error if another program uses the port. For a
// short time it waits for the port, because a process killed a moment ago may still hold it.
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
		return nil, fmt.Errorf("%s: port %d of this home is in use%s: end that program, or run `%s` and start over: %w", name, port, by, h.Call("down --purge"), err)
	}
}

// CheckPorts returns an error that names the first reserved port that another program uses. No supervisor of this home may run.
func (h Home) CheckPorts() error {
	reserved, err := h.Ports()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		port := reserved[name]
		if port < 1024 || port > 65535 {
			return fmt.Errorf("%s: %d is no port of a home", name, port)
		}
		l, err := listen(port)
		if err != nil {
			return fmt.Errorf("%s: port %d is in use%s: end that program: %w", name, port, holder(port), err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// listen listens on a port of 127.0.0.1. Port 0 stands for any free port.
func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// freePort returns a free port that is not in taken. The port is below the kernel's range for outgoing connections,
// because such a connection could take it while the home is stopped, and below the node ports.
func freePort(taken map[int]bool) (int, error) {
	end := min(outgoingPorts(), firstNodePort)
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
	return 0, fmt.Errorf("none of %d tried ports of 127.0.0.1 is free: end programs that listen there", portTries)
}

// outgoingPorts returns the lowest port of the kernel's range for outgoing connections (ip(7), ip_local_port_range).
func outgoingPorts() int {
	limits, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if fields := bytes.Fields(limits); len(fields) == 2 {
		if first, err := strconv.Atoi(string(fields[0])); err == nil {
			return first
		}
	}
	return firstOutgoing
}
