package processes

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/operator/sandbox"
)

// confinement returns the sandbox of the container's program, or nil if the image is not confined.
func (p program) confinement(c runtime.Container, path string) (*sandbox.Confinement, error) {
	if !p.image.Confined {
		return nil, nil
	}
	server, err := url.Parse(p.runtime.Server)
	if err != nil {
		return nil, fmt.Errorf("find the address of the API server: %w", err)
	}
	network := &sandbox.Network{Endpoints: []sandbox.Endpoint{sandbox.To(server.Hostname(), server.Port())}}
	for _, reach := range p.image.Reach {
		endpoint, err := p.runtime.endpoint(reach)
		if err != nil {
			return nil, err
		}
		network.Endpoints = append(network.Endpoints, endpoint)
	}
	return &sandbox.Confinement{
		Grants:  append(sandbox.Grants("", c.Dir), sandbox.Grant{Path: path}),
		Network: network,
		Limits:  sandbox.Limits{Memory: memoryFactor * uint64(c.Spec.Resources.Limits.Memory().Value())},
	}, nil
}

// memoryFactor is the ratio of the bound on a program's private mappings to the container's memory limit. A Go program
// maps more memory than it uses.
const memoryFactor = 2

// endpoint returns the address to which a confined program connects for one of its targets.
func (r *Runtime) endpoint(reach Reach) (sandbox.Endpoint, error) {
	if reach.Address != "" {
		return sandbox.Endpoint{Address: reach.Address, Serve: reach.Serve}, nil
	}
	address, err := r.Services.Address(reach.Namespace, reach.Service, strconv.Itoa(int(reach.Port)))
	if err != nil {
		return sandbox.Endpoint{}, fmt.Errorf("get a port for Service %s/%s: %w", reach.Namespace, reach.Service, err)
	}
	return sandbox.Endpoint{Address: address, Serve: sandbox.Forward(func(context.Context) (net.Conn, error) {
		return r.Services.Dial(reach.Namespace, reach.Service, reach.Port)
	})}, nil
}
