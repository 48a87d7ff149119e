package gcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"google.golang.org/api/serviceusage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

type serviceArgs struct {
	CheckIfServiceHasUsageOnDestroy *bool  `json:"checkIfServiceHasUsageOnDestroy,omitempty"`
	DisableDependentServices        *bool  `json:"disableDependentServices,omitempty"`
	DisableOnDestroy                *bool  `json:"disableOnDestroy,omitempty"`
	Project                         string `json:"project"`
	Service                         string `json:"service"`
}

type serviceRequest = provider.Request[serviceArgs, serviceArgs]

func (g *plugin) service() provider.Resource {
	return provider.Resource{
		Args:     projects.ServiceArgs{},
		State:    projects.Service{},
		Replace:  []string{"project", "service"},
		Identity: []string{"project", "service"},
		Computed: []string{"project"},
		Operations: provider.Handle(provider.CRUD[serviceArgs, serviceArgs]{
			Create: func(ctx context.Context, r serviceRequest) (string, serviceArgs, error) {
				project, err := g.project(r.Args.Project)
				if err != nil {
					return "", serviceArgs{}, err
				}
				err = g.usageCall(ctx, r.Timeout, func(svc *serviceusage.Service) (*serviceusage.Operation, error) {
					name := fmt.Sprintf("projects/%s/services/%s", project, r.Args.Service)
					return svc.Services.Enable(name, &serviceusage.EnableServiceRequest{}).Context(ctx).Do()
				})
				if err != nil {
					return "", serviceArgs{}, err
				}
				r.Args.Project = project
				return project + "/" + r.Args.Service, r.Args, nil
			},
			Read: g.readService,
			Delete: func(ctx context.Context, r serviceRequest) error {
				if r.State.DisableOnDestroy != nil && !*r.State.DisableOnDestroy {
					return nil
				}
				return g.usageCall(ctx, r.Timeout, func(svc *serviceusage.Service) (*serviceusage.Operation, error) {
					name := fmt.Sprintf("projects/%s/services/%s", r.State.Project, r.State.Service)
					return svc.Services.Disable(name, &serviceusage.DisableServiceRequest{
						DisableDependentServices: r.State.DisableDependentServices != nil && *r.State.DisableDependentServices,
					}).Context(ctx).Do()
				})
			},
		}),
	}
}

func (g *plugin) readService(ctx context.Context, r serviceRequest) (string, serviceArgs, error) {
	project, name, ok := strings.Cut(r.ID, "/")
	if !ok {
		return "", serviceArgs{}, fmt.Errorf("ID %q must be PROJECT/SERVICE", r.ID)
	}
	svc, err := g.clients.serviceUsage(ctx)
	if err != nil {
		return "", serviceArgs{}, fmt.Errorf("make Service Usage client: %w", err)
	}
	s, err := svc.Services.Get(fmt.Sprintf("projects/%s/services/%s", project, name)).Context(ctx).Do()
	if err != nil {
		return "", serviceArgs{}, explained(err)
	}
	if s.State != "ENABLED" {
		return "", serviceArgs{}, provider.ErrNotFound
	}
	return r.ID, serviceArgs{
		DisableDependentServices: r.State.DisableDependentServices, DisableOnDestroy: r.State.DisableOnDestroy,
		CheckIfServiceHasUsageOnDestroy: r.State.CheckIfServiceHasUsageOnDestroy, Project: project, Service: name,
	}, nil
}

func (g *plugin) usageCall(
	ctx context.Context, limit time.Duration, start func(*serviceusage.Service) (*serviceusage.Operation, error),
) error {
	svc, err := g.clients.serviceUsage(ctx)
	if err != nil {
		return fmt.Errorf("make Service Usage client: %w", err)
	}
	op, err := start(svc)
	if err != nil {
		return explained(err)
	}
	return wait(ctx, limit, "operation "+op.Name, func(ctx context.Context) (bool, error) {
		if !op.Done {
			if op, err = svc.Operations.Get(op.Name).Context(ctx).Do(); err != nil {
				return false, explained(err)
			}
		}
		if op.Done && op.Error != nil {
			return true, errors.New(op.Error.Message)
		}
		return op.Done, nil
	})
}
