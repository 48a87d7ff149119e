package home_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// A port in the range for outgoing connections may be in use as a source port when the home starts again.
func TestPortsAreNotThoseOfOutgoingConnections(t *testing.T) {
	limits, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var first, last int
	if _, err := fmt.Sscan(string(limits), &first, &last); err != nil {
		t.Fatal(err)
	}
	if first <= 15000 {
		t.Skip("this machine leaves no ports for listeners")
	}
	h := open(t, t.TempDir())
	for i := range 20 {
		port, err := h.Port(fmt.Sprint("service-", i))
		if err != nil {
			t.Fatal(err)
		}
		if port >= first && port <= last {
			t.Errorf("port %d is one of %d to %d, of outgoing connections", port, first, last)
		}
	}
}

func TestListenersOnAllAddressesAreNamed(t *testing.T) {
	for network, address := range map[string]string{"tcp4": "0.0.0.0", "tcp": "::"} {
		t.Run(network, func(t *testing.T) {
			h := open(t, t.TempDir())
			port, err := h.Port("git")
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen(network, net.JoinHostPort(address, fmt.Sprint(port)))
			if err != nil {
				t.Skipf("this machine has no %s: %v", network, err)
			}
			defer l.Close()
			taken, err := h.Listen("git")
			if err == nil {
				taken.Close()
				t.Skip("the port can be shared here")
			}
			if want := fmt.Sprintf("by %s (pid %d)", os.Args[0], os.Getpid()); !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		})
	}
}
