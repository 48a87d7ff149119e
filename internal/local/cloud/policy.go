package cloud

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
)

// Policies of all kinds of resources have the same JSON form, so this package uses Resource Manager's type for all of
// them.

// conditionalVersion is the version of policies with conditions. Policies without conditions have version 1.
const conditionalVersion = 3

// setPolicyRequest is the body of a setIamPolicy call.
type setPolicyRequest struct {
	Policy     *crm.Policy `json:"policy"`
	UpdateMask string      `json:"updateMask,omitempty"`
}

// readPolicy returns the policy of a resource, or an empty policy if nobody has set one.
func readPolicy(tx *bbolt.Tx, key string) (*crm.Policy, error) {
	policy, err := get[crm.Policy](tx, policies, key)
	if err != nil || policy != nil {
		return policy, err
	}
	// Google returns this etag for a policy that nobody has set.
	return &crm.Policy{Etag: "ACAB"}, nil
}

// writePolicy stores a policy under a new etag. It normalizes the policy as Google does: one binding per role and
// condition, sorted.
func (s *Server) writePolicy(tx *bbolt.Tx, key string, policy *crm.Policy) error {
	policy.Bindings = mergeBindings(policy.Bindings)
	policy.Version = 1
	if conditional(policy) {
		policy.Version = conditionalVersion
	}
	revision, err := tx.Bucket([]byte(policies)).NextSequence()
	if err != nil {
		return err
	}
	etag := binary.BigEndian.AppendUint64(nil, 0x0705<<48|revision)
	policy.Etag = base64.StdEncoding.EncodeToString(etag)
	return put(tx, policies, key, policy)
}

func mergeBindings(bindings []*crm.Binding) []*crm.Binding {
	merged := map[string]*crm.Binding{}
	for _, binding := range bindings {
		key := binding.Role + "\n" + conditionHash(binding.Condition)
		if merged[key] == nil {
			merged[key] = &crm.Binding{Role: binding.Role, Condition: binding.Condition}
		}
		for _, member := range binding.Members {
			merged[key].Members = append(merged[key].Members, canonicalMember(member))
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

func conditional(policy *crm.Policy) bool {
	return slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool { return b.Condition != nil })
}

// asVersion returns a policy in the form of a version. For clients that do not support conditions, it replaces the
// roles of conditional bindings by names that grant nothing.
func asVersion(policy *crm.Policy, version int64) *crm.Policy {
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

// getPolicy answers a getIamPolicy call about the policy at key.
func (s *Server) getPolicy(c *call, key string) (any, error) {
	var request crm.GetIamPolicyRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	var version int64
	if request.Options != nil {
		version = request.Options.RequestedPolicyVersion
	}
	// IAM takes the version as a query parameter. Resource Manager takes it in the body.
	if asked := c.request.URL.Query().Get("options.requestedPolicyVersion"); asked != "" {
		var err error
		if version, err = strconv.ParseInt(asked, 10, 32); err != nil {
			return nil, invalidArgument("Invalid value at 'options.requested_policy_version' (TYPE_INT32), %q", asked)
		}
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	var policy *crm.Policy
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		policy, err = readPolicy(tx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return asVersion(policy, version), nil
}

// setPolicy answers a setIamPolicy call. If the request carries an etag, it must match the current policy's. check
// refuses policies that are invalid for the kind of resource; it may be nil.
func (s *Server) setPolicy(c *call, key string, check func(wanted, current *crm.Policy) error) (any, error) {
	var request setPolicyRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	wanted := request.Policy
	if wanted == nil {
		return nil, invalidArgument("Policy is required.")
	}
	err := s.store.update(func(tx *bbolt.Tx) error {
		current, err := readPolicy(tx, key)
		if err != nil {
			return err
		}
		if wanted.Etag != "" && wanted.Etag != current.Etag {
			return newError(409, "ABORTED", "aborted", "There were concurrent policy changes. "+
				"Please retry the whole read-modify-write with exponential backoff. "+
				"The request's ETag '%s' did not match the current policy's ETag '%s'.", escapeEtag(wanted.Etag), escapeEtag(current.Etag))
		}
		if err := maskPolicy(request.UpdateMask, wanted, current); err != nil {
			return err
		}
		if err := s.checkPolicy(tx, wanted, current); err != nil {
			return err
		}
		if check != nil {
			if err := check(wanted, current); err != nil {
				return err
			}
		}
		return s.writePolicy(tx, key, wanted)
	})
	return wanted, err
}

// maskPolicy copies the fields outside the request's mask from the current policy.
func maskPolicy(mask string, wanted, current *crm.Policy) error {
	setDefault(&mask, "bindings,etag")
	bindings, audit := false, false
	for field := range strings.SplitSeq(mask, ",") {
		switch strings.TrimSpace(field) {
		case "bindings":
			bindings = true
		case "auditConfigs", "audit_configs":
			audit = true
		case "etag", "version":
		default:
			return invalidArgument("Invalid value at 'update_mask': a policy has no field %q.", field)
		}
	}
	if !bindings {
		wanted.Bindings, wanted.Version = current.Bindings, current.Version
	}
	if !audit {
		wanted.AuditConfigs = current.AuditConfigs
	}
	return nil
}

// escapeEtag formats an etag as Google's errors do: its bytes, with unprintable bytes in octal.
func escapeEtag(etag string) string {
	data, err := base64.StdEncoding.DecodeString(etag)
	if err != nil {
		return etag
	}
	var text strings.Builder
	for _, b := range data {
		if b >= ' ' && b <= '~' && b != '\'' && b != '\\' {
			text.WriteByte(b)
		} else {
			fmt.Fprintf(&text, `\%03o`, b)
		}
	}
	return text.String()
}

// testPermissions answers with the permissions in the request that the caller has.
func (s *Server) testPermissions(c *call, on resource) (any, error) {
	var request crm.TestIamPermissionsRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	answer := &crm.TestIamPermissionsResponse{}
	err := s.store.view(func(tx *bbolt.Tx) error {
		for _, permission := range request.Permissions {
			if !isPermission(permission) {
				return invalidArgument("Permission %s is not valid for this resource.", permission)
			}
			granted, err := s.allowed(tx, c.who, permission, on)
			if err != nil {
				return err
			}
			if granted {
				answer.Permissions = append(answer.Permissions, permission)
			}
		}
		return nil
	})
	return answer, err
}
