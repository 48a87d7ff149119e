package cloud

import (
	"strings"
	"time"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
)

// Authorizer decides which principal may do what: by the roles that policies bind, under their conditions.
type Authorizer struct {
	// workloadPools returns the workload identity pools of a project's clusters. Nil means that no project has one.
	workloadPools func(tx *bbolt.Tx, project string) ([]string, error)

	store      *store
	now        func() time.Time
	conditions conditionCache
}

func newAuthorizer(st *store, now func() time.Time) *Authorizer {
	return &Authorizer{store: st, now: now}
}

// authorize returns the service's own error if the caller lacks a permission on a resource.
func (a *Authorizer) authorize(tx *bbolt.Tx, svc *service, who principal, permission string, on resource) error {
	granted, err := a.allowed(tx, who, permission, on)
	if err != nil {
		return err
	}
	if !granted {
		return svc.denied(who, permission, on)
	}
	return nil
}

// requireQuotaProject refuses a call whose X-Goog-User-Project header names a project whose quota the caller may not
// use.
func (a *Authorizer) requireQuotaProject(tx *bbolt.Tx, svc *service, c *call) error {
	named := c.request.Header.Get("X-Goog-User-Project")
	if named == "" {
		return nil
	}
	about, err := findProject(tx, named)
	if err != nil {
		return err
	}
	if about != nil {
		granted, err := a.allowed(tx, c.who, "serviceusage.services.use", resource{project: about.ID})
		if err != nil || granted {
			return err
		}
	}
	return permissionDenied("Caller does not have required permission to use project %s. Grant the caller the "+
		"roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use permission, by visiting "+
		"https://console.developers.google.com/iam-admin/iam/project?project=%s and then retry.", named, named).withInfo(
		"USER_PROJECT_DENIED", "googleapis.com", map[string]string{"service": svc.name, "consumer": "projects/" + named})
}

// allowed reports whether the policy of the resource or of its project grants a permission. A project that does not
// exist grants nothing, so callers cannot distinguish a missing project from a project of somebody else.
func (a *Authorizer) allowed(tx *bbolt.Tx, who principal, permission string, on resource) (bool, error) {
	keys := []string{projectPolicy(on.project)}
	if on.policy != "" {
		keys = append(keys, on.policy)
	}
	for _, key := range keys {
		policy, err := readPolicy(tx, key)
		if err != nil {
			return false, err
		}
		for _, binding := range policy.Bindings {
			granted, err := a.binds(tx, binding, who, permission, on)
			if err != nil || granted {
				return granted, err
			}
		}
	}
	return false, nil
}

// binds reports whether a binding grants the caller a permission on a resource.
func (a *Authorizer) binds(tx *bbolt.Tx, binding *crm.Binding, who principal, permission string, on resource) (bool, error) {
	granted, err := grants(tx, binding.Role, permission)
	if err != nil || !granted {
		return false, err
	}
	for _, member := range binding.Members {
		is, err := isMember(tx, who, member)
		if err != nil {
			return false, err
		}
		if is && binding.Condition != nil {
			return a.conditions.met(binding.Condition.Expression, on, a.now())
		}
		if is {
			return true, nil
		}
	}
	return false, nil
}

// isMember reports whether a member of a binding matches a principal. The emulator has no groups.
func isMember(tx *bbolt.Tx, p principal, member string) (bool, error) {
	switch member {
	case p.member, "allUsers", "allAuthenticatedUsers":
		return true, nil
	}
	kind, name, _ := strings.Cut(member, ":")
	switch kind {
	case "domain":
		return strings.HasPrefix(p.member, "user:") && strings.HasSuffix(p.email, "@"+name), nil
	case "projectOwner", "projectEditor", "projectViewer":
		policy, err := readPolicy(tx, projectPolicy(name))
		return err == nil && hasMember(policy, "roles/"+strings.ToLower(strings.TrimPrefix(kind, "project")), p.member), err
	}
	return false, nil
}
