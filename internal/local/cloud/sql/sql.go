// Package sql emulates the Cloud SQL Admin API: instances, their databases and users, and the owners of both. An
// instance is a real MySQL-protocol server, which an engine.Runtime runs.
package sql

import (
	"encoding/json"
	"net/http"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

const (
	instances   store.Table = "sqlInstances"  // <project>/<instance>
	instanceOps store.Table = "sqlOperations" // <project>/<operation>
	owners      store.Table = "sqlOwners"     // <project>/<instance>/database|user/<name in lower case>
)

// Tables returns the tables of the service.
func Tables() []store.Table { return []store.Table{instances, instanceOps, owners, authorities} }

// service handles the calls, and holds the running servers.
type service struct {
	*core.Core
	databases engine.Runtime
	servers   servers
}

// Register adds the Cloud SQL Admin API to the emulator. If runtime is nil, clients cannot create instances.
func Register(c *core.Core, runtime engine.Runtime) {
	s := &service{Core: c, databases: runtime}
	svc := &api.Service{
		Name:   "sqladmin.googleapis.com",
		Title:  "Cloud SQL Admin API",
		Prefix: "sqladmin",
		Scopes: []string{"https://www.googleapis.com/auth/sqlservice.admin"},
		Start:  s.resumeInstances,
		Stop:   s.stopInstances,
		Denied: denied,
	}
	// The API has two versions with the same calls: v1beta4, which the providers use, and v1.
	for _, version := range []string{"sql/v1beta4", "v1"} {
		svc.Routes = append(svc.Routes, s.sqlRoutes(version+"/projects/{project}")...)
	}
	c.Register(svc)
}

func (s *service) sqlRoutes(project string) []api.Route {
	var (
		all       = project + "/instances"
		one       = all + "/{instance}"
		databases = one + "/databases"
		database  = databases + "/{database}"
		users     = one + "/users"
	)
	return []api.Route{
		{Method: "POST", Pattern: all, Permission: "cloudsql.instances.create", On: onNewInstance, Handle: s.insertInstance},
		{Method: "GET", Pattern: all, Permission: "cloudsql.instances.list", Handle: s.listInstances},
		{Method: "GET", Pattern: one, Permission: "cloudsql.instances.get", On: onInstance, Handle: s.getInstance},
		{Method: "PATCH", Pattern: one, Permission: "cloudsql.instances.update", On: onInstance, Handle: s.patchInstance},
		{Method: "PUT", Pattern: one, Permission: "cloudsql.instances.update", On: onInstance, Handle: s.updateInstance},
		{Method: "DELETE", Pattern: one, Permission: "cloudsql.instances.delete", On: onInstance, Handle: s.deleteInstance},
		{Method: "POST", Pattern: one + "/restart", Permission: "cloudsql.instances.restart", On: onInstance, Handle: s.restartInstance},
		{Method: "GET", Pattern: one + "/connectSettings", Permission: "cloudsql.instances.get", On: onInstance, Handle: s.connectSettings},
		{Method: "POST", Pattern: one + ":generateEphemeralCert", Permission: "cloudsql.instances.connect", On: onInstance, Handle: s.generateEphemeralCert},
		{Method: "POST", Pattern: databases, Permission: "cloudsql.databases.create", On: onInstance, Handle: s.insertDatabase},
		{Method: "GET", Pattern: databases, Permission: "cloudsql.databases.list", On: onInstance, Handle: s.listDatabases},
		{Method: "GET", Pattern: database, Permission: "cloudsql.databases.get", On: onInstance, Handle: s.getDatabase},
		{Method: "PATCH", Pattern: database, Permission: "cloudsql.databases.update", On: onInstance, Handle: s.updateDatabase},
		{Method: "PUT", Pattern: database, Permission: "cloudsql.databases.update", On: onInstance, Handle: s.updateDatabase},
		{Method: "DELETE", Pattern: database, Permission: "cloudsql.databases.delete", On: onInstance, Handle: s.deleteDatabase},
		{Method: "POST", Pattern: users, Permission: "cloudsql.users.create", On: onInstance, Handle: s.insertUser},
		{Method: "GET", Pattern: users, Permission: "cloudsql.users.list", On: onInstance, Handle: s.listUsers},
		{Method: "PUT", Pattern: users, Permission: "cloudsql.users.update", On: onInstance, Handle: s.updateUser},
		{Method: "DELETE", Pattern: users, Permission: "cloudsql.users.delete", On: onInstance, Handle: s.deleteUser},
		{Method: "GET", Pattern: users + "/{user}", Permission: "cloudsql.users.get", On: onInstance, Handle: s.getUser},
		{Method: "GET", Pattern: project + "/operations", Permission: "cloudsql.instances.list", Handle: s.listInstanceOperations},
		{Method: "GET", Pattern: project + "/operations/{operation}", Permission: "cloudsql.instances.get", Handle: s.getInstanceOperation},
	}
}

// onInstance returns the instance in the path as the resource of a permission check.
func onInstance(c *api.Call) api.Resource { return instanceResource(c, c.Vars["instance"]) }

// onNewInstance returns the instance in the request body as the resource of a permission check, so that conditions can
// restrict the names of new instances.
func onNewInstance(c *api.Call) api.Resource {
	var wanted struct {
		Name string `json:"name"`
	}
	if data, err := c.Body(); err == nil {
		_ = json.Unmarshal(data, &wanted) // the handler decodes the body again and returns the error
	}
	return instanceResource(c, wanted.Name)
}

func instanceResource(c *api.Call, instance string) api.Resource {
	name := "instances/" + instance
	return api.Resource{Project: c.ProjectID(), Name: name, Path: "projects/" + c.ProjectID() + "/" + name, Kind: "sqladmin.googleapis.com/Instance"}
}

func noInstance() *api.Error {
	return api.LegacyError(http.StatusNotFound, "instanceDoesNotExist", "The Cloud SQL instance does not exist.")
}

func (s *service) instanceLink(project, name string) string {
	return s.BaseURL + "/sqladmin/sql/v1beta4/projects/" + project + "/instances/" + name
}
