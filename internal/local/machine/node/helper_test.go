package node

import (
	"io"
	"log/slog"
	"net"
	"testing"

	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/processes"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/simulated"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// soon is like Eventually, for changes that must not wait for the node's own check every minute.
func soon(t *testing.T, what string, check func() error) {
	t.Helper()
	nodetest.Within(t, volume.RefreshInterval/2, what, check)
}

// testGateway returns a network that follows no cluster.
func testGateway(t *testing.T) *network.Gateway {
	t.Helper()
	gateway, err := newGateway()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Close)
	return gateway
}

func newGateway() (*network.Gateway, error) {
	return network.New(network.Options{
		Address: controlplane.Gateway, Pods: controlplane.Pods, Services: controlplane.Services, DNS: controlplane.DNS,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// newTestNode returns a node that serves no API and has no informers. client and pods may be nil.
func newTestNode(t *testing.T, client kubernetes.Interface, pods corev1listers.PodLister) *Node {
	t.Helper()
	n := newNode(client, Options{
		Config: &rest.Config{}, Pods: t.TempDir(), Logs: t.TempDir(), Processes: &process.Set{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Catalogue: processes.Catalogue{{May: anybody, Repository: "example.com/program", Tag: "v1"}},
		Network:   testGateway(t),
		Listen:    func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	}, simulated.Runtime{}, nil, pods, &record.FakeRecorder{})
	t.Cleanup(n.services.Close)
	return n
}
