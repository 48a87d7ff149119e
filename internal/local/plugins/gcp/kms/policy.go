// Package kms contains the resources of Cloud Key Management Service: the members of keys' IAM policies.
package kms

import (
	"context"
	"regexp"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/kms"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/policy"
)

// provider is the configured provider, with the operations of this package as methods.
type provider struct{ *core.Provider }

// keyName matches the full names of keys. The official provider also accepts shorter forms.
var keyName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)

// CryptoKeyIAMMember returns the resource that gives a member a role on a key.
func CryptoKeyIAMMember(p *core.Provider) frame.Resource {
	return policy.Member(sdk.CryptoKeyIAMMemberArgs{}, sdk.CryptoKeyIAMMember{}, policy.Target{
		Input:  "cryptoKeyId",
		Rule:   rules.Rule{Replace: true, Check: core.Matching(keyName, "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY")},
		Policy: provider{p}.policy,
	})
}

func (g provider) policy(ctx context.Context, key string) (policy.Policy, error) {
	svc, err := g.KMS(ctx)
	if err != nil {
		return policy.Policy{}, err
	}
	keys := svc.Projects.Locations.KeyRings.CryptoKeys
	return policy.Policy{
		Get: func(ctx context.Context) (*iam.Policy, error) {
			p, err := keys.GetIamPolicy(key).OptionsRequestedPolicyVersion(policy.Version).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return policy.Convert[*iam.Policy](p)
		},
		Set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			converted, err := policy.Convert[*cloudkms.Policy](wanted)
			if err != nil {
				return nil, err
			}
			p, err := keys.SetIamPolicy(key, &cloudkms.SetIamPolicyRequest{Policy: converted}).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return policy.Convert[*iam.Policy](p)
		},
	}, nil
}
