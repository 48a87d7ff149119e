package graph

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/internal/audit"
)

// grant is a rule that a subject holds. An empty namespace means the whole cluster.
type grant struct {
	namespace string
	rule      rbacv1.PolicyRule
	// by names the role and its binding.
	by string
}

// rights holds the grants of each user and group, as RBAC computes them from the live objects.
type rights struct{ users, groups map[string][]grant }

// newRights collects the grants of the bindings. A binding of a missing role grants nothing.
func newRights(f *Facts) *rights {
	r := &rights{users: map[string][]grant{}, groups: map[string][]grant{}}
	cluster, local := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
	for _, role := range f.ClusterRoles {
		cluster[role.Name] = role.Rules
	}
	for _, role := range f.Roles {
		local[role.Namespace+"/"+role.Name] = role.Rules
	}
	for _, binding := range f.ClusterRoleBindings {
		r.add("", binding.Subjects, cluster[binding.RoleRef.Name], "ClusterRole "+binding.RoleRef.Name+", bound by ClusterRoleBinding "+binding.Name)
	}
	for _, binding := range f.RoleBindings {
		rules := cluster[binding.RoleRef.Name]
		if binding.RoleRef.Kind == "Role" {
			rules = local[binding.Namespace+"/"+binding.RoleRef.Name]
		}
		r.add(binding.Namespace, binding.Subjects, rules, binding.RoleRef.Kind+" "+binding.RoleRef.Name+", bound by RoleBinding "+binding.Namespace+"/"+binding.Name)
	}
	return r
}

func (r *rights) add(namespace string, subjects []rbacv1.Subject, rules []rbacv1.PolicyRule, by string) {
	for _, subject := range subjects {
		to, name := r.users, subject.Name
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			name = audit.ServiceAccount(cmp.Or(subject.Namespace, namespace), subject.Name)
		case rbacv1.GroupKind:
			to = r.groups
		}
		for _, rule := range rules {
			to[name] = append(to[name], grant{namespace, rule, by})
		}
	}
}

// of returns the grants of a user: its own, and those of the groups that every user of its kind has.
func (r *rights) of(user string) []grant {
	grants := slices.Clone(r.users[user])
	groups := []string{"system:authenticated"}
	if user == anonymous {
		groups = []string{"system:unauthenticated"}
	}
	if parts := strings.Split(user, ":"); len(parts) == serviceAccountParts {
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+parts[2])
	}
	for _, group := range groups {
		grants = append(grants, r.groups[group]...)
	}
	return grants
}

// serviceAccountParts is the number of parts of the user name of a service account.
const serviceAccountParts = 4

// action is something that RBAC allows or not. An empty name means any object.
type action struct{ verb, group, resource, namespace, name string }

// allows reports whether a grant allows an action.
func (g grant) allows(a action) bool {
	if g.namespace != "" && g.namespace != a.namespace {
		return false
	}
	if !has(g.rule.Verbs, a.verb) || !has(g.rule.APIGroups, a.group) {
		return false
	}
	_, sub, nested := strings.Cut(a.resource, "/")
	if !has(g.rule.Resources, a.resource) && (!nested || !slices.Contains(g.rule.Resources, "*/"+sub)) {
		return false
	}
	return len(g.rule.ResourceNames) == 0 || a.name != "" && slices.Contains(g.rule.ResourceNames, a.name)
}

func has(list []string, value string) bool {
	return slices.Contains(list, rbacv1.ResourceAll) || slices.Contains(list, value)
}

// which returns the grant that allows an action.
func which(grants []grant, a action) (by string, ok bool) {
	for _, g := range grants {
		if g.allows(a) {
			return g.by, true
		}
	}
	return "", false
}
