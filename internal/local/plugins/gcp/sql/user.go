package sql

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
	"github.com/strata-platform/strata/operator/engine/owners/taken"
)

const (
	builtIn = "BUILT_IN"
	// rootUser at anyHost is the user that Cloud SQL creates in every MySQL instance.
	rootUser = "root"
	anyHost  = "%"
)

type userArgs struct {
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	Host           string `json:"host"`
	Instance       string `json:"instance"`
	Name           string `json:"name"`
	Password       string `json:"password,omitempty"`
	Project        string `json:"project"`
	Type           string `json:"type,omitempty"`

	PasswordPolicy *sqladmin.UserPasswordValidationPolicy `json:"passwordPolicy,omitempty"`
}

type userRequest = frame.Request[userArgs, userArgs]

var userIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<instance>[^/]+)/(?P<host>[^/]*)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<instance>[^/]+)/(?P<name>[^/]+)$`),
}

// User returns the resource type of users.
func User(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  sql.UserArgs{},
		State: sql.User{},
		Rules: rules.ByPath{
			"deletionPolicy": {OneOf: []string{policyAbandon, ""}},
			"host":           {Replace: true, Computed: true},
			"instance":       {Replace: true},
			"name":           {Replace: true},
			"password":       {Secret: true},
			"project":        core.FromProvider(),
			"type":           {Replace: true, Same: core.SameAs(builtIn)},
		},
		Identity: []string{"host", "instance", "name", "project"},
		AutoName: "name",
		Operations: frame.Handle(frame.CRUD[userArgs, userArgs]{
			Create: g.createUser,
			Read: func(ctx context.Context, r userRequest) (string, userArgs, error) {
				wanted := r.State
				if r.Importing {
					parts, err := core.ParseID(r.ID, userIDPatterns)
					if err != nil {
						return "", userArgs{}, err
					}
					wanted = userArgs{Host: parts["host"], Instance: parts["instance"], Name: parts["name"], Project: parts["project"]}
				}
				project, err := g.Project(wanted.Project)
				if err != nil {
					return "", userArgs{}, err
				}
				wanted.Project = project
				state, err := g.liveUser(ctx, wanted)
				return userID(state), state, err
			},
			Update: func(ctx context.Context, r userRequest) (userArgs, error) {
				if r.Args.Password != r.Old.Password || core.Differ(r.Args.PasswordPolicy, r.Old.PasswordPolicy) {
					err := g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
						u := &sqladmin.User{
							Name: r.State.Name, Instance: r.State.Instance, Password: r.Args.Password, PasswordPolicy: r.Args.PasswordPolicy,
						}
						return svc.Users.Update(r.State.Project, r.State.Instance, u).Host(r.State.Host).Name(r.State.Name).Context(ctx).Do()
					})
					if err != nil {
						return userArgs{}, err
					}
				}
				return g.liveUser(ctx, r.State)
			},
			Delete: func(ctx context.Context, r userRequest) error {
				if r.State.DeletionPolicy == policyAbandon {
					return nil
				}
				return g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
					return svc.Users.Delete(r.State.Project, r.State.Instance).Host(r.State.Host).Name(r.State.Name).Context(ctx).Do()
				})
			},
		}),
	}
}

// userID returns the ID that the official provider gives to a user. It is not an import ID.
func userID(u userArgs) string { return fmt.Sprintf("%s/%s/%s", u.Name, u.Host, u.Instance) }

// createUser creates a user. It rejects a host for a database without hosts, which the API would ignore.
func (g provider) createUser(ctx context.Context, r userRequest) (string, userArgs, error) {
	if err := taken.Check(taken.User, r.Args.Name, r.Args.Instance); err != nil {
		return "", userArgs{}, err
	}
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", userArgs{}, err
	}
	if r.Args.Host != "" {
		instance, err := g.liveInstance(ctx, project, r.Args.Instance)
		if err != nil {
			return "", userArgs{}, fmt.Errorf("instance %s: %w", r.Args.Instance, err)
		}
		if !strings.Contains(instance.DatabaseVersion, "MYSQL") {
			return "", userArgs{}, fmt.Errorf("host of user %s: only users of MySQL have a host, and instance %s is %s", r.Args.Name, r.Args.Instance, instance.DatabaseVersion)
		}
	}
	err = g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Users.Insert(project, r.Args.Instance, &sqladmin.User{
			Name: r.Args.Name, Instance: r.Args.Instance, Host: r.Args.Host, Password: r.Args.Password, Type: r.Args.Type,
			PasswordPolicy: r.Args.PasswordPolicy,
		}).Context(ctx).Do()
	})
	if err != nil {
		return "", userArgs{}, err
	}
	state := r.Args
	state.Project = project
	live, err := g.liveUser(ctx, state)
	if err != nil {
		return userID(state), state, err
	}
	return userID(live), live, nil
}

// liveUser returns the current state of a user. It looks for the name and the host in the list of all users, as the
// official provider does. An empty host matches any host. The API never returns passwords.
func (g provider) liveUser(ctx context.Context, wanted userArgs) (userArgs, error) {
	svc, err := g.SQL(ctx)
	if err != nil {
		return userArgs{}, err
	}
	users, err := svc.Users.List(wanted.Project, wanted.Instance).Context(ctx).Do()
	if err != nil {
		return userArgs{}, core.Explain(err)
	}
	name := wanted.Name
	if strings.HasPrefix(wanted.Type, "CLOUD_IAM_") {
		name, _, _ = strings.Cut(name, "@")
	}
	for _, u := range users.Items {
		if u.Name != name && u.Name != wanted.Name || wanted.Host != "" && u.Host != wanted.Host {
			continue
		}
		return userArgs{
			Host: u.Host, Instance: wanted.Instance, Name: wanted.Name, Project: wanted.Project, Type: u.Type,
			PasswordPolicy: u.PasswordPolicy, DeletionPolicy: wanted.DeletionPolicy,
		}, nil
	}
	return userArgs{}, frame.ErrNotFound
}
