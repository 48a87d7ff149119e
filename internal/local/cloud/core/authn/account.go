package authn

import (
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// The tables of service accounts and their keys, which package iam changes.
const (
	ServiceAccounts store.Table = "serviceAccounts" // <project>/<email>
	AccountKeys     store.Table = "accountKeys"     // <project>/<email>/<key id>
)

// Tables returns the tables of the package.
func Tables() []store.Table {
	return []store.Table{credentials, Tokens, ServiceAccounts, AccountKeys, signers}
}

// AccountDomain ends the e-mail addresses of the service accounts that users create in a project.
const AccountDomain = ".iam.gserviceaccount.com"

// AccountPath returns the key of a service account in the store.
func AccountPath(project, email string) string { return project + "/" + email }

// AccountPolicy returns the store's key of a service account's own IAM policy.
func AccountPolicy(email string) string { return "serviceAccounts/" + email }

// AccountProject returns the project in a service account's e-mail address.
func AccountProject(email string) (string, bool) {
	_, host, ok := strings.Cut(email, "@")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(host, AccountDomain)
}

// FindAccount returns the service account with an e-mail address or a unique ID, or nil if there is none. The project
// "-" stands for the project in the address.
func FindAccount(tx *bbolt.Tx, projectID, account string) (*iam.ServiceAccount, error) {
	if home, ok := AccountProject(account); ok {
		if projectID != "-" && projectID != home {
			return nil, nil
		}
		return store.Get[iam.ServiceAccount](tx, ServiceAccounts, AccountPath(home, account))
	}
	prefix := projectID + "/"
	if projectID == "-" {
		prefix = ""
	}
	all, err := store.List[iam.ServiceAccount](tx, ServiceAccounts, prefix)
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

// AccountKey is a key of a service account. The emulator returns the private key once, in the response to the key's
// creation, and does not store it.
type AccountKey struct {
	Key         *iam.ServiceAccountKey `json:"key"`
	Public      []byte                 `json:"public"`      // PKIX
	Certificate []byte                 `json:"certificate"` // PEM
}

func accountKeyPath(email, id string) string {
	home, _ := AccountProject(email)
	return AccountPath(home, email) + "/" + id
}

// keyAccount returns the e-mail address of the account from the store's path of one of its keys.
func keyAccount(path string) string {
	parts := strings.Split(path, "/")
	return parts[len(parts)-2]
}
