package sql

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// The values of deletionPolicy. With ABANDON, the provider forgets the object and does not delete it.
const (
	policyDelete  = "DELETE"
	policyAbandon = "ABANDON"
)

type databaseArgs struct {
	Charset        string `json:"charset,omitempty"`
	Collation      string `json:"collation,omitempty"`
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	Instance       string `json:"instance"`
	Name           string `json:"name"`
	Project        string `json:"project"`
}

type databaseState struct {
	databaseArgs
	SelfLink string `json:"selfLink"`
}

type databaseRequest = frame.Request[databaseArgs, databaseState]

var databaseIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/instances/(?P<instance>[^/]+)/databases/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^instances/(?P<instance>[^/]+)/databases/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<instance>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<instance>[^/]+)/(?P<name>[^/]+)$`),
}

// Database returns the resource type of databases.
func Database(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  sql.DatabaseArgs{},
		State: sql.Database{},
		Rules: rules.ByPath{
			"charset":        {Computed: true, Same: strings.EqualFold},
			"collation":      {Computed: true},
			"deletionPolicy": {Default: policyDelete, OneOf: []string{policyDelete, policyAbandon}},
			"instance":       {Replace: true},
			"name":           {Replace: true},
			"project":        core.FromProvider(),
		},
		Identity: []string{"instance", "name", "project"},
		AutoName: "name",
		Operations: frame.Handle(frame.CRUD[databaseArgs, databaseState]{
			Create: g.createDatabase,
			Read: func(ctx context.Context, r databaseRequest) (string, databaseState, error) {
				parts, err := core.ParseID(r.ID, databaseIDPatterns)
				if err != nil {
					return "", databaseState{}, err
				}
				project, err := g.Project(cmp.Or(parts["project"], r.State.Project))
				if err != nil {
					return "", databaseState{}, err
				}
				state, err := g.liveDatabase(ctx, project, parts["instance"], parts["name"])
				if r.Importing {
					state.DeletionPolicy = policyDelete // The service does not store the property.
				}
				return databaseID(state), state, err
			},
			Update: g.updateDatabase,
			Delete: func(ctx context.Context, r databaseRequest) error {
				if r.State.DeletionPolicy == policyAbandon {
					return nil
				}
				return g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
					return svc.Databases.Delete(r.State.Project, r.State.Instance, r.State.Name).Context(ctx).Do()
				})
			},
		}),
	}
}

// databaseID returns the ID that the official provider gives to a database.
func databaseID(s databaseState) string {
	return fmt.Sprintf("projects/%s/instances/%s/databases/%s", s.Project, s.Instance, s.Name)
}

func (g provider) createDatabase(ctx context.Context, r databaseRequest) (string, databaseState, error) {
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", databaseState{}, err
	}
	err = g.sqlCall(ctx, project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
		return svc.Databases.Insert(project, r.Args.Instance, &sqladmin.Database{
			Name: r.Args.Name, Instance: r.Args.Instance, Project: project, Charset: r.Args.Charset, Collation: r.Args.Collation,
		}).Context(ctx).Do()
	})
	if err != nil {
		return "", databaseState{}, err
	}
	state := databaseState{databaseArgs: r.Args}
	state.Project = project
	id := databaseID(state)
	live, err := g.liveDatabase(ctx, project, r.Args.Instance, r.Args.Name)
	if err != nil {
		// The database exists. With the ID, the engine records it in spite of the error, and does not create it again.
		return id, state, err
	}
	return id, live, nil
}

// liveDatabase returns the current state of a database.
func (g provider) liveDatabase(ctx context.Context, project, instance, name string) (databaseState, error) {
	svc, err := g.SQL(ctx)
	if err != nil {
		return databaseState{}, err
	}
	db, err := svc.Databases.Get(project, instance, name).Context(ctx).Do()
	if err != nil {
		return databaseState{}, core.Explain(err)
	}
	return databaseState{
		databaseArgs: databaseArgs{Charset: db.Charset, Collation: db.Collation, Instance: instance, Name: name, Project: project},
		SelfLink:     db.SelfLink,
	}, nil
}

func (g provider) updateDatabase(ctx context.Context, r databaseRequest) (databaseState, error) {
	if r.Args.Charset != r.Old.Charset || r.Args.Collation != r.Old.Collation {
		err := g.sqlCall(ctx, r.State.Project, r.Timeout, func(svc *sqladmin.Service) (*sqladmin.Operation, error) {
			return svc.Databases.Update(r.State.Project, r.State.Instance, r.State.Name, &sqladmin.Database{
				Name: r.State.Name, Instance: r.State.Instance, Project: r.State.Project,
				Charset: r.Args.Charset, Collation: r.Args.Collation,
			}).Context(ctx).Do()
		})
		if err != nil {
			return databaseState{}, err
		}
	}
	return g.liveDatabase(ctx, r.State.Project, r.State.Instance, r.State.Name)
}
