package stackdefaults

import "fmt"

// workspaceDefaults returns expressions for the operations of a JSON Patch that fill in what a Stack leaves out of the template
// of its pod. They do nothing if the TenantPolicy has no Workspace.
func workspaceDefaults() []string {
	const (
		given  = `has(params.spec.workspace) && `
		path   = `/spec/workspaceTemplate`
		fields = path + `/spec`
	)
	absent := func(of, field string) string { return given + of + `.?` + field + `.orValue(null) == null` }
	quantity := func(list, name, parameter string) string {
		return when(absent(`variables.`+list, name), fields+`/resources/`+list+`/`+name, `params.spec.workspace.`+parameter)
	}
	return []string{
		when(absent(`variables.spec`, `workspaceTemplate`), path, `{}`),
		when(absent(`variables.template`, `spec`), fields, `{}`),
		when(`has(params.spec.workspace) && has(params.spec.workspace.image) && variables.workspace.?image.orValue('') == ''`,
			fields+`/image`, `params.spec.workspace.image`),
		when(absent(`variables.workspace`, `securityProfile`), fields+`/securityProfile`, `'restricted'`),
		when(absent(`variables.workspace`, `resources`), fields+`/resources`, `{}`),
		when(absent(`variables.resources`, `requests`), fields+`/resources/requests`, `{}`),
		when(absent(`variables.resources`, `limits`), fields+`/resources/limits`, `{}`),
		quantity(`requests`, `cpu`, `cpu`), quantity(`requests`, `memory`, `memory`), quantity(`limits`, `memory`, `memoryLimit`),
		// The schema may have set Retain already, so this cannot tell what the team wrote.
		when(given+`variables.spec.?workspaceReclaimPolicy.orValue('') != 'Delete'`, `/spec/workspaceReclaimPolicy`, `'Delete'`),
	}
}

// workspaceVariables returns the names and the expressions of the variables of workspaceDefaults. Each is the empty map if the
// Stack leaves it out.
func workspaceVariables() [][2]string {
	part := func(name, of, field string) [2]string {
		return [2]string{name, fmt.Sprintf(`variables.%[1]s.?%[2]s.orValue(null) == null ? dyn({}) : variables.%[1]s.%[2]s`, of, field)}
	}
	return [][2]string{
		part("template", "spec", "workspaceTemplate"), part("workspace", "template", "spec"), part("resources", "workspace", "resources"),
		part("requests", "resources", "requests"), part("limits", "resources", "limits"),
	}
}
