package dolt

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/operator/accept"
	"github.com/strata-platform/strata/operator/sandbox"
)

// memoryBound is the maximum private memory of a server in bytes. Without a bound, a user's query could take all
// memory of the machine.
const memoryBound = 8 << 30

// confinement confines a server to the folders of its instance and to a network namespace of its own. Its users' SQL
// then reaches neither another instance nor a service of this machine.
func (n Needs) confinement(binary string) *sandbox.Confinement {
	grants := append(sandbox.Grants("", n.Writes...), sandbox.Grant{Path: binary})
	for _, path := range n.Reads {
		grants = append(grants, sandbox.Grant{Path: path})
	}
	return &sandbox.Confinement{Grants: grants, Network: &sandbox.Network{}, Limits: sandbox.Limits{Memory: memoryBound, First: true}}
}

// maxConnections bounds the clients' connections to one server. It is the server's own limit. The runs of one team,
// each bounded by its sandbox, hold fewer.
const maxConnections = 1000

// publish forwards connections to address on this machine to a server that listens at the same address in its own
// network namespace, until the caller calls stop. If the system cannot confine the server, clients reach it directly
// and publish does nothing.
func publish(keeper *process.Keeper, address string) (stop func(), err error) {
	if sandbox.Check() != nil {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var relayed sync.WaitGroup
	relayed.Go(func() {
		forward := sandbox.Forward(func(ctx context.Context) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return keeper.Dial(ctx, "", address)
		})
		serve := func(ctx context.Context, client net.Conn) { forward(ctx, newPackets(client)) }
		accept.Loop{Places: maxConnections, Serve: serve}.Run(ctx, listener)
	})
	return func() {
		listener.Close()
		cancel()
		relayed.Wait()
	}, nil
}
