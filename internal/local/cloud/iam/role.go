package iam

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// A deleted role can be undeleted for a time. Its ID is not available for a new role for a longer time. Both times are
// in https://cloud.google.com/iam/docs/creating-custom-roles.
const (
	roleUndeletable = 7 * 24 * time.Hour
	roleNameKept    = 37 * 24 * time.Hour
)

var roleIDs = regexp.MustCompile(`^[a-zA-Z0-9_.]{3,64}$`)

// checkRoleFields returns an error for invalid values of a custom role. It sorts the permissions and removes
// duplicates.
func checkRoleFields(role *iam.Role) error {
	if len(role.Title) > 100 {
		return api.InvalidArgument("The role title is longer than 100 bytes.")
	}
	if len(role.Description) > 300 {
		return api.InvalidArgument("The role description is longer than 300 bytes.")
	}
	if !api.OneOf("ALPHA|BETA|GA|DEPRECATED|DISABLED|EAP", role.Stage) {
		return api.InvalidArgument("Invalid value at 'role.stage' (type.googleapis.com/google.iam.admin.v1.Role.RoleLaunchStage), %q", role.Stage)
	}
	for _, permission := range role.IncludedPermissions {
		// Only custom roles of organizations may contain the permission to list projects, and permissions on folders
		// and organizations.
		if !authz.IsPermission(permission) || permission == "resourcemanager.projects.list" ||
			strings.HasPrefix(permission, "resourcemanager.folders.") || strings.HasPrefix(permission, "resourcemanager.organizations.") {
			return api.InvalidArgument("Permission %s is not valid.", permission)
		}
	}
	slices.Sort(role.IncludedPermissions)
	role.IncludedPermissions = slices.Compact(role.IncludedPermissions)
	return nil
}

// createRole creates a custom role. The ID of a deleted role stays reserved for the time roleNameKept.
func (s *service) createRole(c *api.Call) (any, error) {
	var request iam.CreateRoleRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	if !roleIDs.MatchString(request.RoleId) {
		return nil, api.InvalidArgument("The role_id %q is not valid: it must match %s.", request.RoleId, roleIDs)
	}
	role := request.Role
	if role == nil {
		role = &iam.Role{}
	}
	api.SetDefault(&role.Stage, "ALPHA")
	if err := checkRoleFields(role); err != nil {
		return nil, err
	}
	role.Name, role.Deleted, role.Etag = "projects/"+c.Project.ID+"/roles/"+request.RoleId, false, roleEtag()
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		key := authz.CustomRolePath(c.Project.ID, request.RoleId)
		existing, err := s.storedRole(tx, key)
		switch {
		case err != nil:
			return err
		case existing != nil && existing.Deleted:
			return api.FailedPrecondition("You can't create a role with role_id (%s) where there is an existing role with that role_id in a deleted state.", request.RoleId)
		case existing != nil:
			return api.AlreadyExists("A role named %s in projects/%s already exists.", request.RoleId, c.Project.ID)
		}
		if err := store.Remove(tx, roleDeletions, key); err != nil {
			return err
		}
		return store.Put(tx, authz.CustomRoles, key, role)
	})
	return role, err
}

func roleEtag() string { return "BwY" + api.RandomText(6) + "=" }

// storedRole returns a custom role, or nil if the role does not exist or its deletion is final.
func (s *service) storedRole(tx *bbolt.Tx, key string) (*iam.Role, error) {
	role, err := store.Get[iam.Role](tx, authz.CustomRoles, key)
	if err != nil || role == nil || !role.Deleted {
		return role, err
	}
	deleted, err := s.sinceDeletion(tx, key)
	if err != nil || deleted > roleNameKept {
		return nil, err
	}
	return role, nil
}

func (s *service) sinceDeletion(tx *bbolt.Tx, key string) (time.Duration, error) {
	deleted, err := store.Get[time.Time](tx, roleDeletions, key)
	if err != nil || deleted == nil {
		return 0, err
	}
	return s.Now().Sub(*deleted), nil
}

