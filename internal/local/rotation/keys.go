package rotation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Keys replaces the keys of the teams' Google accounts, and of the account that answers the look-ups of plans. Layer 1 creates the new
// keys beside the former ones, layer 2 hands them out, and layer 1 deletes the former ones when the Stacks run with the new ones.
func (r Rotation) Keys(ctx context.Context) (Result, error) {
	result := Result{Secret: "keys", Rotated: []Rotated{}}
	release, err := r.begin()
	if err != nil {
		return result, err
	}
	defer release()
	if _, err := r.Local.Start(ctx); err != nil {
		return result, err
	}
	former, err := r.formerKeys(ctx)
	if err != nil {
		return result, err
	}
	if len(former) == 0 {
		result.Nothing = "the teams' Google accounts have no keys: their Stacks and pods get tokens of at most an hour"
		return result, nil
	}
	if err := r.generations(func(g *home.Generations) { g.Keys = home.Next(g.Keys) }); err != nil {
		return result, err
	}
	if err := r.up(ctx); err != nil {
		return result, err
	}
	err = r.Show.Run("runs with the former keys", func() (string, error) {
		waiting, cancel := context.WithTimeoutCause(ctx, lockPatience, errRunning)
		defer cancel()
		list, err := r.Local.Tenants()
		for _, team := range list {
			if err := r.awaitRuns(waiting, team.Namespace()); err != nil {
				return "", err
			}
		}
		return "ended", err
	})
	if err != nil {
		return result, err
	}
	if err := r.generations(func(g *home.Generations) { g.Keys = slices.Clone(g.Keys[:1]) }); err != nil {
		return result, err
	}
	if err := r.up(ctx); err != nil {
		return result, err
	}
	err = r.Show.Run("former keys", func() (string, error) {
		for _, name := range slices.Sorted(maps.Keys(former)) {
			if err := refused(ctx, former[name]); err != nil {
				return "", fmt.Errorf("the key of %s: %w", name, err)
			}
			result.Rotated = append(result.Rotated, Rotated{Name: name, Refused: 1, Proof: "the token endpoint answers the former key with invalid_grant"})
		}
		return fmt.Sprintf("the token endpoint refuses all %d", len(former)), nil
	})
	return result, err
}

// ofPlans names the account that answers the look-ups of plans. No team can have this name.
const ofPlans = "the account of plans"

// formerKeys returns the keys that a rotation replaces, by the name of the team or of the account. A rotation that has created new keys
// already does not tell that of the account of plans any more.
func (r Rotation) formerKeys(ctx context.Context) (map[string]string, error) {
	outputs, err := lifecycle.New(r.Local).LayerOutputs(ctx, lifecycle.BootstrapLayer, true)
	if err != nil {
		return nil, err
	}
	former, begun := map[string]string{}, false
	for name, fields := range tenants(outputs) {
		before := text(fields, "formerCredentials")
		begun = begun || before != ""
		if key := cmp.Or(before, text(fields, "credentials")); key != "" {
			former[name] = key
		}
	}
	if key := text(outputs, handoff.OutputPlans); key != "" && !begun && len(former) > 0 {
		former[ofPlans] = key
	}
	return former, nil
}

// refused asks for a token with a key, and returns an error unless the key itself is refused.
func refused(ctx context.Context, key string) error {
	config, err := google.JWTConfigFromJSON([]byte(key), iam.CloudPlatformScope)
	if err != nil {
		return errors.New("layer 1 has handed over a former key that is no key file")
	}
	_, err = config.TokenSource(ctx).Token()
	if answer := (*oauth2.RetrieveError)(nil); errors.As(err, &answer) && strings.Contains(string(answer.Body), "invalid_grant") {
		return nil
	}
	if err == nil {
		return errors.New("the token endpoint still accepts the former key: rotate the keys once more")
	}
	return fmt.Errorf("try the former key: %w", err)
}
