package gcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"google.golang.org/api/serviceusage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

type serviceArgs struct {
	CheckIfServiceHasUsageOnDestroy *bool  `json:"checkIfServiceHasUsageOnDestroy,omitempty"`
	DisableDependentServices        *bool  `json:"disableDependentServices,omitempty"`
	DisableOnDestroy                *bool  `json:"disableOnDestroy,omitempty"`
	Project                         string `json:"project"`
	Service                         string `json:"service"`
}

type serviceRequest = frame.Request[serviceArgs, serviceArgs]

func (g *plugin) service() frame.Resource {
	return frame.Resource{
		Args:  projects.ServiceArgs{},
		State: projects.Service{},
		Rules: frame.Rules{
			"checkIfServiceHasUsageOnDestroy": {Default: false},
			"disableOnDestroy":                {Default: true},
			"project":                         fromProvider(),
			"service":                         {Replace: true, Check: checkServiceName},
		},
		Identity: []string{"project", "service"},
		Operations: frame.Handle(frame.CRUD[serviceArgs, serviceArgs]{
			Create: g.enableService,
			Read:   g.readService,
			Delete: g.disableService,
		}),
	}
}

// checkServiceName refuses names that are not names of APIs, and APIs that cannot be enabled by themselves.
func checkServiceName(name string) string {
	switch name {
	case "bigquery-json.googleapis.com", "dataproc-control.googleapis.com", "source.googleapis.com", "stackdriverprovisioning.googleapis.com":
		return fmt.Sprintf("must not be %s: it cannot be enabled by itself", name)
	}
	if !strings.Contains(name, ".") {
		return fmt.Sprintf("must be the name of an API, such as sqladmin.googleapis.com, not %q", name)
	}
	return ""
}

// enableService enables an API. It adopts an API that is enabled already.
func (g *plugin) enableService(ctx context.Context, r serviceRequest) (string, serviceArgs, error) {
	project, err := g.project(lastPart(r.Args.Project))
	if err != nil {
		return "", serviceArgs{}, err
	}
	id := project + "/" + r.Args.Service
	r.Args.Project = project
	enabled, err := g.enabled(ctx, project, r.Args.Service)
	if err != nil || enabled {
		return idUnless(err, id), r.Args, err
	}
	err = g.usageCall(ctx, r.Timeout, func(svc *serviceusage.Service) (*serviceusage.Operation, error) {
		return svc.Services.Enable("projects/"+project+"/services/"+r.Args.Service, &serviceusage.EnableServiceRequest{}).Context(ctx).Do()
	})
	return idUnless(err, id), r.Args, err
}

func idUnless(err error, id string) string {
	if err != nil {
		return ""
	}
	return id
}

// readService reads the project first, as the official provider does: a missing project has no services.
func (g *plugin) readService(ctx context.Context, r serviceRequest) (string, serviceArgs, error) {
	project, name, ok := strings.Cut(r.ID, "/")
	if !ok || strings.Contains(name, "/") {
		return "", serviceArgs{}, fmt.Errorf("ID %q must be PROJECT/SERVICE", r.ID)
	}
	manager, err := g.clients.resourceManager(ctx)
	if err != nil {
		return "", serviceArgs{}, fmt.Errorf("make Resource Manager client: %w", err)
	}
	p, err := manager.Projects.Get(project).Context(ctx).Do()
	if err != nil {
		return "", serviceArgs{}, explained(err)
	}
	if p.LifecycleState == "DELETE_REQUESTED" {
		return "", serviceArgs{}, frame.ErrNotFound
	}
	enabled, err := g.enabled(ctx, project, name)
	if err != nil {
		return "", serviceArgs{}, err
	}
	if !enabled {
		return "", serviceArgs{}, frame.ErrNotFound
	}
	known := r.Args
	known.Project, known.Service = project, name
	return r.ID, known, nil
}

// enabled reports whether a project has an API enabled.
func (g *plugin) enabled(ctx context.Context, project, name string) (bool, error) {
	svc, err := g.clients.serviceUsage(ctx)
	if err != nil {
		return false, fmt.Errorf("make Service Usage client: %w", err)
	}
	found := false
	err = svc.Services.List("projects/"+project).Filter("state:ENABLED").Fields("services/name,nextPageToken").
		Pages(ctx, func(page *serviceusage.ListServicesResponse) error {
			for _, s := range page.Services {
				found = found || lastPart(s.Name) == name
			}
			return nil
		})
	return found, explained(err)
}

func (g *plugin) disableService(ctx context.Context, r serviceRequest) error {
	if r.State.DisableOnDestroy != nil && !*r.State.DisableOnDestroy {
		return nil
	}
	usage := "SKIP"
	if r.State.CheckIfServiceHasUsageOnDestroy != nil && *r.State.CheckIfServiceHasUsageOnDestroy {
		usage = "CHECK"
	}
	return g.usageCall(ctx, r.Timeout, func(svc *serviceusage.Service) (*serviceusage.Operation, error) {
		name := "projects/" + r.State.Project + "/services/" + r.State.Service
		return svc.Services.Disable(name, &serviceusage.DisableServiceRequest{
			CheckIfServiceHasUsage:   usage,
			DisableDependentServices: r.State.DisableDependentServices != nil && *r.State.DisableDependentServices,
		}).Context(ctx).Do()
	})
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
