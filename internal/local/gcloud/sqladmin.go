package gcloud

import (
	"encoding/json"
	"net/http"
	"strconv"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"
)

func (s *Server) sqlService() *service {
	svc := &service{
		name:   "sqladmin.googleapis.com",
		title:  "Cloud SQL Admin API",
		prefix: "sqladmin",
		scopes: []string{"https://www.googleapis.com/auth/sqlservice.admin"},
		denied: func(_ principal, permission string, on resource) *apiError {
			refusal := permissionDenied("boss::NOT_AUTHORIZED: Not authorized to access resource. Possibly missing permission %s on resource %s.",
				permission, on.name)
			refusal.Status = ""
			return refusal
		},
	}
	// The same API answers under two names: v1beta4, which the providers use, and v1.
	for _, version := range []string{"sql/v1beta4", "v1"} {
		svc.routes = append(svc.routes, s.sqlRoutes(version+"/projects/{project}")...)
	}
	return svc
}

func (s *Server) sqlRoutes(project string) []route {
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
		{method: "PATCH", pattern: one, permission: "cloudsql.instances.update", on: onInstance, handle: s.changeInstance(merge)},
		{method: "PUT", pattern: one, permission: "cloudsql.instances.update", on: onInstance, handle: s.changeInstance(replace)},
		{method: "DELETE", pattern: one, permission: "cloudsql.instances.delete", on: onInstance, handle: s.deleteInstance},
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

// onInstance is the resource of the routes whose permission is needed on an instance.
func onInstance(c *call) resource { return instanceResource(c, c.vars["instance"]) }

// onNewInstance is the instance that a request makes, so that a condition may say what its name must be.
func onNewInstance(c *call) resource {
	var wanted struct {
		Name string `json:"name"`
	}
	if data, err := c.body(); err == nil {
		_ = json.Unmarshal(data, &wanted) // what cannot be read is refused when it is decoded
	}
	return instanceResource(c, wanted.Name)
}

func instanceResource(c *call, instance string) resource {
	name := "instances/" + instance
	return resource{project: c.projectID(), name: name, path: "projects/" + c.projectID() + "/" + name, kind: "sqladmin.googleapis.com/Instance"}
}

// sqlError is a refusal in the form of the Cloud SQL Admin API, whose errors mostly have no status.
func sqlError(code int, reason, format string, args ...any) *apiError {
	return newError(code, "", reason, format, args...)
}

func noInstance() *apiError {
	return sqlError(http.StatusNotFound, "instanceDoesNotExist", "The Cloud SQL instance does not exist.")
}

func invalidSQL(format string, args ...any) *apiError {
	return sqlError(http.StatusBadRequest, "invalid", format, args...)
}

func (s *Server) instanceLink(project, name string) string {
	return s.baseURL + "/sqladmin/sql/v1beta4/projects/" + project + "/instances/" + name
}

// newInstanceOperation stores an operation that waits for its work.
func (s *Server) newInstanceOperation(tx *bbolt.Tx, c *call, on *sqladmin.DatabaseInstance, kind, target string) (*sqladmin.Operation, error) {
	name := strconv.FormatInt(s.now().UnixNano(), 36) + "-" + randomDigits(8)
	op := &sqladmin.Operation{
		Kind:          "sql#operation",
		Name:          name,
		OperationType: kind,
		Status:        "PENDING",
		InsertTime:    timestamp(s.now()),
		SelfLink:      s.baseURL + "/sqladmin/sql/v1beta4/projects/" + on.Project + "/operations/" + name,
		TargetId:      on.Name,
		TargetLink:    target,
		TargetProject: on.Project,
		User:          c.who.email,
	}
	return op, putOperation(tx, instanceOps, on.Project+"/"+name, op, func(old *sqladmin.Operation) bool { return old.Status == "DONE" })
}

// doneInstanceOperation stores an operation whose work is done.
func (s *Server) doneInstanceOperation(c *call, on *sqladmin.DatabaseInstance, kind, target string) (any, error) {
	var op *sqladmin.Operation
	err := s.store.update(func(tx *bbolt.Tx) error {
		var err error
		if op, err = s.newInstanceOperation(tx, c, on, kind, target); err != nil {
			return err
		}
		return s.endInstanceOperation(tx, op, nil)
	})
	return op, err
}

func (s *Server) endInstanceOperation(tx *bbolt.Tx, op *sqladmin.Operation, fault error) error {
	setDefault(&op.StartTime, op.InsertTime)
	op.Status, op.EndTime = "DONE", timestamp(s.now())
	if fault != nil {
		op.Error = &sqladmin.OperationErrors{
			Kind:   "sql#operationErrors",
			Errors: []*sqladmin.OperationError{{Kind: "sql#operationError", Code: "INTERNAL_ERROR", Message: fault.Error()}},
		}
	}
	return put(tx, instanceOps, op.TargetProject+"/"+op.Name, op)
}

func (s *Server) getInstanceOperation(c *call) (any, error) {
	var answer *sqladmin.Operation
	err := s.store.view(func(tx *bbolt.Tx) error {
		var err error
		answer, err = get[sqladmin.Operation](tx, instanceOps, c.project.ID+"/"+c.vars["operation"])
		if err == nil && answer == nil {
			return sqlError(http.StatusNotFound, "operationDoesNotExist", "The Cloud SQL instance operation does not exist.")
		}
		return err
	})
	return answer, err
}

func (s *Server) listInstanceOperations(c *call) (any, error) {
	instance := c.request.URL.Query().Get("instance")
	answer := &sqladmin.OperationsListResponse{Kind: "sql#operationsList"}
	err := s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, instanceOps, c.project.ID+"/", func(_ string, op *sqladmin.Operation) error {
			if instance == "" || op.TargetId == instance {
				answer.Items = append(answer.Items, op)
			}
			return nil
		})
	})
	return answer, err
}
