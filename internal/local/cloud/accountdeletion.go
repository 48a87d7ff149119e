package cloud

import (
	"time"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
)

// accountUndeletable is how long after its deletion a service account can be undeleted.
const accountUndeletable = 30 * 24 * time.Hour

// deletedAccount is a service account that can still be undeleted, with its IAM policy. Deleting the account destroyed
// its keys.
type deletedAccount struct {
	Account *iam.ServiceAccount `json:"account"`
	Policy  *crm.Policy         `json:"policy"`
	Deleted time.Time           `json:"deleted"`
}

// deletedMember returns the name that policies give a service account after its deletion. With the unique ID in it, a
// new account with the same e-mail address does not inherit the old account's roles.
func deletedMember(account *iam.ServiceAccount) string {
	return "deleted:serviceAccount:" + account.Email + "?uid=" + account.UniqueId
}

// deletedAccountProject returns the project of the deleted account with a unique ID. It returns "" if the store has no
// such account.
func deletedAccountProject(tx *bbolt.Tx, id string) (string, error) {
	record, err := get[deletedAccount](tx, deletedAccounts, id)
	if err != nil || record == nil {
		return "", err
	}
	return record.Account.ProjectId, nil
}

func (s *iamService) deleteServiceAccount(c *call) (any, error) {
	return struct{}{}, s.withAccount(c, s.store.update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		key := accountPolicy(account.Email)
		policy, err := readPolicy(tx, key)
		if err != nil {
			return err
		}
		record := &deletedAccount{Account: account, Policy: policy, Deleted: s.now().UTC()}
		if err := put(tx, deletedAccounts, account.UniqueId, record); err != nil {
			return err
		}
		path := accountPath(account.ProjectId, account.Email)
		if err := remove(tx, serviceAccounts, path); err != nil {
			return err
		}
		if err := removeAll(tx, accountKeys, path+"/"); err != nil {
			return err
		}
		if err := remove(tx, policies, key); err != nil {
			return err
		}
		if err := s.renameMember(tx, "serviceAccount:"+account.Email, deletedMember(account)); err != nil {
			return err
		}
		return s.forgetAccounts(tx)
	})
}

// undeleteServiceAccount restores a deleted account, its own IAM policy, and its membership in the policies of other
// resources.
func (s *iamService) undeleteServiceAccount(c *call) (any, error) {
	var request iam.UndeleteServiceAccountRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	answer := &iam.UndeleteServiceAccountResponse{}
	err := s.store.update(func(tx *bbolt.Tx) error {
		record, err := get[deletedAccount](tx, deletedAccounts, c.vars["account"])
		if err != nil {
			return err
		}
		if record == nil || s.now().Sub(record.Deleted) > accountUndeletable || c.projectID() != record.Account.ProjectId {
			return notFound("Unknown service account")
		}
		account := record.Account
		existing, err := findAccount(tx, account.ProjectId, account.Email)
		if err != nil {
			return err
		}
		if existing != nil {
			return failedPrecondition("Service account %s cannot be undeleted: another one has its address by now.", account.Email)
		}
		answer.RestoredAccount = account
		if err := s.putAccount(tx, account); err != nil {
			return err
		}
		if err := writePolicy(tx, accountPolicy(account.Email), record.Policy); err != nil {
			return err
		}
		if err := s.renameMember(tx, deletedMember(account), "serviceAccount:"+account.Email); err != nil {
			return err
		}
		return remove(tx, deletedAccounts, account.UniqueId)
	})
	return answer, err
}

// renameMember replaces the member from by the member to in every policy.
func (s *iamService) renameMember(tx *bbolt.Tx, from, to string) error {
	changed := map[string]*crm.Policy{}
	err := each(tx, policies, "", func(key string, policy *crm.Policy) error {
		for _, binding := range policy.Bindings {
			for i := range binding.Members {
				if binding.Members[i] == from {
					binding.Members[i] = to
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
		if err := writePolicy(tx, key, policy); err != nil {
			return err
		}
	}
	return nil
}

// forgetAccounts removes the records of accounts that can no longer be undeleted.
func (s *iamService) forgetAccounts(tx *bbolt.Tx) error {
	return removeIf(tx, deletedAccounts, "", func(record *deletedAccount) bool {
		return s.now().Sub(record.Deleted) > accountUndeletable
	})
}
