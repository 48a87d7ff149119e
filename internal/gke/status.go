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
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/inspect"
)

// Report returns the status of every layer.
func (p *Platform) Report(ctx context.Context, look inspect.Look) (status.Report, error) {
	list, err := p.Teams()
	if err != nil {
		return status.Report{}, err
	}
	cluster := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster"}
	config, err := p.Config(ctx, false)
	switch {
	case err == nil && config == nil:
		cluster.Reason, cluster.Message = status.ReasonNeverMade, "layer 1 has created no cluster yet: run `"+p.strataLine("up")+"`"
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
	return look(ctx, config, graph.Scope{
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
// rejects the engineer, the kubeconfig does not trust the API's certificate, or the exec plugin fails.
func unreachable(err error) string {
	var untrusted *tls.CertificateVerificationError
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || errors.As(err, &untrusted) ||
		// The prefix of the errors of client-go's exec plugins (client-go, plugin/pkg/client/auth/exec).
		strings.Contains(err.Error(), "getting credentials: ") {
		return status.ReasonAccessDenied
	}
	return "Unreachable"
}

// Alive returns nil: no process of this machine keeps the platform alive.
func (p *Platform) Alive(context.Context) error { return nil }
