package iam

import (
	"time"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// accountUndeletable is the time after its deletion for which a service account can be undeleted.
const accountUndeletable = 30 * 24 * time.Hour

// deletedAccount is a service account that can still be undeleted, with its IAM policy. The deletion of an account also
// deletes its keys for good.
type deletedAccount struct {
	Account *iam.ServiceAccount `json:"account"`
	Policy  *crm.Policy         `json:"policy"`
	Deleted time.Time           `json:"deleted"`
}

// deletedMember returns the name of a service account in policies after its deletion. The name contains the unique ID,
// so that a new account with the same e-mail address does not inherit the roles of the old account.
func deletedMember(account *iam.ServiceAccount) string {
	return "deleted:serviceAccount:" + account.Email + "?uid=" + account.UniqueId
}

// deletedAccountProject returns the project of the deleted account with a unique ID. It returns "" if the store has no
// such account.
func deletedAccountProject(tx *bbolt.Tx, id string) (string, error) {
	record, err := store.Get[deletedAccount](tx, deletedAccounts, id)
	if err != nil || record == nil {
		return "", err
	}
	return record.Account.ProjectId, nil
}

// deleteServiceAccount moves the account to the deleted accounts, renames it in all policies, and deletes its keys.
func (s *service) deleteServiceAccount(c *api.Call) (any, error) {
	return struct{}{}, s.withAccount(c, s.Store.Update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		key := authn.AccountPolicy(account.Email)
		policy, err := authz.ReadPolicy(tx, key)
		if err != nil {
			return err
		}
		record := &deletedAccount{Account: account, Policy: policy, Deleted: s.Now().UTC()}
		if err := store.Put(tx, deletedAccounts, account.UniqueId, record); err != nil {
			return err
		}
		path := authn.AccountPath(account.ProjectId, account.Email)
		if err := store.Remove(tx, authn.ServiceAccounts, path); err != nil {
			return err
		}
		if err := store.RemoveAll(tx, authn.AccountKeys, path+"/"); err != nil {
			return err
		}
		if err := store.Remove(tx, authz.Policies, key); err != nil {
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
func (s *service) undeleteServiceAccount(c *api.Call) (any, error) {
	var request iam.UndeleteServiceAccountRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	answer := &iam.UndeleteServiceAccountResponse{}
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		record, err := store.Get[deletedAccount](tx, deletedAccounts, c.Vars["account"])
		if err != nil {
			return err
		}
		if record == nil || s.Now().Sub(record.Deleted) > accountUndeletable || c.ProjectID() != record.Account.ProjectId {
			return api.NotFound("Unknown service account")
		}
		account := record.Account
		existing, err := authn.FindAccount(tx, account.ProjectId, account.Email)
		if err != nil {
			return err
		}
		if existing != nil {
			return api.FailedPrecondition("Service account %s cannot be undeleted: another one has its address by now.", account.Email)
		}
		answer.RestoredAccount = account
		if err := s.putAccount(tx, account); err != nil {
			return err
		}
		if err := authz.WritePolicy(tx, authn.AccountPolicy(account.Email), record.Policy); err != nil {
			return err
		}
		if err := s.renameMember(tx, deletedMember(account), "serviceAccount:"+account.Email); err != nil {
			return err
		}
		return store.Remove(tx, deletedAccounts, account.UniqueId)
	})
	return answer, err
}

// renameMember replaces the member from by the member to in every policy.
func (s *service) renameMember(tx *bbolt.Tx, from, to string) error {
	changed := map[string]*crm.Policy{}
	err := store.Each(tx, authz.Policies, "", func(key string, policy *crm.Policy) error {
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
		if err := authz.WritePolicy(tx, key, policy); err != nil {
			return err
		}
	}
	return nil
}

// forgetAccounts removes the records of accounts that can no longer be undeleted.
func (s *service) forgetAccounts(tx *bbolt.Tx) error {
	return store.RemoveIf(tx, deletedAccounts, "", func(record *deletedAccount) bool {
		return s.Now().Sub(record.Deleted) > accountUndeletable
	})
}
