// Package projects contains the resources of projects: enabled APIs, custom roles and members of their IAM policies.
package projects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"google.golang.org/api/serviceusage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// provider is the configured provider, with the operations of this package as methods.
type provider struct{ *core.Provider }

// serviceArgs holds the inputs, which are also the outputs.
type serviceArgs struct {
	CheckIfServiceHasUsageOnDestroy *bool  `json:"checkIfServiceHasUsageOnDestroy,omitempty"`
	DisableDependentServices        *bool  `json:"disableDependentServices,omitempty"`
	DisableOnDestroy                *bool  `json:"disableOnDestroy,omitempty"`
	Project                         string `json:"project"`
	Service                         string `json:"service"`
}

type serviceRequest = frame.Request[serviceArgs, serviceArgs]

// Service returns the resource type of enabled APIs.
func Service(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  projects.ServiceArgs{},
		State: projects.Service{},
		Rules: rules.ByPath{
			"checkIfServiceHasUsageOnDestroy": {Default: false},
			"disableOnDestroy":                {Default: true},
			"project":                         core.FromProvider(),
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

// checkServiceName returns why a name is not that of an API that a program can enable, or "".
func checkServiceName(name string) string {
	switch name {
	case "bigquery-json.googleapis.com", "dataproc-control.googleapis.com", "source.googleapis.com", "stackdriverprovisioning.googleapis.com":
		return fmt.Sprintf("must not be %s: Google Cloud enables this API only together with another one", name)
	}
	if !strings.Contains(name, ".") {
		return fmt.Sprintf("must be the name of an API, such as sqladmin.googleapis.com, not %q", name)
	}
	return ""
}

// enableService enables an API. It adopts an API that is already enabled.
func (g provider) enableService(ctx context.Context, r serviceRequest) (string, serviceArgs, error) {
	project, err := g.Project(core.LastPart(r.Args.Project))
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

// idUnless returns the ID, or "" if there is an error.
func idUnless(err error, id string) string {
	if err != nil {
		return ""
	}
	return id
}

// readService reads the project first, as the official provider does, because a project under deletion has no enabled
// APIs.
func (g provider) readService(ctx context.Context, r serviceRequest) (string, serviceArgs, error) {
	project, name, ok := strings.Cut(r.ID, "/")
	if !ok || strings.Contains(name, "/") {
		return "", serviceArgs{}, fmt.Errorf("ID %q must be PROJECT/SERVICE", r.ID)
	}
	manager, err := g.ResourceManager(ctx)
	if err != nil {
		return "", serviceArgs{}, err
	}
	p, err := manager.Projects.Get(project).Context(ctx).Do()
	if err != nil {
		return "", serviceArgs{}, core.Explain(err)
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

// enabled reports whether an API is enabled in a project.
func (g provider) enabled(ctx context.Context, project, name string) (bool, error) {
	svc, err := g.ServiceUsage(ctx)
	if err != nil {
		return false, err
	}
	found := false
	err = svc.Services.List("projects/"+project).Filter("state:ENABLED").Fields("services/name,nextPageToken").
		Pages(ctx, func(page *serviceusage.ListServicesResponse) error {
			for _, s := range page.Services {
				found = found || core.LastPart(s.Name) == name
			}
			return nil
		})
	return found, core.Explain(err)
}

// disableService disables the API, unless disableOnDestroy is false.
func (g provider) disableService(ctx context.Context, r serviceRequest) error {
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

// usageCall starts an operation and waits until the operation is done.
func (g provider) usageCall(
	ctx context.Context, limit time.Duration, start func(*serviceusage.Service) (*serviceusage.Operation, error),
) error {
	svc, err := g.ServiceUsage(ctx)
	if err != nil {
		return err
	}
	op, err := start(svc)
	if err != nil {
		return core.Explain(err)
	}
	return core.Wait(ctx, limit, "operation "+op.Name, func(ctx context.Context) (bool, error) {
		if !op.Done {
			if op, err = svc.Operations.Get(op.Name).Context(ctx).Do(); err != nil {
				return false, core.Explain(err)
			}
		}
		if op.Done && op.Error != nil {
			return true, errors.New(op.Error.Message)
		}
		return op.Done, nil
	})
}
