package cloud

import (
	"regexp"
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"
)

var accountIDs = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])$`)

// iamProject returns the project of a call to IAM. A path may name a service account by its unique ID, and may have
// "-" in place of the project. Then iamProject takes the project from the account, and replaces the ID by the
// account's e-mail address.
func iamProject(tx *bbolt.Tx, c *call) (string, error) {
	scope, name := c.vars["project"], c.vars["account"]
	if name == "" {
		return scope, nil
	}
	if named, err := findProject(tx, scope); err != nil {
		return "", err
	} else if named != nil {
		scope = named.ID
	}
	account, err := findAccount(tx, scope, name)
	if err != nil {
		return "", err
	}
	switch {
	case account != nil:
		c.vars["account"] = account.Email
		return account.ProjectId, nil
	case scope == "-":
		if home, ok := accountProject(name); ok {
			return home, nil
		}
		return deletedAccountProject(tx, name)
	}
	return scope, nil
}

// onAccount returns a service account as the resource of a permission check. It has no path for conditions, because
// Google Cloud gives service accounts no resource attributes.
func onAccount(c *call) resource {
	return resource{
		project: c.projectID(),
		name:    "projects/" + c.projectID() + "/serviceAccounts/" + c.vars["account"],
		policy:  accountPolicy(c.vars["account"]),
	}
}

func (s *iamService) createServiceAccount(c *call) (any, error) {
	var request iam.CreateServiceAccountRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	id := request.AccountId
	if len(id) < 6 || len(id) > 30 {
		return nil, invalidArgument("The account ID %q does not have a length between 6 and 30.", id)
	}
	if !accountIDs.MatchString(id) {
		return nil, invalidArgument("The account ID %q is not valid: it must match %s.", id, accountIDs)
	}
	email := id + "@" + c.project.ID + accountDomain
	account := &iam.ServiceAccount{
		Name:      "projects/" + c.project.ID + "/serviceAccounts/" + email,
		ProjectId: c.project.ID,
		UniqueId:  randomDigits(21),
		Email:     email,
	}
	account.Oauth2ClientId = account.UniqueId
	if wanted := request.ServiceAccount; wanted != nil {
		account.DisplayName, account.Description = wanted.DisplayName, wanted.Description
	}
	err := s.store.update(func(tx *bbolt.Tx) error {
		existing, err := findAccount(tx, c.project.ID, email)
		if err != nil {
			return err
		}
		if existing != nil {
			return alreadyExists("Service account %s already exists within project projects/%s.", id, c.project.ID)
		}
		return s.putAccount(tx, account)
	})
	return account, err
}

// putAccount stores an account under a new etag. It refuses a display name or a description that is too long.
func (s *iamService) putAccount(tx *bbolt.Tx, account *iam.ServiceAccount) error {
	if len(account.DisplayName) > 100 {
		return invalidArgument("The display name of the service account is longer than 100 bytes.")
	}
	if len(account.Description) > 256 {
		return invalidArgument("The description of the service account is longer than 256 bytes.")
	}
	account.Etag = "MDEwMjE5MjA" + randomText(3) + "="
	return put(tx, serviceAccounts, accountPath(account.ProjectId, account.Email), account)
}

// withAccount runs fn in a transaction with the account that the path names.
func (s *iamService) withAccount(c *call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *iam.ServiceAccount) error) error {
	return run(func(tx *bbolt.Tx) error {
		account, err := findAccount(tx, c.projectID(), c.vars["account"])
		if err != nil {
			return err
		}
		if account == nil {
			return notFound("Unknown service account")
		}
		return fn(tx, account)
	})
}

func (s *iamService) getServiceAccount(c *call) (any, error) { return s.account(c) }

// account returns the account that the path names.
func (s *iamService) account(c *call) (*iam.ServiceAccount, error) {
	var found *iam.ServiceAccount
	err := s.withAccount(c, s.store.view, func(_ *bbolt.Tx, account *iam.ServiceAccount) error {
		found = account
		return nil
	})
	return found, err
}

func (s *iamService) listServiceAccounts(c *call) (any, error) {
	var all []*iam.ServiceAccount
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		all, err = list[iam.ServiceAccount](tx, serviceAccounts, c.project.ID+"/")
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := &iam.ListServiceAccountsResponse{}
	answer.Accounts, answer.NextPageToken, err = page(c, all, func(a *iam.ServiceAccount) string { return a.Email }, 20, 100)
	return answer, err
}

func (s *iamService) patchServiceAccount(c *call) (any, error) {
	var request iam.PatchServiceAccountRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if request.ServiceAccount == nil {
		return nil, invalidArgument("The service account to patch is required.")
	}
	return s.changeAccount(c, request.ServiceAccount, request.UpdateMask)
}

// updateServiceAccount answers the older PUT call, which changes only the display name.
func (s *iamService) updateServiceAccount(c *call) (any, error) {
	var wanted iam.ServiceAccount
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	return s.changeAccount(c, &wanted, "displayName")
}

// changeAccount sets the fields of an account that the mask names.
func (s *iamService) changeAccount(c *call, wanted *iam.ServiceAccount, mask string) (any, error) {
	var changed *iam.ServiceAccount
	err := s.withAccount(c, s.store.update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		for field := range strings.SplitSeq(mask, ",") {
			switch strings.TrimSpace(field) {
			case "displayName", "display_name":
				account.DisplayName = wanted.DisplayName
			case "description":
				account.Description = wanted.Description
			case "etag":
			default:
				return invalidArgument("Invalid value at 'update_mask': %q is not display_name or description.", field)
			}
		}
		changed = account
		return s.putAccount(tx, account)
	})
	return changed, err
}

// setAccountDisabled answers the enable and disable calls. Disabling an account ends its access tokens at once.
func (s *iamService) setAccountDisabled(disabled bool) func(*call) (any, error) {
	return func(c *call) (any, error) {
		return struct{}{}, s.withAccount(c, s.store.update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
			account.Disabled = disabled
			return s.putAccount(tx, account)
		})
	}
}

func (s *iamService) getAccountPolicy(c *call) (any, error) {
	account, err := s.account(c)
	if err != nil {
		return nil, err
	}
	return s.getPolicy(c, accountPolicy(account.Email))
}

func (s *iamService) setAccountPolicy(c *call) (any, error) {
	account, err := s.account(c)
	if err != nil {
		return nil, err
	}
	return s.setPolicy(c, accountPolicy(account.Email), nil)
}

func (s *iamService) testAccountPermissions(c *call) (any, error) {
	return s.testPermissions(c, onAccount(c))
}
