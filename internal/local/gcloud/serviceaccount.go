package gcloud

import (
	"regexp"
	"strings"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
)

// accountDomain ends the e-mail addresses of service accounts that a project makes for itself.
const accountDomain = ".iam.gserviceaccount.com"

var accountIDs = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])$`)

func accountPath(project, email string) string { return project + "/" + email }

// accountPolicy is the key of a service account's own IAM policy.
func accountPolicy(email string) string { return "serviceAccounts/" + email }

// accountProject returns the project that a service account's address says it belongs to.
func accountProject(email string) (string, bool) {
	_, host, ok := strings.Cut(email, "@")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(host, accountDomain)
}

// findAccount returns the service account with an address or a unique id, nil where there is none. The project "-" stands
// for the one that the address names.
func findAccount(tx *bbolt.Tx, projectID, account string) (*iam.ServiceAccount, error) {
	if home, ok := accountProject(account); ok {
		if projectID != "-" && projectID != home {
			return nil, nil
		}
		return get[iam.ServiceAccount](tx, serviceAccounts, accountPath(home, account))
	}
	prefix := projectID + "/"
	if projectID == "-" {
		prefix = ""
	}
	all, err := list[iam.ServiceAccount](tx, serviceAccounts, prefix)
	if err != nil {
		return nil, err
	}
	for _, candidate := range all {
		if candidate.UniqueId == account {
			return candidate, nil
		}
	}
	return nil, nil
}

// onAccount is the resource of the routes whose permission is needed on a service account.
func (s *Server) onAccount(c *call) resource {
	on := resource{project: c.projectID(), name: "projects/" + c.vars["project"] + "/serviceAccounts/" + c.vars["account"]}
	_ = s.store.view(func(tx *bbolt.Tx) error {
		account, err := findAccount(tx, accountScope(c), c.vars["account"])
		if err == nil && account != nil {
			on.project, on.policy = account.ProjectId, accountPolicy(account.Email)
		}
		return err
	})
	return on
}

// accountScope is the project that a path names for a service account: an id, or "-" for any.
func accountScope(c *call) string {
	if c.vars["project"] == "-" {
		return "-"
	}
	return c.projectID()
}

func (s *Server) createServiceAccount(c *call) (any, error) {
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

// putAccount stores an account under a new etag.
func (s *Server) putAccount(tx *bbolt.Tx, account *iam.ServiceAccount) error {
	account.Etag = "MDEwMjE5MjA" + randomText(3) + "="
	return put(tx, serviceAccounts, accountPath(account.ProjectId, account.Email), account)
}

// withAccount runs fn in a transaction with the account that the path names.
func (s *Server) withAccount(c *call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *iam.ServiceAccount) error) error {
	return run(func(tx *bbolt.Tx) error {
		account, err := findAccount(tx, accountScope(c), c.vars["account"])
		if err != nil {
			return err
		}
		if account == nil {
			return notFound("Unknown service account")
		}
		return fn(tx, account)
	})
}

func (s *Server) getServiceAccount(c *call) (any, error) {
	var found *iam.ServiceAccount
	err := s.withAccount(c, s.store.view, func(_ *bbolt.Tx, account *iam.ServiceAccount) error {
		found = account
		return nil
	})
	return found, err
}

func (s *Server) listServiceAccounts(c *call) (any, error) {
	answer := &iam.ListServiceAccountsResponse{}
	err := s.store.view(func(tx *bbolt.Tx) (err error) {
		answer.Accounts, err = list[iam.ServiceAccount](tx, serviceAccounts, c.project.ID+"/")
		return err
	})
	return answer, err
}

func (s *Server) patchServiceAccount(c *call) (any, error) {
	var request iam.PatchServiceAccountRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if request.ServiceAccount == nil {
		return nil, invalidArgument("The service account to patch is required.")
	}
	var patched *iam.ServiceAccount
	err := s.withAccount(c, s.store.update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		for field := range strings.SplitSeq(request.UpdateMask, ",") {
			switch strings.TrimSpace(field) {
			case "displayName", "display_name":
				account.DisplayName = request.ServiceAccount.DisplayName
			case "description":
				account.Description = request.ServiceAccount.Description
			default:
				return invalidArgument("The update mask %q is not supported: use display_name and description.", request.UpdateMask)
			}
		}
		patched = account
		return s.putAccount(tx, account)
	})
	return patched, err
}

// setAccountDisabled answers the enable and disable calls. The tokens of a disabled account end at once.
func (s *Server) setAccountDisabled(disabled bool) func(*call) (any, error) {
	return func(c *call) (any, error) {
		return struct{}{}, s.withAccount(c, s.store.update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
			account.Disabled = disabled
			return s.putAccount(tx, account)
		})
	}
}

func (s *Server) deleteServiceAccount(c *call) (any, error) {
	return struct{}{}, s.withAccount(c, s.store.update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		path := accountPath(account.ProjectId, account.Email)
		if err := remove(tx, serviceAccounts, path); err != nil {
			return err
		}
		if err := removeAll(tx, accountKeys, path+"/"); err != nil {
			return err
		}
		if err := remove(tx, policies, accountPolicy(account.Email)); err != nil {
			return err
		}
		return s.retireMember(tx, account)
	})
}

// retireMember renames a deleted account in every policy, as Google does, so that an account made later under the same
// address does not inherit its roles.
func (s *Server) retireMember(tx *bbolt.Tx, account *iam.ServiceAccount) error {
	member := "serviceAccount:" + account.Email
	changed := map[string]*crm.Policy{}
	err := each(tx, policies, "", func(key string, policy *crm.Policy) error {
		for _, binding := range policy.Bindings {
			for i := range binding.Members {
				if binding.Members[i] == member {
					binding.Members[i] = "deleted:" + member + "?uid=" + account.UniqueId
					changed[key] = policy
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, policy := range changed {
		if err := s.writePolicy(tx, key, policy); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) getAccountPolicy(c *call) (any, error) {
	var policy *crm.Policy
	err := s.withAccount(c, s.store.view, func(tx *bbolt.Tx, account *iam.ServiceAccount) (err error) {
		policy, err = readPolicy(tx, accountPolicy(account.Email))
		return err
	})
	return policy, err
}

func (s *Server) setAccountPolicy(c *call) (any, error) {
	var key string
	err := s.withAccount(c, s.store.view, func(_ *bbolt.Tx, account *iam.ServiceAccount) error {
		key = accountPolicy(account.Email)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.setPolicy(c, key)
}

func (s *Server) testAccountPermissions(c *call) (any, error) {
	return s.testPermissions(c, s.onAccount(c))
}
