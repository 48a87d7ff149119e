package controller

import (
	"context"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/project"
)

// begin records, before the run creates anything, the place of the run's state and the data for a destroy.
func (s *session) begin(ctx context.Context, req *engine.Request) error {
	if req.Operation == engine.Destroy {
		if err := s.beginDestroy(ctx, req); err != nil {
			return err
		}
	}
	if req.Operation == engine.Preview || req.Operation == engine.Destroy {
		return s.save(ctx)
	}
	status := &s.stack.Status
	note := func(name string) error {
		if err := claims.CheckPlace(status.ProjectInfo, name, *req); err != nil {
			return err
		}
		info := claims.Place(name, *req)
		info.Runtime = project.YAML
		if held := status.ProjectInfo; held != nil && held.Name == name {
			info.Runtime = held.Runtime
			change, err := changesProvider(held, req.SecretsProvider)
			if err != nil {
				return err
			}
			req.Options.ChangeSecretsProvider = change
		}
		// Until the run has succeeded, the previous provider may still be in use.
		if req.Options.ChangeSecretsProvider {
			info.SecretsProvider = status.ProjectInfo.SecretsProvider
		}
		return s.claimant().Claim(ctx, &info, func() error {
			if s.stack.Spec.DestroyOnFinalize {
				if err := s.records.Keep(ctx, s.stack, s.record(name, *req)); err != nil {
					return err
				}
			}
			return s.save(ctx)
		})
	}
	if req.Source == nil {
		return note(req.Project)
	}
	req.Begin = func(name string) error {
		if err := note(name); err != nil {
			return &stall.Refusal{Err: err}
		}
		return nil
	}
	return s.save(ctx)
}

// beginDestroy makes a destroy fail if another Stack holds the Pulumi stack.
func (s *session) beginDestroy(ctx context.Context, req *engine.Request) error {
	if s.stack.Status.ProjectInfo != nil {
		return nil
	}
	check := func(name string) error {
		info := claims.Place(name, *req)
		return s.claimant().Check(ctx, &info)
	}
	if req.Source == nil {
		return check(req.Project)
	}
	req.Begin = func(name string) error {
		if err := check(name); err != nil {
			return &stall.Refusal{Err: err}
		}
		return nil
	}
	return nil
}

// claimant returns the Stack as the one that claims a Pulumi stack.
func (s *session) claimant() *claims.Claimant {
	return &claims.Claimant{Claims: s.claims, Stack: s.stack, Depend: s.depend}
}

// changesProvider reports whether the stack must be reencrypted with another secrets
// provider. An empty provider changes nothing.
func changesProvider(held *v1.ProjectInfo, provider string) (bool, error) {
	if held.Stack == "" || provider == "" || provider == held.SecretsProvider {
		return false, nil
	}
	if !engine.ByPassphrase(provider) {
		return true, nil
	}
	if engine.ByPassphrase(held.SecretsProvider) {
		return false, nil
	}
	return false, stall.Invalid("spec.secretsProvider: %s encrypts the stack's secrets, and the operator cannot change to a passphrase, because pulumi would prompt for it: "+
		"run pulumi stack change-secrets-provider yourself, or restore the previous value", claims.PublicAddress(held.SecretsProvider))
}
