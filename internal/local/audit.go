package local

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/local/auditsite"
	"github.com/strata-platform/strata/internal/local/kubeconfig"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

var _ audit.Target = (*Platform)(nil)

// AuditSite implements [audit.Target].
func (p *Platform) AuditSite(ctx context.Context) (*audit.Site, error) {
	running, err := p.client.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("audit the platform: %w: run `%s` first", err, p.Home.Call("up"))
	}
	if running.Cluster != supervisor.ClusterRunning {
		return nil, fmt.Errorf("audit the platform: the cluster is %s: run `%s` first", running.Cluster, p.Home.Call("up"))
	}
	config, err := kubeconfig.Config(p.Home)
	if err != nil {
		return nil, err
	}
	tenants, err := p.Tenants()
	if err != nil {
		return nil, err
	}
	return auditsite.New(p.Home, running, config, p.About().Engineer, tenants)
}
