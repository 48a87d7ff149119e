package buckets

import (
	"context"

	"google.golang.org/api/option"

	"github.com/strata-platform/strata/internal/gke/login"
)

// clientOptions returns the options of a client with the engineer's login.
func clientOptions(ctx context.Context) ([]option.ClientOption, error) {
	source, err := login.FromVariables(ctx)
	if err != nil {
		return nil, err
	}
	if source == nil {
		return []option.ClientOption{option.WithScopes(login.Scope)}, nil
	}
	return []option.ClientOption{option.WithTokenSource(source)}, nil
}
