package lifecycle

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/lifecycle/stacklines"
	"github.com/strata-platform/strata/platform"
)

// Describe lists the resources of each layer, with the identities that created them.
func (p *Platform) Describe(ctx context.Context) ([]string, error) {
	first, err := p.LayerOutputs(ctx, BootstrapLayer, false)
	if err != nil {
		return nil, err
	}
	second, err := p.LayerOutputs(ctx, PlatformLayer, false)
	if err != nil {
		return nil, err
	}
	text := func(outputs map[string]any, name string) string {
		s, _ := outputs[name].(string)
		return s
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	tenants, err := p.Tenants()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, team := range list {
		names = append(names, team.Name)
	}
	instance, err := p.Instance(ctx, text(first, handoff.OutputInstance))
	if err != nil {
		return nil, err
	}
	about := p.About()
	identities := "a Google identity for each team (" + strings.Join(names, ", ") + ")"
	if len(names) == 0 {
		identities = "no team yet: `" + about.Call("team add NAME") + "` adds one"
	}
	lines := []string{
		fmt.Sprintf("1 bootstrap  as %s: cluster %s, Cloud SQL instance %s, %s",
			about.Engineer, path.Base(text(first, handoff.OutputCluster)), instance, identities),
		fmt.Sprintf("2 platform   as the cluster's administrator, without any cloud rights: Flux %s, the account platform, a hop for each team",
			text(second, platform.OutputFluxVersion)),
		"3 sync       as the account platform: " + about.Operator,
	}
	cluster, err := p.teardown(ctx)
	if err != nil {
		return nil, err
	}
	stacks, err := cluster.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	return append(lines, stacklines.Of(tenants, stacks, about.Call("status -o json"))...), nil
}
