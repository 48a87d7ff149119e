package projects

import (
	"context"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/policy"
)

// IAMMember returns the resource that gives a member a role on a project.
func IAMMember(p *core.Provider) frame.Resource {
	return policy.Member(projects.IAMMemberArgs{}, projects.IAMMember{}, policy.Target{
		Input:  "project",
		Rule:   rules.Rule{Replace: true, Same: core.SameName},
		Policy: provider{p}.policy,
	})
}

func (g provider) policy(ctx context.Context, project string) (policy.Policy, error) {
	svc, err := g.ResourceManager(ctx)
	if err != nil {
		return policy.Policy{}, err
	}
	project = core.LastPart(project)
	return policy.Policy{
		Get: func(ctx context.Context) (*iam.Policy, error) {
			p, err := svc.Projects.GetIamPolicy(project, &crm.GetIamPolicyRequest{
				Options: &crm.GetPolicyOptions{RequestedPolicyVersion: policy.Version},
			}).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return policy.Convert[*iam.Policy](p)
		},
		Set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			converted, err := policy.Convert[*crm.Policy](wanted)
			if err != nil {
				return nil, err
			}
			p, err := svc.Projects.SetIamPolicy(project, &crm.SetIamPolicyRequest{
				Policy: converted, UpdateMask: "bindings,etag,auditConfigs",
			}).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return policy.Convert[*iam.Policy](p)
		},
	}, nil
}
