package gke

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
)

// Offered returns the versions of this strata, of the engineer's pulumi, and of Flux and the operator in the configuration of layer 2.
func (p *Platform) Offered(ctx context.Context) (skew.Offered, error) {
	config, err := p.layer2(ctx)
	if err != nil {
		return skew.Offered{}, err
	}
	offered, err := repository.At(p.Root).Offered(config.Operator == operators.Upstream)
	if err != nil {
		return offered, err
	}
	command, err := p.pulumi()
	if err != nil {
		return offered, err
	}
	offered.Pulumi, offered.Flux = "v"+strings.TrimPrefix(command.Version().String(), "v"), config.FluxVersion
	return offered, ctx.Err()
}

// stored is a value of a stack's configuration in pulumi's output.
type stored struct {
	Value string `json:"value"`
}

// layer2 returns the version of Flux, the operator and the fleet repository in the configuration of layer 2. It reads no secret. Without a
// stack, they are those of a new one.
func (p *Platform) layer2(ctx context.Context) (platform.Config, error) {
	config, err := platform.NewConfig()
	if err != nil {
		return config, err
	}
	text, err := p.runPulumi(ctx, lifecycle.PlatformLayer, "config", "--json")
	values := map[string]stored{}
	if err != nil || json.Unmarshal([]byte(text), &values) != nil {
		return config, ctx.Err()
	}
	config.FluxVersion = cmp.Or(values[platform.Project+":fluxVersion"].Value, config.FluxVersion)
	config.Operator = cmp.Or(values[platform.Project+":operator"].Value, config.Operator)
	config.FleetURL = values[platform.Project+":fleetUrl"].Value
	return config, nil
}
