package gcloud

import (
	"slices"

	"go.etcd.io/bbolt"
)

// authorize refuses the call, in the service's own words, where the caller lacks a permission.
func (s *Server) authorize(tx *bbolt.Tx, svc *service, who principal, permission string, on resource) error {
	granted, err := allowed(tx, who, permission, on)
	if err != nil {
		return err
	}
	if !granted {
		return svc.denied(who, permission, on)
	}
	return nil
}

// allowed tells whether the policy of the resource or of its project grants a permission. A project that does not exist
// grants nothing, so that callers cannot tell it from one that is not theirs.
func allowed(tx *bbolt.Tx, who principal, permission string, on resource) (bool, error) {
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
			if binding.Condition != nil || !isMember(who, binding.Members) {
				continue
			}
			if granted, err := grants(tx, binding.Role, permission); err != nil || granted {
				return granted, err
			}
		}
	}
	return false, nil
}

func isMember(who principal, members []string) bool {
	return slices.ContainsFunc(members, func(member string) bool {
		return member == who.member || member == "allUsers" || member == "allAuthenticatedUsers"
	})
}
