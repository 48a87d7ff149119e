package projects

import (
	"context"
	"fmt"
	"net/http"
	"regexp"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
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

type roleRequest = frame.Request[roleArgs, roleState]

// roleIDs matches valid IDs of custom roles.
var roleIDs = regexp.MustCompile(`^[a-zA-Z0-9_.]{3,64}$`)

var roleIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/roles/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<name>[^/]+)$`),
}

// IAMCustomRole returns the resource type of custom roles.
func IAMCustomRole(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  projects.IAMCustomRoleArgs{},
		State: projects.IAMCustomRole{},
		Rules: rules.ByPath{
			"permissions": {Required: true, Set: true},
			"project":     core.FromProvider(),
			"roleId":      {Replace: true, Check: core.Matching(roleIDs, "3 to 64 letters, digits, underscores and dots")},
			"stage": {
				Default: "GA", OneOf: []string{"ALPHA", "BETA", "GA", "DEPRECATED", "DISABLED", "EAP"}, Same: core.SameAs("ALPHA"),
			},
		},
		Identity: []string{"roleId", "project"},
		Operations: frame.Handle(frame.CRUD[roleArgs, roleState]{
			Check: func(args roleArgs) []frame.Failure {
				if args.Permissions == nil || len(args.Permissions) > 0 {
					return nil
				}
				return []frame.Failure{{Path: "permissions", Reason: "permissions must name at least one permission"}}
			},
			Create: g.createRole,
			Read: func(ctx context.Context, r roleRequest) (string, roleState, error) {
				parts, err := core.ParseID(r.ID, roleIDPatterns)
				if err != nil {
					return "", roleState{}, err
				}
				project, err := g.Project(parts["project"])
				if err != nil {
					return "", roleState{}, err
				}
				return g.liveRole(ctx, fmt.Sprintf("projects/%s/roles/%s", project, parts["name"]))
			},
			Update: g.updateRole,
			Delete: g.deleteRole,
		}),
	}
}

// api returns the role in the API's form.
func (a roleArgs) api() *iam.Role {
	return &iam.Role{
		Title: a.Title, Description: a.Description, Stage: a.Stage, IncludedPermissions: a.Permissions,
		ForceSendFields: []string{"Title", "Description", "IncludedPermissions"},
	}
}

// createRole creates the role. If a deleted role has the same ID, createRole undeletes and changes it, because Google
// Cloud keeps the ID for a while. An existing role is an error: as with the official provider, you import it.
func (g provider) createRole(ctx context.Context, r roleRequest) (string, roleState, error) {
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", roleState{}, err
	}
	svc, err := g.IAM(ctx)
	if err != nil {
		return "", roleState{}, err
	}
	name := fmt.Sprintf("projects/%s/roles/%s", project, r.Args.RoleID)
	old, err := svc.Projects.Roles.Get(name).Context(ctx).Do()
	state := roleState{roleArgs: r.Args, Name: name}
	switch {
	case err == nil && !old.Deleted:
		return "", roleState{}, fmt.Errorf("custom role %s already exists: import it, or choose another roleId", name)
	case err == nil:
		if err := undelete(ctx, svc, name); err != nil {
			return "", roleState{}, err
		}
		if _, err := svc.Projects.Roles.Patch(name, r.Args.api()).Context(ctx).Do(); err != nil {
			return name, state, core.Explain(err)
		}
	case core.Status(err) != http.StatusNotFound:
		return "", roleState{}, fmt.Errorf("look for a deleted custom role %s: %w", name, core.Explain(err))
	default:
		_, err := svc.Projects.Roles.Create("projects/"+project, &iam.CreateRoleRequest{RoleId: r.Args.RoleID, Role: r.Args.api()}).Context(ctx).Do()
		if err != nil {
			return "", roleState{}, core.Explain(err)
		}
	}
	_, live, err := g.liveRole(ctx, name)
	if err != nil {
		return name, state, err
	}
	return name, live, nil
}

// updateRole changes a role. It first undeletes a role that somebody has deleted, so that the update restores the role.
func (g provider) updateRole(ctx context.Context, r roleRequest) (roleState, error) {
	svc, err := g.IAM(ctx)
	if err != nil {
		return roleState{}, err
	}
	old, err := svc.Projects.Roles.Get(r.ID).Context(ctx).Do()
	if err != nil {
		return roleState{}, core.Explain(err)
	}
	if old.Deleted {
		if err := undelete(ctx, svc, r.ID); err != nil {
			return roleState{}, err
		}
	}
	if _, err := svc.Projects.Roles.Patch(r.ID, r.Args.api()).Context(ctx).Do(); err != nil {
		return roleState{}, core.Explain(err)
	}
	_, state, err := g.liveRole(ctx, r.ID)
	return state, err
}

// undelete restores a deleted role.
func undelete(ctx context.Context, svc *iam.Service, name string) error {
	if _, err := svc.Projects.Roles.Undelete(name, &iam.UndeleteRoleRequest{}).Context(ctx).Do(); err != nil {
		return fmt.Errorf("undelete custom role %s: %w", name, core.Explain(err))
	}
	return nil
}

// deleteRole treats a deleted role as missing, so that an interrupted deletion can run again.
func (g provider) deleteRole(ctx context.Context, r roleRequest) error {
	svc, err := g.IAM(ctx)
	if err != nil {
		return err
	}
	if old, err := svc.Projects.Roles.Get(r.ID).Context(ctx).Do(); err == nil && old.Deleted {
		return frame.ErrNotFound
	}
	_, err = svc.Projects.Roles.Delete(r.ID).Context(ctx).Do()
	return core.Explain(err)
}

// liveRole returns the ID and the current state of a role. A deleted role is frame.ErrNotFound.
func (g provider) liveRole(ctx context.Context, name string) (string, roleState, error) {
	svc, err := g.IAM(ctx)
	if err != nil {
		return "", roleState{}, err
	}
	role, err := svc.Projects.Roles.Get(name).Context(ctx).Do()
	if err != nil {
		return "", roleState{}, core.Explain(err)
	}
	if role.Deleted {
		return "", roleState{}, frame.ErrNotFound
	}
	parts, err := core.ParseID(name, roleIDPatterns)
	if err != nil {
		return "", roleState{}, err
	}
	return name, roleState{
		roleArgs: roleArgs{
			Description: role.Description, Permissions: role.IncludedPermissions,
			Project: parts["project"], RoleID: parts["name"], Stage: role.Stage, Title: role.Title,
		},
		Name: role.Name,
	}, nil
}
