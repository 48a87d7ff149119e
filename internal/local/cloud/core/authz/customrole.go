package authz

import (
	"regexp"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// CustomRoles holds the roles of projects, which package iam changes.
const CustomRoles store.Table = "customRoles" // <project>/<role>

var permissions = regexp.MustCompile(`^[a-z][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+){2,}$`)

// CustomRolePath returns the store's key of a project's custom role.
func CustomRolePath(project, id string) string { return project + "/" + id }

// findCustomRole returns the custom role with a name of the form projects/<project>/roles/<id>, or nil if there is
// none.
func findCustomRole(tx *bbolt.Tx, name string) (*iam.Role, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != "roles" {
		return nil, nil
	}
	return store.Get[iam.Role](tx, CustomRoles, CustomRolePath(parts[1], parts[3]))
}

// grants reports whether a role, predefined or custom, has a permission.
func grants(tx *bbolt.Tx, role, permission string) (bool, error) {
	if strings.HasPrefix(role, "roles/") {
		known := PredefinedRoles()[role]
		return known != nil && known.granted[permission], nil
	}
	custom, err := findCustomRole(tx, role)
	if err != nil || custom == nil || custom.Deleted || custom.Stage == "DISABLED" {
		return false, err
	}
	return slices.Contains(custom.IncludedPermissions, permission), nil
}

// IsPermission reports whether a permission exists. It accepts any well-formed permission of a service that is not
// emulated.
func IsPermission(name string) bool {
	return knownPermissions()[name] || permissions.MatchString(name) && !emulatedPrefix(name)
}
