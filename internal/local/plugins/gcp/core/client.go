package core

import (
	"context"
	"fmt"

	"google.golang.org/api/cloudkms/v1"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"
)

// newClient creates a client of one of Google's APIs with the provider's credentials.
func newClient[T any](
	ctx context.Context, p *Provider, api, endpoint string, create func(context.Context, ...option.ClientOption) (*T, error),
) (*T, error) {
	client, err := create(ctx, option.WithHTTPClient(p.http), option.WithEndpoint(endpoint))
	if err != nil {
		return nil, fmt.Errorf("create a client of the %s API: %w", api, err)
	}
	return client, nil
}

// IAM returns a client of Identity and Access Management.
func (p *Provider) IAM(ctx context.Context) (*iam.Service, error) {
	return newClient(ctx, p, "IAM", root(p.settings.IAMEndpoint), iam.NewService)
}

// KMS returns a client of Cloud Key Management Service.
func (p *Provider) KMS(ctx context.Context) (*cloudkms.Service, error) {
	return newClient(ctx, p, "Cloud KMS", root(p.settings.KMSEndpoint), cloudkms.NewService)
}

// ResourceManager returns a client of Resource Manager.
func (p *Provider) ResourceManager(ctx context.Context) (*crm.Service, error) {
	return newClient(ctx, p, "Resource Manager", root(p.settings.ResourceManagerEndpoint), crm.NewService)
}

// Container returns a client of Kubernetes Engine.
func (p *Provider) Container(ctx context.Context) (*container.Service, error) {
	return newClient(ctx, p, "Kubernetes Engine", root(p.settings.ContainerEndpoint), container.NewService)
}

// Compute returns a client of Compute Engine. Unlike most clients, this client does not add the version to the
// endpoint.
func (p *Provider) Compute(ctx context.Context) (*compute.Service, error) {
	return newClient(ctx, p, "Compute Engine", root(p.settings.ComputeEndpoint)+"v1/", compute.NewService)
}

// SQL returns a client of Cloud SQL Admin.
func (p *Provider) SQL(ctx context.Context) (*sqladmin.Service, error) {
	return newClient(ctx, p, "Cloud SQL Admin", root(p.settings.SQLEndpoint), sqladmin.NewService)
}

// ServiceUsage returns a client of Service Usage.
func (p *Provider) ServiceUsage(ctx context.Context) (*serviceusage.Service, error) {
	return newClient(ctx, p, "Service Usage", root(p.settings.ServiceUsageEndpoint), serviceusage.NewService)
}

// Storage returns a client of Cloud Storage. Unlike most clients, this client does not add the version to the endpoint.
func (p *Provider) Storage(ctx context.Context) (*storage.Service, error) {
	return newClient(ctx, p, "Cloud Storage", root(p.settings.StorageEndpoint)+"storage/v1/", storage.NewService)
}
