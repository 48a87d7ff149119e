package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/follow"
)

// startNetwork starts the network of the pods, which follows the cluster's objects until ctx is done.
func startNetwork(ctx context.Context, plane *controlplane.ControlPlane, log *slog.Logger) (*network.Gateway, error) {
	config := plane.AdminConfig()
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("start the pods' network: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("start the pods' network: %w", err)
	}
	gateway, err := network.New(network.Options{
		Address: controlplane.Gateway, Pods: controlplane.Pods, Services: controlplane.Services, DNS: controlplane.DNS, Log: log,
	})
	if err != nil {
		return nil, err
	}
	gateway.ServeService(types.NamespacedName{Namespace: "default", Name: "kubernetes"}, func(ctx context.Context, _ network.Request) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Host)
	})
	synced, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer gateway.Close()
		err := follow.Run(ctx, informers.NewSharedInformerFactory(client, 0), gateway.Update, func() { close(synced) })
		if err != nil {
			log.Error("the pods' network no longer follows the cluster", "error", err)
		}
		ended <- err
	}()
	select {
	case <-synced:
		return gateway, nil
	case err := <-ended:
		if err == nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("start the pods' network: %w", err)
	}
}
