package serviceaccount

import (
	"context"
	"regexp"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/policy"
)

// IAMMember returns the resource that gives a member a role on a service account.
func IAMMember(p *core.Provider) frame.Resource {
	return policy.Member(serviceaccount.IAMMemberArgs{}, serviceaccount.IAMMember{}, target(provider{p}))
}

// IAMBinding returns the resource that sets all members of a role on a service account.
func IAMBinding(p *core.Provider) frame.Resource {
	return policy.Binding(serviceaccount.IAMBindingArgs{}, serviceaccount.IAMBinding{}, target(provider{p}))
}

// accountName matches the full names of service accounts, the only form that the official provider accepts here.
var accountName = regexp.MustCompile(`^projects/[^/]+/serviceAccounts/[^/@]+@[^/]+$`)

// target describes service accounts, whose policies decide who may act as them.
func target(g provider) policy.Target {
	return policy.Target{
		Input:  "serviceAccountId",
		Rule:   rules.Rule{Replace: true, Check: core.Matching(accountName, "projects/PROJECT/serviceAccounts/EMAIL")},
		Policy: g.policy,
	}
}

func (g provider) policy(ctx context.Context, account string) (policy.Policy, error) {
	svc, err := g.IAM(ctx)
	if err != nil {
		return policy.Policy{}, err
	}
	return policy.Policy{
		Get: func(ctx context.Context) (*iam.Policy, error) {
			return svc.Projects.ServiceAccounts.GetIamPolicy(account).OptionsRequestedPolicyVersion(policy.Version).Context(ctx).Do()
		},
		Set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			return svc.Projects.ServiceAccounts.SetIamPolicy(account, &iam.SetIamPolicyRequest{Policy: wanted}).Context(ctx).Do()
		},
	}, nil
}
