package rotation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"
)

// Keys removes the keys of the teams' Google accounts that an earlier strata created, and proves that the token endpoint refuses them. The
// configuration of layer 1 has none any more, so `strata up` removes them, too.
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

// formerKeys returns the keys that exist, by the name of the team.
func (r Rotation) formerKeys(ctx context.Context) (map[string]string, error) {
	all, err := r.tenants(ctx)
	former := map[string]string{}
	for name, fields := range all {
		if key := text(fields, "credentials"); key != "" {
			former[name] = key
		}
	}
	return former, err
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
