package local

import (
	"context"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/platform"
)

// Offered returns the versions of this strata, and that of the strata whose supervisor runs.
func (p *Platform) Offered(ctx context.Context) (skew.Offered, error) {
	offered, err := p.Repository.Offered(p.Home.Operator() == home.UpstreamOperator)
	if err != nil {
		return offered, err
	}
	config, err := platform.NewConfig()
	if err != nil {
		return offered, err
	}
	offered.Flux, offered.Pulumi = config.FluxVersion, p.Toolchain.Version("pulumi")
	if running, err := p.client.Status(ctx); err == nil {
		offered.Running = running.Version
	}
	return offered, nil
}
