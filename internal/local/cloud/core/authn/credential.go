package authn

import (
	"encoding/json"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

const credentials store.Table = "credentials" // <client id>

// userCredential is an OAuth client with one user's refresh token. Only its owner can read the store.
type userCredential struct {
	Member       string `json:"member"`
	Email        string `json:"email"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	RefreshToken string `json:"refreshToken"`
}

// UserCredentials returns the credentials file, of type authorized_user, of the user with an e-mail address. It creates
// the credential if the user has none. The client's calls use the quota of the project.
func (a *Authenticator) UserCredentials(tx *bbolt.Tx, email, project string) ([]byte, error) {
	member := "user:" + email
	credential, err := findCredential(tx, member)
	if err != nil {
		return nil, err
	}
	if credential == nil {
		credential = &userCredential{
			Member:       member,
			Email:        email,
			ClientID:     api.RandomDigits(12) + "-emulated.apps.googleusercontent.com",
			ClientSecret: api.RandomText(18),
			RefreshToken: "1//emulated-" + api.RandomText(48),
		}
		if err := store.Put(tx, credentials, credential.ClientID, credential); err != nil {
			return nil, err
		}
	}
	return json.MarshalIndent(map[string]string{
		"type":             "authorized_user",
		"client_id":        credential.ClientID,
		"client_secret":    credential.ClientSecret,
		"refresh_token":    credential.RefreshToken,
		"quota_project_id": project,
		"token_uri":        a.TokenURI(),
		"universe_domain":  "googleapis.com",
	}, "", "  ")
}

// findCredential returns the credential of a member, or nil if there is none.
func findCredential(tx *bbolt.Tx, member string) (*userCredential, error) {
	all, err := store.List[userCredential](tx, credentials, "")
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c *userCredential) bool { return c.Member == member })
	if at < 0 {
		return nil, nil
	}
	return all[at], nil
}
