// Package federation emulates the Security Token Service and the Service Account Credentials API. With both, a workload of a
// cluster acts as a service account without a key: it exchanges a token of the cluster's API server for a federated access
// token, and that token for one of the service account.
//
// The identity provider is the one that Kubernetes Engine makes for each cluster with workload identity: the pool
// PROJECT.svc.id.goog, and the cluster's own URL. Other pools are not emulated.
//
// Sources: https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token for the exchange,
// https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken for the
// impersonation, and https://cloud.google.com/kubernetes-engine/fleet-management/docs/use-workload-identity for the audience.
package federation

import (
	"errors"
	"net/http"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// The permissions of the role roles/iam.workloadIdentityUser.
const (
	accessPermission   = "iam.serviceAccounts.getAccessToken"
	identityPermission = "iam.serviceAccounts.getOpenIdToken"
)

// service handles the calls.
type service struct {
	*core.Core
	issuers *issuers
}

// Register adds both APIs to the emulator.
func Register(c *core.Core) {
	s := &service{Core: c, issuers: &issuers{now: func() time.Time { return c.Now() }}}
	c.Register(s.tokenService())
	c.Register(s.credentialsService())
}

func (s *service) tokenService() *api.Service {
	return &api.Service{
		Name:   "sts.googleapis.com",
		Title:  "Security Token Service API",
		Prefix: "sts",
		// The subject token in the body is the credential.
		Anonymous:  true,
		WriteError: func(w http.ResponseWriter, _ string, err error) { authn.WriteOAuthError(w, asOAuth(err)) },
		Routes:     []api.Route{{Method: "POST", Pattern: "v1/token", Handle: s.exchange}},
	}
}

func (s *service) credentialsService() *api.Service {
	const account = "v1/projects/{project}/serviceAccounts/{account}"
	return &api.Service{
		Name:    "iamcredentials.googleapis.com",
		Title:   "IAM Service Account Credentials API",
		Prefix:  "iamcredentials",
		Scopes:  []string{"https://www.googleapis.com/auth/iam"},
		Project: accountProject,
		Denied: func(_ api.Principal, permission string, _ api.Resource) *api.Error {
			return api.PermissionDenied("Permission '%s' denied on resource (or it may not exist).", permission).WithInfo(
				"IAM_PERMISSION_DENIED", "iam.googleapis.com", map[string]string{"permission": permission})
		},
		Routes: []api.Route{
			{Method: "POST", Pattern: account + ":generateAccessToken", Permission: accessPermission, On: onAccount, Handle: s.generateAccessToken},
			{Method: "POST", Pattern: account + ":generateIdToken", Permission: identityPermission, On: onAccount, Handle: s.generateIDToken},
		},
	}
}

// accountProject returns the project of the service account that the path names, and replaces a unique ID in the path by the
// account's e-mail address. Google accepts no other project than "-" in the path.
func accountProject(tx *bbolt.Tx, c *api.Call) (string, error) {
	name := c.Vars["account"]
	account, err := authn.FindAccount(tx, "-", name)
	if err != nil {
		return "", err
	}
	if account != nil {
		c.Vars["account"] = account.Email
		return account.ProjectId, nil
	}
	home, _ := authn.AccountProject(name)
	return home, nil
}

// onAccount returns the service account as the resource of a permission check.
func onAccount(c *api.Call) api.Resource {
	return api.Resource{
		Project: c.ProjectID(),
		Name:    "projects/" + c.ProjectID() + "/serviceAccounts/" + c.Vars["account"],
		Policy:  authn.AccountPolicy(c.Vars["account"]),
	}
}

// asOAuth returns an error of the emulator's router in the form of the Security Token Service.
func asOAuth(err error) error {
	if told, ok := errors.AsType[*api.Error](err); ok {
		return &authn.OAuthError{Code: told.Code, Reason: "invalid_request", Description: told.Message}
	}
	return err
}
