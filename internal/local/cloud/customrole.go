package cloud

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"
)

// A deleted role can be undeleted for a time. Its name stays taken for longer.
// https://cloud.google.com/iam/docs/creating-custom-roles states both times.
const (
	roleUndeletable = 7 * 24 * time.Hour
	roleNameKept    = 37 * 24 * time.Hour
)

var roleIDs = regexp.MustCompile(`^[a-zA-Z0-9_.]{3,64}$`)

// checkRoleFields refuses invalid values of a custom role, sorts its permissions and removes duplicates.
func checkRoleFields(role *iam.Role) error {
	if len(role.Title) > 100 {
		return invalidArgument("The role title is longer than 100 bytes.")
	}
	if len(role.Description) > 300 {
		return invalidArgument("The role description is longer than 300 bytes.")
	}
	if !oneOf("ALPHA|BETA|GA|DEPRECATED|DISABLED|EAP", role.Stage) {
		return invalidArgument("Invalid value at 'role.stage' (type.googleapis.com/google.iam.admin.v1.Role.RoleLaunchStage), %q", role.Stage)
	}
	for _, permission := range role.IncludedPermissions {
		// Listing projects, and the permissions on folders and organizations, need a custom role of an organization.
		if !isPermission(permission) || permission == "resourcemanager.projects.list" ||
			strings.HasPrefix(permission, "resourcemanager.folders.") || strings.HasPrefix(permission, "resourcemanager.organizations.") {
			return invalidArgument("Permission %s is not valid.", permission)
		}
	}
	slices.Sort(role.IncludedPermissions)
	role.IncludedPermissions = slices.Compact(role.IncludedPermissions)
	return nil
}

func (s *iamService) createRole(c *call) (any, error) {
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
	setDefault(&role.Stage, "ALPHA")
	if err := checkRoleFields(role); err != nil {
		return nil, err
	}
	role.Name, role.Deleted, role.Etag = "projects/"+c.project.ID+"/roles/"+request.RoleId, false, roleEtag()
	err := s.store.update(func(tx *bbolt.Tx) error {
		key := customRole(c.project.ID, request.RoleId)
		existing, err := s.storedRole(tx, key)
		switch {
		case err != nil:
			return err
		case existing != nil && existing.Deleted:
			return failedPrecondition("You can't create a role with role_id (%s) where there is an existing role with that role_id in a deleted state.", request.RoleId)
		case existing != nil:
			return alreadyExists("A role named %s in projects/%s already exists.", request.RoleId, c.project.ID)
		}
		if err := remove(tx, roleDeletions, key); err != nil {
			return err
		}
		return put(tx, customRoles, key, role)
	})
	return role, err
}

func roleEtag() string { return "BwY" + randomText(6) + "=" }

// storedRole returns a custom role, or nil if there is none or its deletion has become final.
func (s *iamService) storedRole(tx *bbolt.Tx, key string) (*iam.Role, error) {
	role, err := get[iam.Role](tx, customRoles, key)
	if err != nil || role == nil || !role.Deleted {
		return role, err
	}
	deleted, err := s.sinceDeletion(tx, key)
	if err != nil || deleted > roleNameKept {
		return nil, err
	}
	return role, nil
}

func (s *iamService) sinceDeletion(tx *bbolt.Tx, key string) (time.Duration, error) {
	deleted, err := get[time.Time](tx, roleDeletions, key)
	if err != nil || deleted == nil {
		return 0, err
	}
	return s.now().Sub(*deleted), nil
}

// withRole runs fn in a transaction with the custom role that the path names, and with the role's key.
func (s *iamService) withRole(c *call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, string, *iam.Role) error) error {
	return run(func(tx *bbolt.Tx) error {
		key := customRole(c.projectID(), c.vars["role"])
		role, err := s.storedRole(tx, key)
		if err != nil {
			return err
		}
		if role == nil {
			return notFound("The role named projects/%s/roles/%s was not found.", c.projectID(), c.vars["role"])
		}
		return fn(tx, key, role)
	})
}

