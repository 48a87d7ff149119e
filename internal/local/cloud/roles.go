package cloud

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// predefinedRole is a role that Google defines.
type predefinedRole struct {
	name        string
	stage       string
	title       string
	permissions []string // sorted
	granted     map[string]bool
}

// rolesTable holds Google's roles. Its first lines describe its format and its source.
//
//go:embed roles.txt
var rolesTable string

// predefinedRoles maps names to Google's roles for the emulated services.
var predefinedRoles = sync.OnceValue(func() map[string]*predefinedRole {
	roles := map[string]*predefinedRole{}
	var role *predefinedRole
	for line := range strings.Lines(rolesTable) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			name, rest, _ := strings.Cut(line, " ")
			stage, title, _ := strings.Cut(rest, " ")
			role = &predefinedRole{name: name, stage: stage, title: title, granted: map[string]bool{}}
			roles[name] = role
		default:
			kind, verbs, _ := strings.Cut(line[2:], ": ")
			for verb := range strings.FieldsSeq(verbs) {
				role.permissions = append(role.permissions, kind+"."+verb)
				role.granted[kind+"."+verb] = true
			}
		}
	}
	for _, role := range roles {
		slices.Sort(role.permissions)
	}
	return roles
})

// knownPermissions are the permissions of the emulated services: every permission in some predefined role.
var knownPermissions = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, role := range predefinedRoles() {
		for _, permission := range role.permissions {
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
	case "cloudsql", "container", "iam", "resourcemanager", "serviceusage", "storage":
		return true
	}
	return false
}

// isPredefinedRole reports whether Google has a role. It accepts any well-formed role of a service that is not
// emulated: policies can bind such a role, but it grants nothing here.
func isPredefinedRole(name string) bool {
	if predefinedRoles()[name] != nil {
		return true
	}
	id, ok := strings.CutPrefix(name, "roles/")
	return ok && roleNames.MatchString(name) && strings.Contains(id, ".") && !emulatedPrefix(id)
}
