package authz

import (
	"regexp"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

const (
	// hiddenCondition is part of the name of the role in a conditional binding, for clients that do not support
	// conditions. A hash of the condition follows it.
	hiddenCondition = "_withcond_"

	versionsHelp = "For more information, please refer to https://cloud.google.com/iam/help/allow-policies/versions."
)

var (
	roleNames   = regexp.MustCompile(`^roles/[a-zA-Z0-9_.]+$`)
	memberNames = regexp.MustCompile(`^(allUsers|allAuthenticatedUsers` +
		`|(user|group|serviceAccount):[^@\s]+@[^@\s]+|domain:[^@\s:]+` +
		`|serviceAccount:[^@\s\[\]]+\.svc\.id\.goog\[[^/\s\]]+/[^/\s\]]+\]` +
		`|project(Owner|Editor|Viewer):[^@\s:]+` +
		`|principal(Set)?://iam\.googleapis\.com/\S+` +
		`|deleted:(user|group|serviceAccount):[^@\s]+@[^@\s]+\?uid=\d+)$`)
)

// CanonicalMember returns a member in Google's form: with its e-mail address or domain in lower case.
func CanonicalMember(member string) string {
	for _, kind := range []string{"user:", "group:", "serviceAccount:", "domain:"} {
		if name, ok := strings.CutPrefix(member, kind); ok {
			return kind + strings.ToLower(name)
		}
	}
	return member
}

// CheckVersion returns an error for an unknown version of policies. Version 0 means version 1.
func CheckVersion(version int64) error {
	if version != 0 && version != 1 && version != conditionalVersion {
		return api.InvalidArgument("Invalid policy version %d: use 0, 1 or 3. %s", version, versionsHelp)
	}
	return nil
}

// CheckPolicy returns an error for a policy that the emulator could not enforce. Bindings of the current policy may
// stay even if they have become invalid, for example because their role was deleted.
func (a *Authorizer) CheckPolicy(tx *bbolt.Tx, policy, current *crm.Policy) error {
	if err := CheckVersion(policy.Version); err != nil {
		return err
	}
	// Without an etag, a policy without conditions may overwrite one with conditions, as Google documents.
	if policy.Version < conditionalVersion && policy.Etag != "" && conditional(current) {
		return api.InvalidArgument("Specified policy version (%d) cannot be less than the existing policy version (3). %s",
			policy.Version, versionsHelp)
	}
	for _, binding := range policy.Bindings {
		if binding == nil {
			return api.InvalidArgument("A binding is empty.")
		}
		if err := checkRole(tx, binding, current); err != nil {
			return err
		}
		if err := a.checkCondition(policy, binding); err != nil {
			return err
		}
		for _, member := range binding.Members {
			if err := a.checkMember(tx, member, binding, current); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCondition returns an error for an invalid condition, and for a condition with a role or in a version of policies
// that does not allow conditions.
func (a *Authorizer) checkCondition(policy *crm.Policy, binding *crm.Binding) error {
	switch {
	case strings.Contains(binding.Role, hiddenCondition):
		return api.InvalidArgument("Policy cannot contain both conditions and condition hashes. "+
			"Please update your client to request version 3 policy. %s", versionsHelp)
	case binding.Condition == nil:
		return nil
	case policy.Version < conditionalVersion:
		return api.InvalidArgument("Specified policy version (%d) cannot be less than 3 for a policy with conditions. %s", policy.Version, versionsHelp)
	case isBasicRole(binding.Role):
		return api.InvalidArgument("Conditions can't be set on primitive roles.")
	case slices.Contains(binding.Members, "allUsers"), slices.Contains(binding.Members, "allAuthenticatedUsers"):
		return api.InvalidArgument("Conditions can't be set on bindings of allUsers or allAuthenticatedUsers.")
	}
	_, err := a.conditions.compile(binding.Condition.Expression)
	return err
}

// isBasicRole reports whether a role is a basic role: owner, editor or viewer. Google called these roles primitive.
func isBasicRole(role string) bool {
	return role == "roles/owner" || role == "roles/editor" || role == "roles/viewer"
}

// checkRole returns an error for an unknown predefined role, for a custom role of a missing project, and for new
// members of a deleted role.
func checkRole(tx *bbolt.Tx, binding *crm.Binding, current *crm.Policy) error {
	role, _, _ := strings.Cut(binding.Role, hiddenCondition)
	if isPredefinedRole(role) {
		return nil
	}
	if !strings.HasPrefix(role, "projects/") {
		return api.InvalidArgument("Role %s is not supported for this resource.", role)
	}
	custom, err := findCustomRole(tx, role)
	if err == nil && (custom == nil || custom.Deleted && !bound(current, binding)) {
		return api.InvalidArgument("Role (%s) does not exist in the resource's hierarchy.", role)
	}
	return err
}

// bound reports whether a policy already gives every member of a binding its role.
func bound(policy *crm.Policy, binding *crm.Binding) bool {
	return !slices.ContainsFunc(binding.Members, func(member string) bool { return !HasMember(policy, binding.Role, CanonicalMember(member)) })
}

// HasMember reports whether a policy binds a member to a role, under any condition.
func HasMember(policy *crm.Policy, role, member string) bool {
	return slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool { return b.Role == role && slices.Contains(b.Members, member) })
}

// checkMember returns an error for an invalid member, and for a member of the emulated cloud that does not exist.
func (a *Authorizer) checkMember(tx *bbolt.Tx, member string, binding *crm.Binding, current *crm.Policy) error {
	if !memberNames.MatchString(member) {
		return api.InvalidArgument("Invalid member %q in the binding of %s: one of allUsers, allAuthenticatedUsers, user:, group:, "+
			"serviceAccount:, domain:, principal:// or principalSet:// is expected.", member, binding.Role)
	}
	name, ok := strings.CutPrefix(CanonicalMember(member), "serviceAccount:")
	if !ok || HasMember(current, binding.Role, "serviceAccount:"+name) {
		return nil
	}
	if pool, _, ok := strings.Cut(name, "["); ok {
		return a.checkPoolMember(tx, pool)
	}
	return checkAccountMember(tx, name)
}

// checkPoolMember returns an error for a Kubernetes service account whose workload identity pool belongs to no emulated
// cluster.
func (a *Authorizer) checkPoolMember(tx *bbolt.Tx, pool string) error {
	if a.WorkloadPools != nil {
		known, err := a.WorkloadPools(tx, strings.TrimSuffix(pool, ".svc.id.goog"))
		if err != nil || slices.Contains(known, pool) {
			return err
		}
	}
	return api.InvalidArgument("Identity Pool does not exist (%s). Please check that you specified a valid resource name as returned "+
		"in the `name` attribute in the configuration API.", pool)
}

// serviceAgents matches the accounts that Google's services create in projects of their own.
var serviceAgents = regexp.MustCompile(`^((service|project)-[a-z0-9-]+@.*|.*@gcp-sa-.*)` + regexp.QuoteMeta(authn.AccountDomain) + `$`)

// checkAccountMember returns an error for a service account that does not exist. It accepts Google's service agents.
func checkAccountMember(tx *bbolt.Tx, email string) error {
	home, ok := authn.AccountProject(email)
	if !ok {
		return nil
	}
	account, err := authn.FindAccount(tx, home, email)
	if err != nil {
		return err
	}
	known, err := api.FindProject(tx, home)
	if err != nil {
		return err
	}
	if account == nil && (known != nil || !serviceAgents.MatchString(email)) {
		return api.InvalidArgument("Service account %s does not exist.", email)
	}
	return nil
}
