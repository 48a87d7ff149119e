package cloud

import (
	"encoding/json"
	"net/http"
)

const (
	instances   table = "sqlInstances"  // <project>/<instance>
	instanceOps table = "sqlOperations" // <project>/<operation>
	sqlOwners   table = "sqlOwners"     // <project>/<instance>/database|user/<name in lower case>
)

// sqlTables returns the tables of the service.
func sqlTables() []table { return []table{instances, instanceOps, sqlOwners} }

type sqlService struct {
	*Core
	databases DatabaseRuntime
	servers   sqlServers
}

// registerSQL adds the Cloud SQL Admin API to the emulator. If runtime is nil, clients cannot create instances.
func registerSQL(c *Core, runtime DatabaseRuntime) {
	s := &sqlService{Core: c, databases: runtime}
	svc := &service{
		name:   "sqladmin.googleapis.com",
		title:  "Cloud SQL Admin API",
		prefix: "sqladmin",
		scopes: []string{"https://www.googleapis.com/auth/sqlservice.admin"},
		start:  s.resumeInstances,
		stop:   s.stopInstances,
		denied: func(_ principal, permission string, on resource) *apiError {
			refusal := permissionDenied("boss::NOT_AUTHORIZED: Not authorized to access resource. Possibly missing permission %s on resource %s.",
				permission, on.name)
			refusal.Status = ""
			return refusal
		},
	}
	// The API has two versions with the same calls: v1beta4, which the providers use, and v1.
	for _, version := range []string{"sql/v1beta4", "v1"} {
		svc.routes = append(svc.routes, s.sqlRoutes(version+"/projects/{project}")...)
	}
	c.register(svc)
}

func (s *sqlService) sqlRoutes(project string) []route {
	var (
		all       = project + "/instances"
		one       = all + "/{instance}"
		databases = one + "/databases"
		database  = databases + "/{database}"
		users     = one + "/users"
	)
	return []route{
		{method: "POST", pattern: all, permission: "cloudsql.instances.create", on: onNewInstance, handle: s.insertInstance},
		{method: "GET", pattern: all, permission: "cloudsql.instances.list", handle: s.listInstances},
		{method: "GET", pattern: one, permission: "cloudsql.instances.get", on: onInstance, handle: s.getInstance},
		{method: "PATCH", pattern: one, permission: "cloudsql.instances.update", on: onInstance, handle: s.patchInstance},
		{method: "PUT", pattern: one, permission: "cloudsql.instances.update", on: onInstance, handle: s.updateInstance},
		{method: "DELETE", pattern: one, permission: "cloudsql.instances.delete", on: onInstance, handle: s.deleteInstance},
		{method: "POST", pattern: one + "/restart", permission: "cloudsql.instances.restart", on: onInstance, handle: s.restartInstance},
		{method: "POST", pattern: databases, permission: "cloudsql.databases.create", on: onInstance, handle: s.insertDatabase},
		{method: "GET", pattern: databases, permission: "cloudsql.databases.list", on: onInstance, handle: s.listDatabases},
		{method: "GET", pattern: database, permission: "cloudsql.databases.get", on: onInstance, handle: s.getDatabase},
		{method: "PATCH", pattern: database, permission: "cloudsql.databases.update", on: onInstance, handle: s.updateDatabase},
		{method: "PUT", pattern: database, permission: "cloudsql.databases.update", on: onInstance, handle: s.updateDatabase},
		{method: "DELETE", pattern: database, permission: "cloudsql.databases.delete", on: onInstance, handle: s.deleteDatabase},
		{method: "POST", pattern: users, permission: "cloudsql.users.create", on: onInstance, handle: s.insertUser},
		{method: "GET", pattern: users, permission: "cloudsql.users.list", on: onInstance, handle: s.listUsers},
		{method: "PUT", pattern: users, permission: "cloudsql.users.update", on: onInstance, handle: s.updateUser},
		{method: "DELETE", pattern: users, permission: "cloudsql.users.delete", on: onInstance, handle: s.deleteUser},
		{method: "GET", pattern: users + "/{user}", permission: "cloudsql.users.get", on: onInstance, handle: s.getUser},
		{method: "GET", pattern: project + "/operations", permission: "cloudsql.instances.list", handle: s.listInstanceOperations},
		{method: "GET", pattern: project + "/operations/{operation}", permission: "cloudsql.instances.get", handle: s.getInstanceOperation},
	}
}

// onInstance returns the instance in the path as the resource of a permission check.
func onInstance(c *call) resource { return instanceResource(c, c.vars["instance"]) }

// onNewInstance returns the instance in the request body as the resource of a permission check, so that conditions can
// restrict the names of new instances.
func onNewInstance(c *call) resource {
	var wanted struct {
		Name string `json:"name"`
	}
	if data, err := c.body(); err == nil {
		_ = json.Unmarshal(data, &wanted) // the handler decodes the body again and returns the error
	}
	return instanceResource(c, wanted.Name)
}

func instanceResource(c *call, instance string) resource {
	name := "instances/" + instance
	return resource{project: c.projectID(), name: name, path: "projects/" + c.projectID() + "/" + name, kind: "sqladmin.googleapis.com/Instance"}
}

func noInstance() *apiError {
	return legacyError(http.StatusNotFound, "instanceDoesNotExist", "The Cloud SQL instance does not exist.")
}

func (s *sqlService) instanceLink(project, name string) string {
	return s.baseURL + "/sqladmin/sql/v1beta4/projects/" + project + "/instances/" + name
}
