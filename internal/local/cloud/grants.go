package cloud

import (
	"regexp"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"
)

const customRoles table = "customRoles" // <project>/<role>

var permissions = regexp.MustCompile(`^[a-z][a-zA-Z0-9-]*(\.[a-zA-Z0-9-]+){2,}$`)

// customRole returns the store's key of a project's custom role.
func customRole(project, id string) string { return project + "/" + id }

// findCustomRole returns the custom role with a name of the form projects/<project>/roles/<id>, or nil if there is
// none.
func findCustomRole(tx *bbolt.Tx, name string) (*iam.Role, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != "roles" {
		return nil, nil
	}
	return get[iam.Role](tx, customRoles, customRole(parts[1], parts[3]))
}

// grants reports whether a role, predefined or custom, has a permission.
func grants(tx *bbolt.Tx, role, permission string) (bool, error) {
	if strings.HasPrefix(role, "roles/") {
		known := predefinedRoles()[role]
		return known != nil && known.granted[permission], nil
	}
	custom, err := findCustomRole(tx, role)
	if err != nil || custom == nil || custom.Deleted || custom.Stage == "DISABLED" {
		return false, err
	}
	return slices.Contains(custom.IncludedPermissions, permission), nil
}

// isPermission reports whether a permission exists. It accepts any well-formed permission of a service that is not
// emulated.
func isPermission(name string) bool {
	return knownPermissions()[name] || permissions.MatchString(name) && !emulatedPrefix(name)
}
