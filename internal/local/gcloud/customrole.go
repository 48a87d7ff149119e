package gcloud

import (
	"regexp"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"
)

var (
	roleIDs     = regexp.MustCompile(`^[a-zA-Z0-9_.]{3,64}$`)
	permissions = regexp.MustCompile(`^[a-z][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+){2,}$`)
)

// customRole is the key of a project's own role.
func customRole(project, id string) string { return project + "/" + id }

// findCustomRole returns the role with a name of the form projects/<project>/roles/<id>, nil where there is none.
func findCustomRole(tx *bbolt.Tx, name string) (*iam.Role, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != "roles" {
		return nil, nil
	}
	return get[iam.Role](tx, customRoles, customRole(parts[1], parts[3]))
}

// grants tells whether a role, predefined or a project's own, has a permission.
func grants(tx *bbolt.Tx, role, permission string) (bool, error) {
	if strings.HasPrefix(role, "roles/") {
		return rolePermissions()[role][permission], nil
	}
	custom, err := findCustomRole(tx, role)
	if err != nil || custom == nil || custom.Deleted {
		return false, err
	}
	return oneOf(strings.Join(custom.IncludedPermissions, "|"), permission), nil
}

func checkPermissions(included []string) error {
	for _, permission := range included {
		if !permissions.MatchString(permission) {
			return invalidArgument("Permission %s is not valid.", permission)
		}
	}
	return nil
}

func (s *Server) createRole(c *call) (any, error) {
	var request iam.CreateRoleRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if !roleIDs.MatchString(request.RoleId) {
		return nil, invalidArgument("The role_id %q is not valid: it must match %s.", request.RoleId, roleIDs)
	}
	role := request.Role
	if role == nil {
		role = &iam.Role{}
	}
	if err := checkPermissions(role.IncludedPermissions); err != nil {
		return nil, err
	}
	role.Name, role.Deleted, role.Etag = "projects/"+c.project.ID+"/roles/"+request.RoleId, false, randomText(9)
	setDefault(&role.Stage, "ALPHA")
	err := s.store.update(func(tx *bbolt.Tx) error {
		existing, err := findCustomRole(tx, role.Name)
		switch {
		case err != nil:
			return err
		case existing != nil && existing.Deleted:
			return failedPrecondition("You can't create a role with role_id (%s) where there is an existing role with that role_id in a deleted state.", request.RoleId)
		case existing != nil:
			return alreadyExists("A role named %s in projects/%s already exists.", request.RoleId, c.project.ID)
		}
		return put(tx, customRoles, customRole(c.project.ID, request.RoleId), role)
	})
	return role, err
}

// withRole runs fn in a transaction with the project's own role that the path names.
func (s *Server) withRole(c *call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *iam.Role) error) error {
	return run(func(tx *bbolt.Tx) error {
		role, err := get[iam.Role](tx, customRoles, customRole(c.projectID(), c.vars["role"]))
		if err != nil {
			return err
		}
		if role == nil {
			return notFound("The role named projects/%s/roles/%s was not found.", c.projectID(), c.vars["role"])
		}
		return fn(tx, role)
	})
}

func (s *Server) getRole(c *call) (any, error) {
	var answer *iam.Role
	err := s.withRole(c, s.store.view, func(_ *bbolt.Tx, role *iam.Role) error {
		answer = role
		return nil
	})
	return answer, err
}

func (s *Server) listRoles(c *call) (any, error) {
	query := c.request.URL.Query()
	answer := &iam.ListRolesResponse{}
	err := s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, customRoles, c.project.ID+"/", func(_ string, role *iam.Role) error {
			if role.Deleted && query.Get("showDeleted") != "true" {
				return nil
			}
			if query.Get("view") != "FULL" {
				role.IncludedPermissions = nil
			}
			answer.Roles = append(answer.Roles, role)
			return nil
		})
	})
	return answer, err
}

func (s *Server) patchRole(c *call) (any, error) {
	var wanted iam.Role
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	if err := checkPermissions(wanted.IncludedPermissions); err != nil {
		return nil, err
	}
	mask := c.request.URL.Query().Get("updateMask")
	if mask == "" {
		mask = "title,description,includedPermissions,stage"
	}
	return s.changeRole(c, func(role *iam.Role) error {
		if role.Deleted {
			return failedPrecondition("You can't update role_id (%s) because it is marked for deletion.", c.vars["role"])
		}
		if wanted.Etag != "" && wanted.Etag != role.Etag {
			return newError(409, "ABORTED", "aborted", "There were concurrent changes to the role. Please retry the whole read-modify-write with exponential backoff.")
		}
		for field := range strings.SplitSeq(mask, ",") {
			switch field {
			case "title":
				role.Title = wanted.Title
			case "description":
				role.Description = wanted.Description
			case "includedPermissions", "included_permissions":
				role.IncludedPermissions = wanted.IncludedPermissions
			case "stage":
				role.Stage = wanted.Stage
			default:
				return invalidArgument("The update mask %q is not supported: use title, description, includedPermissions and stage.", mask)
			}
		}
		return nil
	})
}

func (s *Server) changeRole(c *call, change func(*iam.Role) error) (any, error) {
	var answer *iam.Role
	err := s.withRole(c, s.store.update, func(tx *bbolt.Tx, role *iam.Role) error {
		if err := change(role); err != nil {
			return err
		}
		role.Etag = randomText(9)
		answer = role
		return put(tx, customRoles, customRole(c.projectID(), c.vars["role"]), role)
	})
	return answer, err
}

// deleteRole marks a role as deleted; it grants nothing until it is undeleted.
func (s *Server) deleteRole(c *call) (any, error) {
	return s.changeRole(c, func(role *iam.Role) error {
		if role.Deleted {
			return failedPrecondition("You can't delete role_id (%s) because it is already marked for deletion.", c.vars["role"])
		}
		role.Deleted = true
		return nil
	})
}

func (s *Server) undeleteRole(c *call) (any, error) {
	return s.changeRole(c, func(role *iam.Role) error {
		if !role.Deleted {
			return failedPrecondition("You can't undelete role_id (%s) because it is not marked for deletion.", c.vars["role"])
		}
		role.Deleted = false
		return nil
	})
}
