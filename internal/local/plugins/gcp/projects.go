package gcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/serviceusage/v1"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

type roleArgs struct {
	Description string   `json:"description"`
	Permissions []string `json:"permissions"`
	Project     string   `json:"project"`
	RoleID      string   `json:"roleId"`
	Stage       string   `json:"stage"`
	Title       string   `json:"title"`
}

type roleState struct {
	roleArgs
	Deleted bool   `json:"deleted"`
	Name    string `json:"name"`
}

type roleRequest = provider.Request[roleArgs, roleState]

var roleIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/roles/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<name>[^/]+)$`),
}

func (g *plugin) customRole() provider.Resource {
	return provider.Resource{
		Args:     projects.IAMCustomRoleArgs{},
		State:    projects.IAMCustomRole{},
		Required: []string{"permissions"},
		Replace:  []string{"roleId", "project"},
		Identity: []string{"roleId", "project"},
		Computed: []string{"project", "description"},
		Defaults: map[string]property.Value{"stage": property.New("GA")},
		Operations: provider.Handle(provider.CRUD[roleArgs, roleState]{
			Create: g.createRole,
			Read: func(ctx context.Context, r roleRequest) (string, roleState, error) {
				parts, err := parseID(r.ID, roleIDPatterns)
				if err != nil {
					return "", roleState{}, err
				}
				project, err := g.project(parts["project"])
				if err != nil {
					return "", roleState{}, err
				}
				return g.liveRole(ctx, fmt.Sprintf("projects/%s/roles/%s", project, parts["name"]), r.Args.Permissions)
			},
			Update: func(ctx context.Context, r roleRequest) (roleState, error) {
				svc, err := g.clients.iam(ctx)
				if err != nil {
					return roleState{}, fmt.Errorf("make IAM client: %w", err)
				}
				if _, err := svc.Projects.Roles.Patch(r.ID, r.Args.api()).Context(ctx).Do(); err != nil {
					return roleState{}, explained(err)
				}
				_, state, err := g.liveRole(ctx, r.ID, r.Args.Permissions)
				return state, err
			},
			Delete: func(ctx context.Context, r roleRequest) error {
				svc, err := g.clients.iam(ctx)
				if err != nil {
					return fmt.Errorf("make IAM client: %w", err)
				}
				_, err = svc.Projects.Roles.Delete(r.ID).Context(ctx).Do()
				return explained(err)
			},
		}),
	}
}

func (a roleArgs) api() *iam.Role {
	return &iam.Role{
		Title: a.Title, Description: a.Description, Stage: a.Stage, IncludedPermissions: a.Permissions,
		ForceSendFields: []string{"Title", "Description", "IncludedPermissions"},
	}
}

// createRole makes the role, or brings one back that was deleted under the same name: its name stays taken.
func (g *plugin) createRole(ctx context.Context, r roleRequest) (string, roleState, error) {
	project, err := g.project(r.Args.Project)
	if err != nil {
		return "", roleState{}, err
	}
	svc, err := g.clients.iam(ctx)
	if err != nil {
		return "", roleState{}, fmt.Errorf("make IAM client: %w", err)
	}
	name := fmt.Sprintf("projects/%s/roles/%s", project, r.Args.RoleID)
	if old, err := svc.Projects.Roles.Get(name).Context(ctx).Do(); err == nil && old.Deleted {
		if _, err := svc.Projects.Roles.Undelete(name, &iam.UndeleteRoleRequest{}).Context(ctx).Do(); err != nil {
			return "", roleState{}, explained(err)
		}
		if _, err := svc.Projects.Roles.Patch(name, r.Args.api()).Context(ctx).Do(); err != nil {
			return name, roleState{roleArgs: r.Args, Name: name}, explained(err)
		}
		return g.liveRole(ctx, name, r.Args.Permissions)
	}
	_, err = svc.Projects.Roles.Create("projects/"+project, &iam.CreateRoleRequest{RoleId: r.Args.RoleID, Role: r.Args.api()}).Context(ctx).Do()
	if err != nil {
		return "", roleState{}, explained(err)
	}
	return g.liveRole(ctx, name, r.Args.Permissions)
}

func (g *plugin) liveRole(ctx context.Context, name string, known []string) (string, roleState, error) {
	svc, err := g.clients.iam(ctx)
	if err != nil {
		return "", roleState{}, fmt.Errorf("make IAM client: %w", err)
	}
	role, err := svc.Projects.Roles.Get(name).Context(ctx).Do()
	if err != nil {
		return "", roleState{}, explained(err)
	}
	if role.Deleted {
		return "", roleState{}, provider.ErrNotFound
	}
	parts, err := parseID(name, roleIDPatterns)
	if err != nil {
		return "", roleState{}, err
	}
	return name, roleState{
		roleArgs: roleArgs{
			Description: role.Description, Permissions: sortedLike(role.IncludedPermissions, known),
			Project: parts["project"], RoleID: parts["name"], Stage: role.Stage, Title: role.Title,
		},
		Name: role.Name,
	}, nil
}

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
