package local

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/tools"
	"github.com/strata-platform/strata/internal/progress"
)

// ShellEnvironment returns the environment in which the command pulumi, in a layer's folder, uses the stack and the
// configuration of `strata layer up`. It prepares everything for a run except the supervisor, which must run already.
func (p *Platform) ShellEnvironment(ctx context.Context, name string, show *progress.Reporter) (map[string]string, error) {
	status, err := p.status(ctx, name)
	if err != nil {
		return nil, err
	}
	free, err := p.Lock()
	if err != nil {
		return nil, err
	}
	defer free()
	if err := tools.Ensure(ctx, p.Toolchain, show, tools.All()...); err != nil {
		return nil, err
	}
	if err := pulumienv.Link(ctx, p.Home, p.Toolchain.Path, p.executable); err != nil {
		return nil, err
	}
	list, err := p.Tenants()
	if err != nil {
		return nil, err
	}
	if err := p.ensureRepositories(ctx, status, list, show); err != nil {
		return nil, err
	}
	l, err := p.layer(ctx, name)
	if err != nil {
		return nil, err
	}
	runner, err := p.runner(ctx, name)
	if err != nil {
		return nil, err
	}
	// Prepare writes the layer's settings, which a run of the layer reads.
	release, err := p.acquire()
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", name, err)
	}
	defer release()
	// Prepare locks a stack that it creates.
	if err := p.layerStates().DropHalfWritten(ctx, l.Project); err != nil {
		return nil, err
	}
	if err := runner.Prepare(ctx, l); err != nil {
		return nil, err
	}
	env, err := p.layerEnvironment(ctx, name, status.GoogleURL)
	if err != nil {
		return nil, err
	}
	env["PATH"] = pulumienv.ShellPath(p.Home)
	return env, nil
}
