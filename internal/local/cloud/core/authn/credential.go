package authn

import (
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

const credentials store.Table = "credentials" // <client id>

// LoginLifetime is the time for which a user's login gets access tokens.
const LoginLifetime = time.Hour

// userCredential is an OAuth client with one user's refresh token. The record holds hashes of the secrets.
type userCredential struct {
	Member      string `json:"member"`
	Email       string `json:"email"`
	SecretHash  string `json:"secretHash"`
	RefreshHash string `json:"refreshHash"`
	// Expires is the end of the login. A record of an earlier version has none, and is not valid.
	Expires time.Time `json:"expires"`
}

// NewLogin returns a credentials file, of type authorized_user, of the user with an e-mail address. It is valid for
// [LoginLifetime], like a login of gcloud under session control; earlier logins stay valid until they expire. The client's calls
// use the quota of the project.
//
// Source: https://cloud.google.com/docs/authentication/reauthentication
func (a *Authenticator) NewLogin(tx *bbolt.Tx, email, project string) ([]byte, error) {
	now := a.now()
	if err := store.RemoveIf(tx, credentials, "", func(old *userCredential) bool { return old.expired(now) }); err != nil {
		return nil, err
	}
	id, secret, refresh := api.RandomDigits(12)+"-emulated.apps.googleusercontent.com", api.RandomText(18), "1//emulated-"+api.RandomText(48)
	record := &userCredential{
		Member: "user:" + email, Email: email, SecretHash: api.Hash(secret), RefreshHash: api.Hash(refresh), Expires: now.Add(LoginLifetime),
	}
	if err := store.Put(tx, credentials, id, record); err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]string{
		"type":             "authorized_user",
		"client_id":        id,
		"client_secret":    secret,
		"refresh_token":    refresh,
		"quota_project_id": project,
		"token_uri":        a.TokenURI(),
		"universe_domain":  "googleapis.com",
	}, "", "  ")
}

// expired reports whether the login has ended.
func (c *userCredential) expired(now time.Time) bool { return !now.Before(c.Expires) }
