package authz

import (
	"strings"
	"time"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Authorizer decides whether a principal has a permission on a resource. It evaluates the roles that policies bind to
// the principal, and the conditions of the bindings.
type Authorizer struct {
	// WorkloadPools returns the workload identity pools of a project's clusters. Nil means that no project has one.
	WorkloadPools func(tx *bbolt.Tx, project string) ([]string, error)

	store      *store.Store
	now        func() time.Time
	conditions conditionCache
}

// New returns an authorizer for the policies and roles in a store.
func New(st *store.Store, now func() time.Time) *Authorizer {
	return &Authorizer{store: st, now: now}
}

// Authorize returns the service's own error if the caller does not have a permission on a resource.
func (a *Authorizer) Authorize(tx *bbolt.Tx, svc *api.Service, who api.Principal, permission string, on api.Resource) error {
	granted, err := a.Allowed(tx, who, permission, on)
	if err != nil {
		return err
	}
	if !granted {
		return svc.Denied(who, permission, on)
	}
	return nil
}

// RequireQuotaProject returns an error if the caller may not use the quota of the project in the call's header
// X-Goog-User-Project.
func (a *Authorizer) RequireQuotaProject(tx *bbolt.Tx, svc *api.Service, c *api.Call) error {
	named := c.Request.Header.Get("X-Goog-User-Project")
	if named == "" {
		return nil
	}
	about, err := api.FindProject(tx, named)
	if err != nil {
		return err
	}
	if about != nil {
		granted, err := a.Allowed(tx, c.Who, "serviceusage.services.use", api.Resource{Project: about.ID})
		if err != nil || granted {
			return err
		}
	}
	return api.PermissionDenied("Caller does not have required permission to use project %s. Grant the caller the "+
		"roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use permission, by visiting "+
		"https://console.developers.google.com/iam-admin/iam/project?project=%s and then retry.", named, named).WithInfo(
		"USER_PROJECT_DENIED", "googleapis.com", map[string]string{"service": svc.Name, "consumer": "projects/" + named})
}

// Allowed reports whether the policy of the resource, of its parent or of its project grants a permission. A missing project grants no
// permission, so that callers cannot distinguish it from a project of somebody else.
func (a *Authorizer) Allowed(tx *bbolt.Tx, who api.Principal, permission string, on api.Resource) (bool, error) {
	grant, err := a.Granting(tx, who, permission, on)
	return grant != nil, err
}

// Grant is a binding that grants a permission.
type Grant struct {
	// Role is the role of the binding, and Policy the resource of its policy, such as "projects/strata-local".
	Role, Policy string
}

// Granting returns the first binding that grants a permission, or nil.
func (a *Authorizer) Granting(tx *bbolt.Tx, who api.Principal, permission string, on api.Resource) (*Grant, error) {
	keys := []string{ProjectPolicy(on.Project)}
	for _, own := range []string{on.ParentPolicy, on.Policy} {
		if own != "" {
			keys = append(keys, own)
		}
	}
	for _, key := range keys {
		policy, err := ReadPolicy(tx, key)
		if err != nil {
			return nil, err
		}
		for _, binding := range policy.Bindings {
			granted, err := a.binds(tx, binding, who, permission, on)
			if err != nil {
				return nil, err
			}
			if granted {
				return &Grant{Role: binding.Role, Policy: key}, nil
			}
		}
	}
	return nil, nil
}

// binds reports whether a binding grants the caller a permission on a resource.
func (a *Authorizer) binds(tx *bbolt.Tx, binding *crm.Binding, who api.Principal, permission string, on api.Resource) (bool, error) {
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
func isMember(tx *bbolt.Tx, p api.Principal, member string) (bool, error) {
	switch member {
	case p.Member, "allUsers":
		return true, nil
	case "allAuthenticatedUsers":
		// These are the users and service accounts of Google.
		return !isWorkload(p), nil
	}
	kind, name, _ := strings.Cut(member, ":")
	switch kind {
	case "principal", "principalSet":
		return matchesWorkload(tx, p, member)
	case "domain":
		return strings.HasPrefix(p.Member, "user:") && strings.HasSuffix(p.Email, "@"+name), nil
	case "projectOwner", "projectEditor", "projectViewer":
		policy, err := ReadPolicy(tx, ProjectPolicy(name))
		return err == nil && HasMember(policy, "roles/"+strings.ToLower(strings.TrimPrefix(kind, "project")), p.Member), err
	}
	return false, nil
}
