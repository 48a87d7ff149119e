package authz

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// predefinedRole is a role that Google defines.
type predefinedRole struct {
	Name        string
	Stage       string
	Title       string
	Permissions []string // sorted
	granted     map[string]bool
}

// rolesTable holds Google's roles. Its first lines describe its format and its source.
//
//go:embed roles.txt
var rolesTable string

// PredefinedRoles maps names to Google's roles for the emulated services.
var PredefinedRoles = sync.OnceValue(func() map[string]*predefinedRole {
	roles := map[string]*predefinedRole{}
	var role *predefinedRole
	for line := range strings.Lines(rolesTable) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			name, rest, _ := strings.Cut(line, " ")
			stage, title, _ := strings.Cut(rest, " ")
			role = &predefinedRole{Name: name, Stage: stage, Title: title, granted: map[string]bool{}}
			roles[name] = role
		default:
			kind, verbs, _ := strings.Cut(line[2:], ": ")
			for verb := range strings.FieldsSeq(verbs) {
				role.Permissions = append(role.Permissions, kind+"."+verb)
				role.granted[kind+"."+verb] = true
			}
		}
	}
	for _, role := range roles {
		slices.Sort(role.Permissions)
	}
	return roles
})

// knownPermissions are the permissions of the emulated services: every permission in some predefined role.
var knownPermissions = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, role := range PredefinedRoles() {
		for _, permission := range role.Permissions {
			known[permission] = true
		}
	}
	return known
})

// emulatedPrefix reports whether a permission, or a role's name after "roles/", belongs to an emulated service. The
// table of roles is complete for these services.
func emulatedPrefix(name string) bool {
	prefix, _, _ := strings.Cut(name, ".")
	switch prefix {
	case "cloudkms", "cloudsql", "container", "iam", "resourcemanager", "serviceusage", "storage":
		return true
	}
	return false
}

// isPredefinedRole reports whether a predefined role exists. It accepts any well-formed role of a service that is not
// emulated: policies can bind such a role, but the role has no effect in the emulator.
func isPredefinedRole(name string) bool {
	if PredefinedRoles()[name] != nil {
		return true
	}
	id, ok := strings.CutPrefix(name, "roles/")
	return ok && roleNames.MatchString(name) && strings.Contains(id, ".") && !emulatedPrefix(id)
}
