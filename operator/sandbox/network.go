package sandbox

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Network is a separate network for one command. The network has a loopback interface,
// on which the command reaches its own processes and the endpoints, and nothing else.
type Network struct {
	// Endpoints lists the addresses that the command reaches.
	Endpoints []Endpoint
}

// To returns an endpoint that forwards to a host and a port of the caller's network.
// The command reaches it by the same name or address. The only possible IPv6 address is
// loopback.
func To(host, port string) Endpoint {
	if net.ParseIP(host) != nil {
		return Endpoint{Address: net.JoinHostPort(host, port)}
	}
	return Endpoint{Address: net.JoinHostPort(nameAddress, port), Name: host}
}

// ToEach returns the endpoints of To for addresses (HOST:PORT). Each host name has an address of its own in the command's
// network, because many servers listen at the same port.
func ToEach(addresses []string) ([]Endpoint, error) {
	var endpoints []Endpoint
	names := map[string]int{}
	for _, each := range addresses {
		host, port, err := net.SplitHostPort(each)
		if err != nil {
			return nil, fmt.Errorf("endpoint of commands: %w", err)
		}
		endpoint := To(host, port)
		if endpoint.Name != "" {
			number, known := names[host]
			if !known {
				number = len(names) + 1
				names[host] = number
			}
			endpoint.Address = net.JoinHostPort(fmt.Sprintf("127.1.%d.%d", number/256, number%256), port)
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints, nil
}

// nameAddress is the address to which the names of endpoints resolve. Programs listen
// on 127.0.0.1, so it is another address.
const nameAddress = "127.0.0.2"

// hosts returns the names of the endpoints and localhost in the format of hosts(5), or
// an empty string if no endpoint has a name.
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

// Endpoint is an address that a confined command can connect to.
type Endpoint struct {
	// Address is the address to which the command connects: an IPv4 address or a loopback
	// address, and a port.
	Address string

	// Name is a host name that resolves to the address in the command's network. Name is
	// empty if there is none.
	Name string

	// Serve serves a connection of the command until ctx ends. If Serve is nil, the cell
	// forwards the connection to the same port in the caller's network: to Name, or to
	// Address if Name is empty.
	Serve func(ctx context.Context, conn net.Conn)
}
