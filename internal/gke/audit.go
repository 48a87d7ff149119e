package gke

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/gke/login"
	"github.com/strata-platform/strata/internal/teamlogin"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/teams"
)

var _ audit.Target = (*Platform)(nil)

// AuditSite implements [audit.Target]: the administrator of the cluster impersonates its accounts, and requests the tokens with which
// the teams' runs become their Google accounts. The hosts of the repositories and of the images are not Strata's.
func (p *Platform) AuditSite(ctx context.Context) (*audit.Site, error) {
	config, err := p.Config(ctx, false)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return nil, fmt.Errorf("audit the platform: layer 1 has created no cluster yet: run `%s`", p.strataLine("up"))
	}
	configured, err := p.layer2(ctx)
	if err != nil {
		return nil, err
	}
	tenants, err := p.Tenants()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("audit the platform: %w", err)
	}
	google, err := p.auditedProject(ctx, client, tenants)
	if err != nil {
		return nil, err
	}
	return &audit.Site{
		Target: "gke", Config: config, Impersonate: true, Upstream: configured.Operator == operators.Upstream, Tenants: tenants, Google: google,
		Unknown: map[audit.Area]string{
			audit.Git:      "target gke: the host of the repositories decides",
			audit.Registry: "target gke: the registry decides",
			audit.Sockets:  "target gke: no server of the platform listens on this machine",
		},
		Versions: map[string]string{},
	}, nil
}

// tokenTimeout bounds a request for a token of a team's Google account.
const tokenTimeout = 30 * time.Second

// auditedProject returns the project of layer 1.
func (p *Platform) auditedProject(ctx context.Context, client kubernetes.Interface, tenants []teams.Team) (*audit.Google, error) {
	outputs, err := p.outputs(ctx)
	if err != nil {
		return nil, err
	}
	text := func(name string) string {
		value, _ := outputs[name].Value.(string)
		return value
	}
	project, who := text(handoff.OutputProject), engineer()
	owners := teamlogin.Teams{Client: client, Tenants: tenants, Google: &http.Client{Timeout: tokenTimeout}}
	return &audit.Google{
		Project: project, Engineer: who,
		Cluster:  text(handoff.OutputCluster),
		Instance: "projects/" + project + "/instances/" + text(handoff.OutputInstance),
		Endpoint: endpoint,
		Token: func(ctx context.Context, account string) (string, error) {
			if account == who {
				return login.Token(ctx)
			}
			return owners.Token(ctx, account)
		},
	}, nil
}

// endpoint returns the base URL of one of Google's APIs, such as "iam/v1/".
func endpoint(api string) string {
	service, path := audit.SplitAPI(api)
	return "https://" + service + ".googleapis.com/" + path
}
