package plans

import (
	"context"
	"errors"

	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/plans/repository"
	"github.com/strata-platform/strata/operator/engine"
)

// fetch begins a request, and fetches the program of a target if it comes from a repository or an artifact. The caller calls remove after
// the run.
func (r *reconciler) fetch(ctx context.Context, t *target) (req engine.Request, remove func(), err error) {
	remove = func() {}
	if t.removed || t.program != nil {
		return req, remove, nil
	}
	if err := fields.Validate(t.stack); err != nil {
		return req, remove, err
	}
	found, remove, err := r.Repositories.Find(ctx, t.stack, t.live, t.own)
	if err != nil {
		if t.own != nil && ctx.Err() == nil && errors.Is(err, repository.ErrFetch) {
			t.hide(": " + err.Error())
		}
		return req, func() {}, err
	}
	req.Project, req.Source, req.Path = found.Project, found.Source, found.Path
	// Admission checks the types of Programs only.
	policies := r.policies(t)
	req.Allowed, err = policies.Allowed(ctx, req.Source)
	if req.SecretsProvider = t.stack.Spec.SecretsProvider; err == nil {
		err = policies.Provide(ctx, &req, func(string, string) {})
	}
	return req, remove, err
}
