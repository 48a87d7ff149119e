package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/handoff/keys"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/engine"
)

// export sets the state of a request whose state is in the team's bucket. A run of its own reads the state, which executes no program.
// Only the team's context says which bucket that is, and with which account: the commit may name an address that collects credentials.
func (r *reconciler) export(ctx context.Context, t *target, req *engine.Request) error {
	provider := req.SecretsProvider
	if t.live != nil && t.live.Status.ProjectInfo != nil {
		provider = cmp.Or(provider, t.live.Status.ProjectInfo.SecretsProvider)
	}
	// The engine itself can decrypt with a passphrase only.
	keyed, bucket := !engine.ByPassphrase(provider), strings.HasPrefix(req.Backend, "gs://")
	if !bucket && !keyed {
		return nil
	}
	given := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: t.stack.Namespace, Name: keys.TenantName}, given)
	if err != nil {
		return fmt.Errorf("read the Secret %s: %w", keys.TenantName, err)
	}
	if string(given.Data[backendVariable]) != req.Backend {
		return errors.New("only a state in the backend of the team's context can be planned")
	}
	own := engine.Request{Operation: engine.Export, Reveal: keyed, Project: req.Project, Stack: req.Stack, Backend: req.Backend, Env: map[string]string{}}
	if !bucket {
		own.BackendFolder, own.StateRoot = req.BackendFolder, req.StateRoot
	}
	for _, name := range []string{passphraseVariable, keys.GoogleCredentials} {
		if value := string(given.Data[name]); value != "" {
			own.Env[name], own.Secrets = value, append(own.Secrets, value)
		}
	}
	// Not the account that the commit names: nobody has reviewed it.
	if err := identity.SetGoogle(ctx, r.Client, r.policies(t), t.stack.Namespace, "", &own); err != nil {
		return err
	}
	result, err := r.Engine.Run(ctx, own)
	if failure := (*engine.Error)(nil); errors.As(err, &failure) && failure.Reason == engine.StackMissing {
		req.State = []byte{}
		return nil
	} else if err != nil {
		return err
	}
	req.State = result.State
	return nil
}