func (s *iamService) getRole(c *call) (any, error) {
	var answer *iam.Role
	err := s.withRole(c, s.store.view, func(_ *bbolt.Tx, _ string, role *iam.Role) error {
		answer = role
		return nil
	})
	return answer, err
}

func (s *iamService) listRoles(c *call) (any, error) {
	query := c.request.URL.Query()
	var all []*iam.Role
	err := s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, customRoles, c.project.ID+"/", func(key string, role *iam.Role) error {
			known, err := s.storedRole(tx, key)
			if err != nil || known == nil || role.Deleted && query.Get("showDeleted") != "true" {
				return err
			}
			if query.Get("view") != "FULL" {
				role.IncludedPermissions = nil
			}
			all = append(all, role)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	answer := &iam.ListRolesResponse{}
	answer.Roles, answer.NextPageToken, err = page(c, all, func(r *iam.Role) string { return r.Name }, 300, 1000)
	return answer, err
}

func (s *iamService) patchRole(c *call) (any, error) {
	var wanted iam.Role
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	mask := c.request.URL.Query().Get("updateMask")
	if mask == "" {
		mask = "title,description,includedPermissions"
		if wanted.Stage != "" {
			mask += ",stage"
		}
	}
	return s.changeRole(c, wanted.Etag, func(_ *bbolt.Tx, _ string, role *iam.Role) error {
		if role.Deleted {
			return failedPrecondition("You can't update role_id (%s) because it is marked for deletion.", c.vars["role"])
		}
		for field := range strings.SplitSeq(mask, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(field), "role.") {
			case "title":
				role.Title = wanted.Title
			case "description":
				role.Description = wanted.Description
			case "includedPermissions", "included_permissions":
				role.IncludedPermissions = wanted.IncludedPermissions
			case "stage":
				role.Stage = wanted.Stage
			case "etag":
			default:
				return invalidArgument("Invalid value at 'update_mask': a role has no field %q that could be changed.", field)
			}
		}
		return checkRoleFields(role)
	})
}

// changeRole changes a custom role. A non-empty etag must match the role's.
func (s *iamService) changeRole(c *call, etag string, change func(*bbolt.Tx, string, *iam.Role) error) (any, error) {
	var answer *iam.Role
	err := s.withRole(c, s.store.update, func(tx *bbolt.Tx, key string, role *iam.Role) error {
		if etag != "" && etag != role.Etag {
			return newError(http.StatusConflict, "ABORTED", "aborted",
				"There were concurrent changes to the role. Please retry the whole read-modify-write with exponential backoff.")
		}
		if err := change(tx, key, role); err != nil {
			return err
		}
		role.Etag = roleEtag()
		answer = role
		return put(tx, customRoles, key, role)
	})
	return answer, err
}

// deleteRole marks a custom role as deleted. The role grants nothing until an undeletion.
func (s *iamService) deleteRole(c *call) (any, error) {
	return s.changeRole(c, c.request.URL.Query().Get("etag"), func(tx *bbolt.Tx, key string, role *iam.Role) error {
		if role.Deleted {
			return failedPrecondition("You can't delete role_id (%s) because it is already marked for deletion.", c.vars["role"])
		}
		role.Deleted = true
		return put(tx, roleDeletions, key, s.now().UTC())
	})
}

func (s *iamService) undeleteRole(c *call) (any, error) {
	var request iam.UndeleteRoleRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	return s.changeRole(c, request.Etag, func(tx *bbolt.Tx, key string, role *iam.Role) error {
		if !role.Deleted {
			return failedPrecondition("You can't undelete role_id (%s) because it is not marked for deletion.", c.vars["role"])
		}
		deleted, err := s.sinceDeletion(tx, key)
		if err != nil {
			return err
		}
		if deleted > roleUndeletable {
			return failedPrecondition("You can't undelete role_id (%s) because it was deleted more than 7 days ago.", c.vars["role"])
		}
		role.Deleted = false
		return remove(tx, roleDeletions, key)
	})
}
