package local

import (
	"context"
	"errors"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/teamadmin"
)

var _ teamadmin.Target = (*Platform)(nil)

// GoogleProject returns the ID of the emulated project.
func (p *Platform) GoogleProject() string { return home.Project }

// Stopped returns why the cluster cannot be read; empty if the cluster runs.
func (p *Platform) Stopped(ctx context.Context) (why string, err error) {
	running, err := p.client.Status(ctx)
	switch {
	case errors.Is(err, supervisor.ErrNotRunning):
		return "nothing runs in " + p.Home.Dir(), nil
	case err != nil:
		return "", err
	case running.Cluster != supervisor.ClusterRunning:
		return "the cluster is " + string(running.Cluster), nil
	}
	return "", nil
}
