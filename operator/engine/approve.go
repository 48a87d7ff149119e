package engine

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/engine/pipe"
	"github.com/strata-platform/strata/operator/engine/redact"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/operator/environ"
)

// approve shows the caller what an update or a destroy would do, and returns the caller's error.
func (r *run) approve(ctx context.Context) error {
	if r.Approve == nil || r.Operation != Up && r.Operation != Destroy || r.Risks != nil && !r.state().Has(r.Risks) {
		return nil
	}
	log := events.NewLog(r.mask)
	log.OfPreview()
	readErr, err := pipe.Receive(ctx, r.dir, log.Read, func(ctx context.Context, path string) error {
		_, err := r.pulumi(ctx, nil, append(r.arguments(Preview), "--event-log", path)...)
		return err
	})
	if err != nil {
		_ = describe(err, log)
		return err
	}
	if over := bounds.As(readErr); over != nil {
		return r.failure(TooLarge, "%s", over)
	} else if readErr != nil {
		return fmt.Errorf("read the preview of stack %q: %w", r.Stack, readErr)
	}
	planned := log.Plan()
	if planned.State, err = r.stateDigest(ctx); err != nil {
		return err
	}
	return r.Approve(ctx, planned)
}

// stateDigest returns the digest of the stack's state. It is that of a Plan, unless the state is too large for a Plan: then it is that
// of the text, which every update changes.
func (r *run) stateDigest(ctx context.Context) (string, error) {
	content, err := r.state().Read()
	if err != nil {
		if content, err = (ownStack{r}).Export(ctx); err != nil {
			return "", err
		}
	}
	passphrase := environ.Variable(r.env, settings.PassphraseVariable)
	digest, err := redact.Digest(ctx, redact.Request{State: content, Passphrase: passphrase, Keys: r.crypters})
	if err != nil && len(content) <= redact.MaxState { // Another provider than the passphrase encrypts the state.
		if plain, failed := (ownStack{r}).export(ctx, true); failed == nil {
			digest, err = redact.Digest(ctx, redact.Request{State: plain, Passphrase: passphrase, Keys: r.crypters})
		}
	}
	if err != nil {
		digest = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	}
	return digest, nil
}
