package gcloud

import (
	"time"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
)

// accountUndeletable is how long a deleted service account can be brought back.
const accountUndeletable = 30 * 24 * time.Hour

// deletedAccount is a service account that can be brought back, with its own policy. Its keys are gone.
type deletedAccount struct {
	Account *iam.ServiceAccount `json:"account"`
	Policy  *crm.Policy         `json:"policy"`
	Deleted time.Time           `json:"deleted"`
}

// deletedMember is what policies call a member by whose account has been deleted, so that an account made later under
// the same address does not inherit its roles.
func deletedMember(account *iam.ServiceAccount) string {
	return "deleted:serviceAccount:" + account.Email + "?uid=" + account.UniqueId
}

// deletedAccountProject returns the project of a deleted account, which is known by its unique id.
func deletedAccountProject(tx *bbolt.Tx, id string) (string, error) {
	record, err := get[deletedAccount](tx, deletedAccounts, id)
	if err != nil || record == nil {
		return "", err
	}
	return record.Account.ProjectId, nil
}

func (s *Server) deleteServiceAccount(c *call) (any, error) {
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

// undeleteServiceAccount brings back an account with the roles that it has and that others have on it.
func (s *Server) undeleteServiceAccount(c *call) (any, error) {
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
		if err := s.writePolicy(tx, accountPolicy(account.Email), record.Policy); err != nil {
			return err
		}
		if err := s.renameMember(tx, deletedMember(account), "serviceAccount:"+account.Email); err != nil {
			return err
		}
		return remove(tx, deletedAccounts, account.UniqueId)
	})
	return answer, err
}

// renameMember gives a member another name in every policy.
func (s *Server) renameMember(tx *bbolt.Tx, from, to string) error {
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
		if err := s.writePolicy(tx, key, policy); err != nil {
			return err
		}
	}
	return nil
}

// forgetAccounts forgets the accounts that cannot be brought back any more.
func (s *Server) forgetAccounts(tx *bbolt.Tx) error {
	return removeIf(tx, deletedAccounts, "", func(record *deletedAccount) bool {
		return s.now().Sub(record.Deleted) > accountUndeletable
	})
}
