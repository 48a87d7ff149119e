package storage

import (
	"context"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/policy"
)

// BucketIAMMember returns the resource that gives a member a role on a bucket.
func BucketIAMMember(p *core.Provider) frame.Resource {
	return policy.Member(sdk.BucketIAMMemberArgs{}, sdk.BucketIAMMember{}, policy.Target{
		Input:  "bucket",
		Rule:   rules.Rule{Replace: true, Same: core.SameName},
		Shown:  func(bucket string) string { return "b/" + core.LastPart(bucket) },
		Policy: provider{p}.policy,
	})
}

func (g provider) policy(ctx context.Context, bucket string) (policy.Policy, error) {
	svc, err := g.Storage(ctx)
	if err != nil {
		return policy.Policy{}, err
	}
	bucket = core.LastPart(bucket)
	return policy.Policy{
		Get: func(ctx context.Context) (*iam.Policy, error) {
			p, err := svc.Buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(policy.Version).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return policy.Convert[*iam.Policy](p)
		},
		Set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			converted, err := policy.Convert[*storage.Policy](wanted)
			if err != nil {
				return nil, err
			}
			p, err := svc.Buckets.SetIamPolicy(bucket, converted).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return policy.Convert[*iam.Policy](p)
		},
	}, nil
}
