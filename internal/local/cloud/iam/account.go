package iam

import (
	"regexp"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

var accountIDs = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])$`)

// iamProject returns the project of a call to IAM. A path may name a service account by its unique ID, and may have
// "-" in place of the project. Then iamProject takes the project from the account, and replaces the ID by the
// account's e-mail address.
func iamProject(tx *bbolt.Tx, c *api.Call) (string, error) {
	scope, name := c.Vars["project"], c.Vars["account"]
	if name == "" {
		return scope, nil
	}
	if named, err := api.FindProject(tx, scope); err != nil {
		return "", err
	} else if named != nil {
		scope = named.ID
	}
	account, err := authn.FindAccount(tx, scope, name)
	if err != nil {
		return "", err
	}
	switch {
	case account != nil:
		c.Vars["account"] = account.Email
		return account.ProjectId, nil
	case scope == "-":
		if home, ok := authn.AccountProject(name); ok {
			return home, nil
		}
		return deletedAccountProject(tx, name)
	}
	return scope, nil
}

// onAccount returns a service account as the resource of a permission check. It has no path for conditions, because
// Google Cloud gives service accounts no resource attributes.
func onAccount(c *api.Call) api.Resource {
	return api.Resource{
		Project: c.ProjectID(),
		Name:    "projects/" + c.ProjectID() + "/serviceAccounts/" + c.Vars["account"],
		Policy:  authn.AccountPolicy(c.Vars["account"]),
	}
}

// createServiceAccount creates an account with a new unique ID. Policies refer to the ID after a deletion, so a new account of the
// same address does not inherit the roles of the old one.
func (s *service) createServiceAccount(c *api.Call) (any, error) {
	var request iam.CreateServiceAccountRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	id := request.AccountId
	if len(id) < 6 || len(id) > 30 {
		return nil, api.InvalidArgument("The account ID %q does not have a length between 6 and 30.", id)
	}
	if !accountIDs.MatchString(id) {
		return nil, api.InvalidArgument("The account ID %q is not valid: it must match %s.", id, accountIDs)
	}
	email := id + "@" + c.Project.ID + authn.AccountDomain
	account := &iam.ServiceAccount{
		Name:      "projects/" + c.Project.ID + "/serviceAccounts/" + email,
		ProjectId: c.Project.ID,
		UniqueId:  api.RandomDigits(21),
		Email:     email,
	}
	account.Oauth2ClientId = account.UniqueId
	if wanted := request.ServiceAccount; wanted != nil {
		account.DisplayName, account.Description = wanted.DisplayName, wanted.Description
	}
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		existing, err := authn.FindAccount(tx, c.Project.ID, email)
		if err != nil {
			return err
		}
		if existing != nil {
			return api.AlreadyExists("Service account %s already exists within project projects/%s.", id, c.Project.ID)
		}
		return s.putAccount(tx, account)
	})
	return account, err
}

// putAccount stores an account under a new etag. It returns an error for a display name or a description that is too
// long.
func (s *service) putAccount(tx *bbolt.Tx, account *iam.ServiceAccount) error {
	if len(account.DisplayName) > 100 {
		return api.InvalidArgument("The display name of the service account is longer than 100 bytes.")
	}
	if len(account.Description) > 256 {
		return api.InvalidArgument("The description of the service account is longer than 256 bytes.")
	}
	account.Etag = "MDEwMjE5MjA" + api.RandomText(3) + "="
	return store.Put(tx, authn.ServiceAccounts, authn.AccountPath(account.ProjectId, account.Email), account)
}

// withAccount runs fn in a transaction with the account that the path names.
func (s *service) withAccount(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *iam.ServiceAccount) error) error {
	return run(func(tx *bbolt.Tx) error {
		account, err := authn.FindAccount(tx, c.ProjectID(), c.Vars["account"])
		if err != nil {
			return err
		}
		if account == nil {
			return api.NotFound("Unknown service account")
		}
		return fn(tx, account)
	})
}

func (s *service) getServiceAccount(c *api.Call) (any, error) { return s.account(c) }

// account returns the account that the path names.
func (s *service) account(c *api.Call) (*iam.ServiceAccount, error) {
	var found *iam.ServiceAccount
	err := s.withAccount(c, s.Store.View, func(_ *bbolt.Tx, account *iam.ServiceAccount) error {
		found = account
		return nil
	})
	return found, err
}

func (s *service) listServiceAccounts(c *api.Call) (any, error) {
	var all []*iam.ServiceAccount
	err := s.Store.View(func(tx *bbolt.Tx) (err error) {
		all, err = store.List[iam.ServiceAccount](tx, authn.ServiceAccounts, c.Project.ID+"/")
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := &iam.ListServiceAccountsResponse{}
	answer.Accounts, answer.NextPageToken, err = api.Page(c, all, func(a *iam.ServiceAccount) string { return a.Email }, 20, 100)
	return answer, err
}

func (s *service) patchServiceAccount(c *api.Call) (any, error) {
	var request iam.PatchServiceAccountRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	if request.ServiceAccount == nil {
		return nil, api.InvalidArgument("The service account to patch is required.")
	}
	changed, err := s.changeAccount(c, request.ServiceAccount, request.UpdateMask)
	if err != nil {
		return nil, err
	}
	// Google's response contains only the name and the changed fields.
	answer := &iam.ServiceAccount{Name: changed.Name}
	for field := range strings.SplitSeq(request.UpdateMask, ",") {
		switch strings.TrimSpace(field) {
		case "displayName", "display_name":
			answer.DisplayName = changed.DisplayName
		case "description":
			answer.Description = changed.Description
		}
	}
	return answer, nil
}

// updateServiceAccount handles the older PUT call, which changes only the display name.
func (s *service) updateServiceAccount(c *api.Call) (any, error) {
	var wanted iam.ServiceAccount
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	return s.changeAccount(c, &wanted, "displayName")
}

// changeAccount sets the fields of an account that the mask names.
func (s *service) changeAccount(c *api.Call, wanted *iam.ServiceAccount, mask string) (*iam.ServiceAccount, error) {
	var changed *iam.ServiceAccount
	err := s.withAccount(c, s.Store.Update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		for field := range strings.SplitSeq(mask, ",") {
			switch strings.TrimSpace(field) {
			case "displayName", "display_name":
				account.DisplayName = wanted.DisplayName
			case "description":
				account.Description = wanted.Description
			case "etag":
			default:
				return api.InvalidArgument("Invalid value at 'update_mask': %q is not display_name or description.", field)
			}
		}
		changed = account
		return s.putAccount(tx, account)
	})
	return changed, err
}

// setAccountDisabled handles the enable and disable calls. Disabling an account invalidates its access tokens at once.
func (s *service) setAccountDisabled(disabled bool) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		return struct{}{}, s.withAccount(c, s.Store.Update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
			account.Disabled = disabled
			return s.putAccount(tx, account)
		})
	}
}

func (s *service) getAccountPolicy(c *api.Call) (any, error) {
	account, err := s.account(c)
	if err != nil {
		return nil, err
	}
	return s.GetPolicy(c, authn.AccountPolicy(account.Email))
}

func (s *service) setAccountPolicy(c *api.Call) (any, error) {
	account, err := s.account(c)
	if err != nil {
		return nil, err
	}
	return s.SetPolicy(c, authn.AccountPolicy(account.Email), nil)
}

func (s *service) testAccountPermissions(c *api.Call) (any, error) {
	return s.TestPermissions(c, onAccount(c))
}
