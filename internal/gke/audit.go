package gke

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/platform/operators"
)

var _ audit.Target = (*Platform)(nil)

// AuditSite implements [audit.Target]: the administrator of the cluster impersonates its accounts. The hosts of the repositories and of
// the images are not Strata's, and the engineer's login gives no token of a team.
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
	return &audit.Site{
		Target: "gke", Config: config, Impersonate: true, Upstream: configured.Operator == operators.Upstream, Tenants: tenants,
		Unknown: map[audit.Area]string{
			audit.IAM:      "target gke: ask Google's Policy Analyzer who may do this: the audit has no token of the account",
			audit.Git:      "target gke: the host of the repositories decides",
			audit.Registry: "target gke: the registry decides",
			audit.Sockets:  "target gke: no server of the platform listens on this machine",
		},
		Versions: map[string]string{},
	}, nil
}
