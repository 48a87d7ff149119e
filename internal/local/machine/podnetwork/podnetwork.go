// Package podnetwork runs the network of the pods of a home's cluster: the gateway, which follows the cluster's objects, and
// its connections to the API server and this machine.
package podnetwork

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/ingress"
	"github.com/strata-platform/strata/internal/local/machine/loadbalancer"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/follow"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/tunnel"
)

// Options configures the network. All fields are required, except Google.
type Options struct {
	// Home is the home of the cluster.
	Home home.Home
	// Plane is the cluster's control plane, which runs.
	Plane *controlplane.ControlPlane
	// NodePort is the name of the reserved port of the node's API.
	NodePort string
	// Google is the emulated Google Cloud. Nil means that pods reach none.
	Google *google.Cloud
	Log    *slog.Logger
}

// Network is the network of a cluster's pods.
type Network struct {
	*network.Gateway
	cancel context.CancelFunc
	parts  sync.WaitGroup
}

// Start starts the network, and returns when it knows the cluster's objects. The caller must close it.
func Start(ctx context.Context, o Options) (*Network, error) {
	n, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start the pods' network: %w", err)
	}
	return n, nil
}

// start starts the network. It waits for the first list of the cluster's objects, because a gateway without NetworkPolicies would
// allow connections that a policy denies.
func start(ctx context.Context, o Options) (*Network, error) {
	config := o.Plane.AdminConfig()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	gateway, err := newGateway(config, o)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	n := &Network{Gateway: gateway, cancel: cancel}
	factory := informers.NewSharedInformerFactory(client, 0)
	if err := n.connect(running, o, client, factory); err != nil {
		n.Close()
		return nil, err
	}
	synced, ended := make(chan struct{}), make(chan error, 1)
	n.parts.Go(func() {
		defer factory.Shutdown()
		err := follow.Run(running, factory, gateway.Update, func() { close(synced) })
		if err != nil {
			o.Log.Error("the pods' network no longer follows the cluster", "error", err)
		}
		ended <- err
	})
	select {
	case <-synced:
		return n, nil
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	n.Close()
	return nil, err
}

// connect connects the network to the API server, to this machine and to the emulated Google Cloud.
func (n *Network) connect(ctx context.Context, o Options, client kubernetes.Interface, factory informers.SharedInformerFactory) error {
	socket, err := home.ListenUnix(o.Home.PodsSocket())
	if err != nil {
		return err
	}
	n.parts.Go(func() {
		defer os.Remove(o.Home.PodsSocket())
		tunnel.Serve(ctx, socket, tunnel.Options{Client: o.Plane.APIServerPid, Dial: n.DialAddress, Node: o.node, Log: o.Log})
	})
	if o.Google != nil {
		n.parts.Go(o.Google.Serve(ctx, n.Gateway, accounts(client, factory)))
	}
	listener, err := o.Home.Listen("ingress")
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	balancers := loadbalancer.Options{
		Client: client, Factory: factory, Accept: n.Accept, Listen: o.Home.Listen, Reserved: o.Home.Ports, Log: o.Log,
		Events: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "strata-network"}),
	}
	// The informer exists before the caller starts the factory.
	factory.Core().V1().Services().Informer()
	n.parts.Go(func() {
		defer broadcaster.Shutdown()
		report(o.Log, loadbalancer.Run(ctx, balancers))
	})
	n.parts.Go(func() {
		defer listener.Close()
		report(o.Log, ingress.Run(ctx, ingress.Options{Client: client, Listener: listener, Dial: n.DialService, Log: o.Log}))
	})
	return nil
}

// report logs the error of a part that ended by itself.
func report(log *slog.Logger, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Error("a part of the pods' network ended", "error", err)
	}
}

// Close ends the network with all its connections.
func (n *Network) Close() {
	n.cancel()
	n.Gateway.Close()
	n.parts.Wait()
}

// newGateway returns the gateway, at which pods also reach the API server.
func newGateway(config *rest.Config, o Options) (*network.Gateway, error) {
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	var names map[string]netip.Addr
	if o.Google != nil {
		names = o.Google.Names()
	}
	gateway, err := network.New(network.Options{
		Address: controlplane.Gateway, Pods: controlplane.Pods, Services: controlplane.Services, DNS: controlplane.DNS, Names: names, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	gateway.ServeService(types.NamespacedName{Namespace: "default", Name: "kubernetes"}, func(ctx context.Context, _ network.Request) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Host)
	})
	return gateway, nil
}

// node returns the address of the node's API.
func (o Options) node() (netip.AddrPort, error) {
	port, err := o.Home.Port(o.NodePort)
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port)), err
}
