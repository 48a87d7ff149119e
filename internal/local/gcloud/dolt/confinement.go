package dolt

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/strata-platform/strata/internal/local/process"
	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// memoryBound is how much private memory in bytes a server may take. A user's query can ask for more than the machine has.
const memoryBound = 8 << 30

// confinement holds a server to the folders of its instance and to a network of its own: what its users make it do by SQL
// reaches neither another instance nor a service of this machine.
func (n Needs) confinement(binary string) *sandbox.Confinement {
	grants := append(sandbox.Grants("", n.Writes...), sandbox.Grant{Path: binary})
	for _, path := range n.Reads {
		grants = append(grants, sandbox.Grant{Path: path})
	}
	return &sandbox.Confinement{Grants: grants, Network: &sandbox.Network{}, Limits: sandbox.Limits{Memory: memoryBound, First: true}}
}

// maxConnections bounds the connections of clients to one server: what the server takes itself. The runs of
// one team, each bounded by its sandbox, hold fewer.
const maxConnections = 1000

// publish lets clients of this machine reach a server that listens in a network of its own, at the same address, until
// the returned function is called. A server without such a network is reached already.
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
		sandbox.Relay(ctx, listener, maxConnections, func(ctx context.Context, client net.Conn) { forward(ctx, newPackets(client)) })
	})
	return func() {
		listener.Close()
		cancel()
		relayed.Wait()
	}, nil
}
