package node

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// confinement returns the sandbox of the container's program, or nil if the image is not confined.
func (c *container) confinement(image *Image, program string) (*sandbox.Confinement, error) {
	if !image.Confined {
		return nil, nil
	}
	server, err := url.Parse(c.pod.node.server)
	if err != nil {
		return nil, fmt.Errorf("find the address of the API server: %w", err)
	}
	network := &sandbox.Network{Endpoints: []sandbox.Endpoint{sandbox.To(server.Hostname(), server.Port())}}
	for _, reach := range image.Reach {
		endpoint, err := c.pod.node.endpoint(reach)
		if err != nil {
			return nil, err
		}
		network.Endpoints = append(network.Endpoints, endpoint)
	}
	return &sandbox.Confinement{
		Grants:  append(sandbox.Grants("", c.pod.dir), sandbox.Grant{Path: program}),
		Network: network,
		Limits:  sandbox.Limits{Memory: memoryBound * uint64(c.spec.Resources.Limits.Memory().Value())},
	}, nil
}

// memoryBound multiplies a container's memory limit to the bound on the program's private mappings: a Go program maps
// more memory than it uses.
const memoryBound = 2

// endpoint returns the address to which a confined program connects for one of its targets.
func (n *Node) endpoint(reach Reach) (sandbox.Endpoint, error) {
	if reach.Address != "" {
		return sandbox.Endpoint{Address: reach.Address, Serve: reach.Serve}, nil
	}
	address, err := n.services.address(reach.Namespace, reach.Service, strconv.Itoa(int(reach.Port)))
	if err != nil {
		return sandbox.Endpoint{}, fmt.Errorf("find a port for Service %s/%s: %w", reach.Namespace, reach.Service, err)
	}
	return sandbox.Endpoint{Address: address, Serve: sandbox.Forward(func(context.Context) (net.Conn, error) {
		return n.DialService(reach.Namespace, reach.Service, reach.Port)
	})}, nil
}

// network is the network namespace in which a container's program listens.
type network interface {
	// Dial connects to an address in the network, from the local address local unless that is empty.
	Dial(ctx context.Context, local, address string) (net.Conn, error)
}

// dial connects to a port of the container, by number or name, in the container's network.
func (c *container) dial(ctx context.Context, port intstr.IntOrString) (net.Conn, error) {
	c.pod.mu.Lock()
	network := c.network
	c.pod.mu.Unlock()
	if network == nil {
		network = (*sandbox.Cell)(nil) // A nil Cell dials in this machine's network.
	}
	return network.Dial(ctx, "", c.address(port))
}
