package cloud

import (
	"strings"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"
)

const (
	serviceAccounts table = "serviceAccounts" // <project>/<email>
	accountKeys     table = "accountKeys"     // <project>/<email>/<key id>
)

// accountDomain ends the e-mail addresses of the service accounts that users create in a project.
const accountDomain = ".iam.gserviceaccount.com"

// accountPath returns the key of a service account in the store.
func accountPath(project, email string) string { return project + "/" + email }

// accountPolicy returns the store's key of a service account's own IAM policy.
func accountPolicy(email string) string { return "serviceAccounts/" + email }

// accountProject returns the project in a service account's e-mail address.
func accountProject(email string) (string, bool) {
	_, host, ok := strings.Cut(email, "@")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(host, accountDomain)
}

// findAccount returns the service account with an e-mail address or a unique ID, or nil if there is none. The project
// "-" stands for the project in the address.
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

// accountKey is a key of a service account. The emulator returns the private key once, in the response to the key's
// creation, and does not store it.
type accountKey struct {
	Key         *iam.ServiceAccountKey `json:"key"`
	Public      []byte                 `json:"public"`      // PKIX
	Certificate []byte                 `json:"certificate"` // PEM
}

func accountKeyPath(email, id string) string {
	home, _ := accountProject(email)
	return accountPath(home, email) + "/" + id
}

// keyAccount returns the e-mail address of the account from the store's path of one of its keys.
func keyAccount(path string) string {
	parts := strings.Split(path, "/")
	return parts[len(parts)-2]
}
