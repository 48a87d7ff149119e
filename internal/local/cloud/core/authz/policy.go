package authz

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Policies holds the IAM policies of all resources.
const Policies store.Table = "policies" // <full name of a resource>

// Tables returns the tables of the package.
func Tables() []store.Table { return []store.Table{Policies, CustomRoles} }

// Policies of all kinds of resources have the same JSON form, so this package uses Resource Manager's type for all of
// them.

// conditionalVersion is the version of policies with conditions. Policies without conditions have version 1.
const conditionalVersion = 3

// ProjectPolicy returns the key of a project's policy in the store.
func ProjectPolicy(id string) string { return "projects/" + id }

// ReadPolicy returns the policy of a resource, or an empty policy if nobody has set one.
func ReadPolicy(tx *bbolt.Tx, key string) (*crm.Policy, error) {
	policy, err := store.Get[crm.Policy](tx, Policies, key)
	if err != nil || policy != nil {
		return policy, err
	}
	// Google returns this etag for a policy that nobody has set.
	return &crm.Policy{Etag: "ACAB"}, nil
}

// WritePolicy stores a policy under a new etag. It normalizes the policy as Google does: one binding per role and
// condition, sorted.
func WritePolicy(tx *bbolt.Tx, key string, policy *crm.Policy) error {
	policy.Bindings = mergeBindings(policy.Bindings)
	policy.Version = 1
	if conditional(policy) {
		policy.Version = conditionalVersion
	}
	revision, err := tx.Bucket([]byte(Policies)).NextSequence()
	if err != nil {
		return err
	}
	etag := binary.BigEndian.AppendUint64(nil, 0x0705<<48|revision)
	policy.Etag = base64.StdEncoding.EncodeToString(etag)
	return store.Put(tx, Policies, key, policy)
}

// mergeBindings returns one binding for each role and condition, sorted, with each member once: the form in which Google Cloud
// returns a policy, whatever form a client has sent.
func mergeBindings(bindings []*crm.Binding) []*crm.Binding {
	merged := map[string]*crm.Binding{}
	for _, binding := range bindings {
		key := binding.Role + "\n" + conditionHash(binding.Condition)
		if merged[key] == nil {
			merged[key] = &crm.Binding{Role: binding.Role, Condition: binding.Condition}
		}
		for _, member := range binding.Members {
			merged[key].Members = append(merged[key].Members, CanonicalMember(member))
		}
	}
	var kept []*crm.Binding
	for _, binding := range merged {
		slices.Sort(binding.Members)
		binding.Members = slices.Compact(binding.Members)
		if len(binding.Members) > 0 {
			kept = append(kept, binding)
		}
	}
	slices.SortFunc(kept, func(a, b *crm.Binding) int {
		return cmp.Or(strings.Compare(a.Role, b.Role), strings.Compare(conditionHash(a.Condition), conditionHash(b.Condition)))
	})
	return kept
}

// conditionHash returns a hash that identifies a condition, or "" for no condition.
func conditionHash(condition *crm.Expr) string {
	if condition == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(condition.Expression + "\n" + condition.Title + "\n" + condition.Description + "\n" + condition.Location))
	return hex.EncodeToString(sum[:10])
}

// conditional reports whether a policy has a condition.
func conditional(policy *crm.Policy) bool {
	return slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool { return b.Condition != nil })
}

// AsVersion returns a policy in the form of a version. For clients that do not support conditions, it replaces the
// roles of conditional bindings by names of roles that do not exist.
func AsVersion(policy *crm.Policy, version int64) *crm.Policy {
	if version >= conditionalVersion || !conditional(policy) {
		return policy
	}
	shown := *policy
	shown.Version = 1
	shown.Bindings = nil
	for _, binding := range policy.Bindings {
		if hash := conditionHash(binding.Condition); hash != "" {
			binding = &crm.Binding{Role: binding.Role + hiddenCondition + hash, Members: binding.Members}
		}
		shown.Bindings = append(shown.Bindings, binding)
	}
	return &shown
}
