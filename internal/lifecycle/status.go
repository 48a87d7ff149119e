package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/teams"
)

// Status returns the status of every layer. It starts nothing and changes nothing.
func (p *Platform) Status(ctx context.Context) (status.Report, error) {
	return p.report(ctx, inspect.Collect)
}

// Watch is like Status, but uses the objects that watch has cached.
func (p *Platform) Watch(ctx context.Context, watch *inspect.Watch) (status.Report, error) {
	return p.report(ctx, watch.Report)
}

// WaitReady waits until what is ready, or has a fault that waiting does not fix. It calls waiting with the root cause. It
// returns the last report on the platform and all teams. If only a team is not ready, the error is a [*wait.TeamsError].
func (p *Platform) WaitReady(ctx context.Context, what wait.For, waiting func(status.Item)) (status.Report, error) {
	var watch inspect.Watch
	defer watch.Stop()
	about := p.About()
	return wait.Wait{
		Look:   func(ctx context.Context) (status.Report, error) { return p.Watch(ctx, &watch) },
		Sure:   p.Status,
		Config: func(ctx context.Context) (*rest.Config, error) { return p.Config(ctx, false) },
		Runs:   p.Alive,
		Limit:  about.Ready, Every: about.Poll, Call: about.Call("status"),
	}.Until(ctx, what, waiting)
}

// report returns the status of every layer. It reads the cluster by look.
func (p *Platform) report(ctx context.Context, look inspect.Look) (status.Report, error) {
	about := p.About()
	below, config, err := p.Below(ctx)
	if err != nil {
		return status.Report{}, err
	}
	if config != nil {
		list, err := p.Tenants()
		if err != nil {
			return status.Report{}, err
		}
		report, err := look(ctx, config, p.Scope(list, below))
		if err == nil || ctx.Err() != nil {
			return report, err
		}
		// A status must show what is broken, so a cluster that does not answer is an item and not an error.
		cluster := &below[len(below)-1]
		cluster.Ready, cluster.Reason, cluster.Message = false, Unreachable(err), fmt.Sprintf("%v: %s", err, about.Reconnect)
	}
	report := status.NewReport(below)
	report.Engineer = about.Engineer
	return report, nil
}

// Scope describes the platform, with its tenants and the items of layer 1, to the packages that report on it.
func (p *Platform) Scope(list []teams.Team, below []status.Item) graph.Scope {
	about := p.About()
	return graph.Scope{
		Teams: list, Below: below, Heads: p.Heads(list), Engineer: about.Engineer, Call: about.Call, Kubectl: about.Kubectl,
	}
}

// Unreachable returns the reason of a cluster whose API fails with err. It is ReasonAccessDenied if waiting does not help:
// the API rejects the engineer, the kubeconfig does not trust the API's certificate, or the exec plugin fails.
func Unreachable(err error) string {
	var untrusted *tls.CertificateVerificationError
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || errors.As(err, &untrusted) ||
		// The prefix of the errors of client-go's exec plugins (client-go, plugin/pkg/client/auth/exec).
		strings.Contains(err.Error(), "getting credentials: ") {
		return status.ReasonAccessDenied
	}
	return "Unreachable"
}
