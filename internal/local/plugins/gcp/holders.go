package gcp

import (
	"context"
	"fmt"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/storage/v1"
)

func (g *plugin) projectPolicy(ctx context.Context, project string) (policyHolder, error) {
	svc, err := g.clients.resourceManager(ctx)
	if err != nil {
		return policyHolder{}, fmt.Errorf("make Resource Manager client: %w", err)
	}
	project = lastPart(project)
	return policyHolder{
		get: func(ctx context.Context) (*iam.Policy, error) {
			p, err := svc.Projects.GetIamPolicy(project, &crm.GetIamPolicyRequest{
				Options: &crm.GetPolicyOptions{RequestedPolicyVersion: policyVersion},
			}).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return converted[*iam.Policy](p)
		},
		set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			policy, err := converted[*crm.Policy](wanted)
			if err != nil {
				return nil, err
			}
			p, err := svc.Projects.SetIamPolicy(project, &crm.SetIamPolicyRequest{
				Policy: policy, UpdateMask: "bindings,etag,auditConfigs",
			}).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return converted[*iam.Policy](p)
		},
	}, nil
}

func (g *plugin) accountPolicy(ctx context.Context, account string) (policyHolder, error) {
	svc, err := g.clients.iam(ctx)
	if err != nil {
		return policyHolder{}, fmt.Errorf("make IAM client: %w", err)
	}
	return policyHolder{
		get: func(ctx context.Context) (*iam.Policy, error) {
			return svc.Projects.ServiceAccounts.GetIamPolicy(account).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do()
		},
		set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			return svc.Projects.ServiceAccounts.SetIamPolicy(account, &iam.SetIamPolicyRequest{Policy: wanted}).Context(ctx).Do()
		},
	}, nil
}

func (g *plugin) bucketPolicy(ctx context.Context, bucket string) (policyHolder, error) {
	svc, err := g.clients.storage(ctx)
	if err != nil {
		return policyHolder{}, fmt.Errorf("make Storage client: %w", err)
	}
	bucket = lastPart(bucket)
	return policyHolder{
		get: func(ctx context.Context) (*iam.Policy, error) {
			p, err := svc.Buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return converted[*iam.Policy](p)
		},
		set: func(ctx context.Context, wanted *iam.Policy) (*iam.Policy, error) {
			policy, err := converted[*storage.Policy](wanted)
			if err != nil {
				return nil, err
			}
			p, err := svc.Buckets.SetIamPolicy(bucket, policy).Context(ctx).Do()
			if err != nil {
				return nil, err
			}
			return converted[*iam.Policy](p)
		},
	}, nil
}
