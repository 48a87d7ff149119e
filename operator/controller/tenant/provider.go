package tenant

import (
	"context"
	"errors"

	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
)

// Provide gives a request the secrets provider of the platform, if the team's TenantPolicy names one, and calls note with
// it. It returns a [*stall.Error] if the request names another. Admission says the same, but a Stack may be older than the
// TenantPolicy, or the cluster may fill in nothing.
func (r *Reader) Provide(ctx context.Context, req *engine.Request, note func(object, version string)) error {
	policy, err := r.Policy(ctx)
	if errors.Is(err, ErrMissing) || err == nil && policy == nil {
		return nil
	}
	if err != nil {
		return err
	}
	provider, with := policy.Context.SecretsProvider, "the passphrase of Secret "+policy.Context.Name
	allowed := req.SecretsProvider == "" || req.SecretsProvider == "passphrase" && provider == ""
	if provider != "" {
		with = provider
		allowed = allowed || req.SecretsProvider == provider
	}
	if !allowed {
		return stall.Invalid("spec.secretsProvider is not the platform's. Stacks of team %s encrypt their secrets with %s; ask %s",
			policy.Team, with, policy.Contact)
	}
	if provider != "" {
		req.SecretsProvider = provider
		// A Stack that is older than the provider runs once, which reencrypts its secrets.
		note("secretsProvider", provider)
	}
	return nil
}