// withRole runs fn in a transaction with the custom role that the path names, and with the role's key.
func (s *service) withRole(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, string, *iam.Role) error) error {
	return run(func(tx *bbolt.Tx) error {
		key := authz.CustomRolePath(c.ProjectID(), c.Vars["role"])
		role, err := s.storedRole(tx, key)
		if err != nil {
			return err
		}
		if role == nil {
			return api.NotFound("The role named projects/%s/roles/%s was not found.", c.ProjectID(), c.Vars["role"])
		}
		return fn(tx, key, role)
	})
}

func (s *service) getRole(c *api.Call) (any, error) {
	var answer *iam.Role
	err := s.withRole(c, s.Store.View, func(_ *bbolt.Tx, _ string, role *iam.Role) error {
		answer = role
		return nil
	})
	return answer, err
}

func (s *service) listRoles(c *api.Call) (any, error) {
	query := c.Request.URL.Query()
	var all []*iam.Role
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, authz.CustomRoles, c.Project.ID+"/", func(key string, role *iam.Role) error {
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
	answer.Roles, answer.NextPageToken, err = api.Page(c, all, func(r *iam.Role) string { return r.Name }, 300, 1000)
	return answer, err
}

// patchRole changes the fields in the mask. Without a mask, it changes the title, the description and the permissions, and the
// stage only if the request has one.
func (s *service) patchRole(c *api.Call) (any, error) {
	var wanted iam.Role
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	mask := c.Request.URL.Query().Get("updateMask")
	if mask == "" {
		mask = "title,description,includedPermissions"
		if wanted.Stage != "" {
			mask += ",stage"
		}
	}
	return s.changeRole(c, wanted.Etag, func(_ *bbolt.Tx, _ string, role *iam.Role) error {
		if role.Deleted {
			return api.FailedPrecondition("You can't update role_id (%s) because it is marked for deletion.", c.Vars["role"])
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
				return api.InvalidArgument("Invalid value at 'update_mask': a role has no field %q that could be changed.", field)
			}
		}
		return checkRoleFields(role)
	})
}

// changeRole changes a custom role. An etag must match that of the role unless it is empty.
func (s *service) changeRole(c *api.Call, etag string, change func(*bbolt.Tx, string, *iam.Role) error) (any, error) {
	var answer *iam.Role
	err := s.withRole(c, s.Store.Update, func(tx *bbolt.Tx, key string, role *iam.Role) error {
		if etag != "" && etag != role.Etag {
			return api.NewError(http.StatusConflict, "ABORTED", "aborted",
				"There were concurrent changes to the role. Please retry the whole read-modify-write with exponential backoff.")
		}
		if err := change(tx, key, role); err != nil {
			return err
		}
		role.Etag = roleEtag()
		answer = role
		return store.Put(tx, authz.CustomRoles, key, role)
	})
	return answer, err
}

// deleteRole marks a custom role as deleted. Until it is undeleted, the role grants no permission.
func (s *service) deleteRole(c *api.Call) (any, error) {
	return s.changeRole(c, c.Request.URL.Query().Get("etag"), func(tx *bbolt.Tx, key string, role *iam.Role) error {
		if role.Deleted {
			return api.FailedPrecondition("You can't delete role_id (%s) because it is already marked for deletion.", c.Vars["role"])
		}
		role.Deleted = true
		return store.Put(tx, roleDeletions, key, s.Now().UTC())
	})
}

// undeleteRole restores a deleted role. Bindings of the role then grant its permissions again.
func (s *service) undeleteRole(c *api.Call) (any, error) {
	var request iam.UndeleteRoleRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	return s.changeRole(c, request.Etag, func(tx *bbolt.Tx, key string, role *iam.Role) error {
		if !role.Deleted {
			return api.FailedPrecondition("You can't undelete role_id (%s) because it is not marked for deletion.", c.Vars["role"])
		}
		deleted, err := s.sinceDeletion(tx, key)
		if err != nil {
			return err
		}
		if deleted > roleUndeletable {
			return api.FailedPrecondition("You can't undelete role_id (%s) because it was deleted more than 7 days ago.", c.Vars["role"])
		}
		role.Deleted = false
		return store.Remove(tx, roleDeletions, key)
	})
}
