package gke

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
)

// Status returns the status of every layer.
func (p *Platform) Status(ctx context.Context) (status.Report, error) {
	return p.report(ctx, status.Collect)
}

// Watch returns the status from the state of watch.
func (p *Platform) Watch(ctx context.Context, watch *status.Watch) (status.Report, error) {
	return p.report(ctx, watch.Report)
}

func (p *Platform) report(ctx context.Context, look status.Look) (status.Report, error) {
	list, err := p.Teams()
	if err != nil {
		return status.Report{}, err
	}
	cluster := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster"}
	config, err := p.clusterConfig(ctx)
	switch {
	case errors.Is(err, errNoCluster):
		cluster.Reason, cluster.Message = status.ReasonNeverMade, "layer 1 has made none: run `"+p.strataLine("up")+"`"
		return status.NewReport([]status.Item{cluster}), nil
	case err != nil:
		return status.Report{}, err
	}
	cluster.Name = p.clusterName
	if err := answers(config); err != nil {
		cluster.Reason, cluster.Message = unreachable(err), fmt.Sprintf("%s does not answer: %v", config.Host, err)
		return status.NewReport([]status.Item{cluster}), nil
	}
	cluster.Ready, cluster.Message = true, config.Host
	return look(ctx, config, status.Scope{
		Teams: list, Below: []status.Item{cluster}, Engineer: engineer(), Flags: p.strataLine("")[len("strata "):], Kubectl: p.kubectl(),
	})
}

// answerTimeout limits a request to the cluster's API.
const answerTimeout = 10 * time.Second

// answers returns the error of a request to the cluster's API, or nil.
func answers(config *rest.Config) error {
	short := rest.CopyConfig(config)
	short.Timeout = answerTimeout
	client, err := discovery.NewDiscoveryClientForConfig(short)
	if err == nil {
		_, err = client.ServerVersion()
	}
	return err
}

// unreachable returns the reason for an unreachable cluster. It is ReasonAccessDenied if waiting does not help: the API
// refuses the engineer, the kubeconfig does not trust the API's certificate, or the exec plugin fails.
func unreachable(err error) string {
	var untrusted *tls.CertificateVerificationError
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || errors.As(err, &untrusted) ||
		// The prefix of the errors of client-go's exec plugins (client-go, plugin/pkg/client/auth/exec).
		strings.Contains(err.Error(), "getting credentials: ") {
		return status.ReasonAccessDenied
	}
	return "Unreachable"
}

const (
	readyTimeout = 15 * time.Minute
	readyPoll    = 2 * time.Second
)

// WaitReady is [status.Wait.Ready] for this platform.
func (p *Platform) WaitReady(ctx context.Context, waiting func(status.Item)) (status.Report, error) {
	var watch status.Watch
	defer watch.Stop()
	return status.Wait{
		Look:   func(ctx context.Context) (status.Report, error) { return p.Watch(ctx, &watch) },
		Sure:   p.Status,
		Config: p.clusterConfig, Limit: readyTimeout, Every: readyPoll, Call: p.strataLine("status"),
	}.Ready(ctx, waiting)
}
