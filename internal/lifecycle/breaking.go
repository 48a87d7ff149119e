package lifecycle

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/breaking"
)

// Orders guards the orders of the catalogue against changes of its entries. A cluster that is stopped cannot be asked.
func (p *Platform) Orders() breaking.Guard {
	return breaking.Guard{TeamsFile: p.About().TeamsFile, Connect: func(ctx context.Context) (*rest.Config, error) {
		config, err := p.Config(ctx, false)
		if errors.Is(err, ErrStopped) {
			return nil, nil
		}
		if err != nil || config == nil {
			return nil, err
		}
		return Brief(config), nil
	}}
}

// refuseBreaking returns an error if an operation on layer 2 would break orders.
func (p *Platform) refuseBreaking(ctx context.Context, layer string) error {
	if layer != PlatformLayer {
		return nil
	}
	return p.Orders().Refuse(ctx, layer)
}
