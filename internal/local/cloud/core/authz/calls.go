package authz

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	crm "google.golang.org/api/cloudresourcemanager/v1"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// setPolicyRequest is the body of a setIamPolicy call.
type setPolicyRequest struct {
	Policy     *crm.Policy `json:"policy"`
	UpdateMask string      `json:"updateMask,omitempty"`
}

// GetPolicy handles a getIamPolicy call about the policy at key.
func (a *Authorizer) GetPolicy(c *api.Call, key string) (any, error) {
	var request crm.GetIamPolicyRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	var version int64
	if request.Options != nil {
		version = request.Options.RequestedPolicyVersion
	}
	// IAM takes the version as a query parameter. Resource Manager takes it in the body.
	if asked := c.Request.URL.Query().Get("options.requestedPolicyVersion"); asked != "" {
		var err error
		if version, err = strconv.ParseInt(asked, 10, 32); err != nil {
			return nil, api.InvalidArgument("Invalid value at 'options.requested_policy_version' (TYPE_INT32), %q", asked)
		}
	}
	if err := CheckVersion(version); err != nil {
		return nil, err
	}
	var policy *crm.Policy
	err := a.store.View(func(tx *bbolt.Tx) (err error) {
		policy, err = ReadPolicy(tx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return AsVersion(policy, version), nil
}

// SetPolicy handles a setIamPolicy call. An etag in the request must match that of the current policy. check returns an
// error for a policy that is invalid for the kind of resource; it may be nil.
func (a *Authorizer) SetPolicy(c *api.Call, key string, check func(wanted, current *crm.Policy) error) (any, error) {
	var request setPolicyRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	wanted := request.Policy
	if wanted == nil {
		return nil, api.InvalidArgument("Policy is required.")
	}
	err := a.store.Update(func(tx *bbolt.Tx) error {
		current, err := ReadPolicy(tx, key)
		if err != nil {
			return err
		}
		if wanted.Etag != "" && wanted.Etag != current.Etag {
			return api.NewError(409, "ABORTED", "aborted", "There were concurrent policy changes. "+
				"Please retry the whole read-modify-write with exponential backoff. "+
				"The request's ETag '%s' did not match the current policy's ETag '%s'.", escapeEtag(wanted.Etag), escapeEtag(current.Etag))
		}
		if err := maskPolicy(request.UpdateMask, wanted, current); err != nil {
			return err
		}
		if err := a.CheckPolicy(tx, wanted, current); err != nil {
			return err
		}
		if check != nil {
			if err := check(wanted, current); err != nil {
				return err
			}
		}
		return WritePolicy(tx, key, wanted)
	})
	return wanted, err
}

// maskPolicy copies the fields outside the request's mask from the current policy.
func maskPolicy(mask string, wanted, current *crm.Policy) error {
	api.SetDefault(&mask, "bindings,etag")
	bindings, audit := false, false
	for field := range strings.SplitSeq(mask, ",") {
		switch strings.TrimSpace(field) {
		case "bindings":
			bindings = true
		case "auditConfigs", "audit_configs":
			audit = true
		case "etag", "version":
		default:
			return api.InvalidArgument("Invalid value at 'update_mask': a policy has no field %q.", field)
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

// TestPermissions returns those permissions in the request that the caller has.
func (a *Authorizer) TestPermissions(c *api.Call, on api.Resource) (any, error) {
	var request crm.TestIamPermissionsRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	answer := &crm.TestIamPermissionsResponse{}
	err := a.store.View(func(tx *bbolt.Tx) error {
		for _, permission := range request.Permissions {
			if !IsPermission(permission) {
				return api.InvalidArgument("Permission %s is not valid for this resource.", permission)
			}
			granted, err := a.Allowed(tx, c.Who, permission, on)
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
