package gcloud

import (
	"encoding/base64"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
)

// Policies of every kind of resource have the same JSON form; Resource Manager's type stands for all of them.

// setPolicyRequest is the body of a setIamPolicy call.
type setPolicyRequest struct {
	Policy     *crm.Policy `json:"policy"`
	UpdateMask string      `json:"updateMask,omitempty"`
}

// readPolicy returns the policy of a resource: an empty one where none was set.
func readPolicy(tx *bbolt.Tx, key string) (*crm.Policy, error) {
	policy, err := get[crm.Policy](tx, policies, key)
	if err != nil || policy != nil {
		return policy, err
	}
	// The etag of a policy that was never set, as the real ones have it.
	return &crm.Policy{Etag: "ACAB"}, nil
}

// writePolicy stores a policy under a new etag, sorted as Google answers it.
func (s *Server) writePolicy(tx *bbolt.Tx, key string, policy *crm.Policy) error {
	kept := policy.Bindings[:0]
	for _, binding := range policy.Bindings {
		if len(binding.Members) == 0 {
			continue
		}
		slices.Sort(binding.Members)
		binding.Members = slices.Compact(binding.Members)
		kept = append(kept, binding)
	}
	policy.Bindings = kept
	slices.SortStableFunc(policy.Bindings, func(a, b *crm.Binding) int { return strings.Compare(a.Role, b.Role) })
	if policy.Version == 0 {
		policy.Version = 1
	}
	revision, err := tx.Bucket([]byte(policies)).NextSequence()
	if err != nil {
		return err
	}
	etag := binary.BigEndian.AppendUint64(nil, 0x0705<<48|revision)
	policy.Etag = base64.StdEncoding.EncodeToString(etag)
	return put(tx, policies, key, policy)
}

// setPolicy replaces the policy of a resource. Where the caller names the etag it read, the policy must not have changed
// since.
func (s *Server) setPolicy(c *call, key string) (*crm.Policy, error) {
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
		if err := checkPolicy(tx, wanted, current); err != nil {
			return err
		}
		if wanted.Etag != "" && wanted.Etag != current.Etag {
			return newError(409, "ABORTED", "aborted", "There were concurrent policy changes. "+
				"Please retry the whole read-modify-write with exponential backoff. "+
				"The request's ETag '%s' did not match the current policy's ETag '%s'.", wanted.Etag, current.Etag)
		}
		return s.writePolicy(tx, key, wanted)
	})
	return wanted, err
}

var (
	roleNames   = regexp.MustCompile(`^roles/[a-zA-Z0-9_.]+$`)
	memberNames = regexp.MustCompile(`^(allUsers|allAuthenticatedUsers|(user|group|serviceAccount):[^@\s]+@[^@\s]+|domain:[^@\s]+|deleted:(user|group|serviceAccount):[^@\s]+@[^@\s]+\?uid=\d+)$`)
)

// checkPolicy refuses a policy that could not be enforced as it stands. Bindings of a role that has been deleted since
// may stay as they are in the current policy: they grant nothing.
func checkPolicy(tx *bbolt.Tx, policy, current *crm.Policy) error {
	for _, binding := range policy.Bindings {
		if binding == nil {
			return invalidArgument("A binding is empty.")
		}
		if err := checkRole(tx, binding, current); err != nil {
			return err
		}
		if binding.Condition != nil {
			return invalidArgument("The binding of %s has a condition; the emulated Google Cloud has no conditions yet.", binding.Role)
		}
		for _, member := range binding.Members {
			if !memberNames.MatchString(member) {
				return invalidArgument("Invalid member %q in the binding of %s: one of allUsers, allAuthenticatedUsers, user:, group:, "+
					"serviceAccount: or domain: is expected.", member, binding.Role)
			}
			if email, ok := strings.CutPrefix(member, "serviceAccount:"); ok {
				if err := checkAccountMember(tx, email); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkRole refuses what cannot be a role of Google's, a role of a project that does not exist, and to give a deleted
// role to somebody new.
func checkRole(tx *bbolt.Tx, binding *crm.Binding, current *crm.Policy) error {
	role := binding.Role
	if roleNames.MatchString(role) {
		return nil
	}
	if !strings.HasPrefix(role, "projects/") {
		return invalidArgument("Role %s is not supported for this resource.", role)
	}
	custom, err := findCustomRole(tx, role)
	if err == nil && (custom == nil || custom.Deleted && !bound(current, binding)) {
		return invalidArgument("Role (%s) does not exist in the resource's hierarchy.", role)
	}
	return err
}

// bound tells whether each member of a binding has its role in a policy already.
func bound(policy *crm.Policy, binding *crm.Binding) bool {
	for _, member := range binding.Members {
		has := func(b *crm.Binding) bool { return b.Role == binding.Role && slices.Contains(b.Members, member) }
		if !slices.ContainsFunc(policy.Bindings, has) {
			return false
		}
	}
	return true
}

// checkAccountMember refuses a service account of a project here that does not exist. Google's own accounts are let in.
func checkAccountMember(tx *bbolt.Tx, email string) error {
	id, ok := accountProject(email)
	if !ok {
		return nil
	}
	home, err := findProject(tx, id)
	if err != nil || home == nil {
		return err
	}
	account, err := findAccount(tx, id, email)
	if err != nil {
		return err
	}
	if account == nil {
		return invalidArgument("Service account %s does not exist.", email)
	}
	return nil
}

func (s *Server) getPolicy(key string) (policy *crm.Policy, err error) {
	err = s.store.view(func(tx *bbolt.Tx) error {
		policy, err = readPolicy(tx, key)
		return err
	})
	return policy, err
}

func (s *Server) getProjectPolicy(c *call) (any, error) {
	return s.getPolicy(projectPolicy(c.project.ID))
}

func (s *Server) setProjectPolicy(c *call) (any, error) {
	return s.setPolicy(c, projectPolicy(c.project.ID))
}

func (s *Server) testProjectPermissions(c *call) (any, error) {
	return s.testPermissions(c, onProject(c))
}

// testPermissions answers which of the permissions in a request the caller has.
func (s *Server) testPermissions(c *call, on resource) (any, error) {
	var request crm.TestIamPermissionsRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	answer := &crm.TestIamPermissionsResponse{}
	err := s.store.view(func(tx *bbolt.Tx) error {
		for _, permission := range request.Permissions {
			granted, err := allowed(tx, c.who, permission, on)
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
