package authn

import (
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// loginScope is the OAuth scope of the tokens with which connectors log in to a database.
const loginScope = "https://www.googleapis.com/auth/sqlservice.login"

// LoginToken returns the principal and the end of an access token in the body of a call. It returns an error for a token
// that is invalid, or has none of the scopes for logging in to a database.
func (a *Authenticator) LoginToken(token string) (who api.Principal, expires time.Time, err error) {
	err = a.store.View(func(tx *bbolt.Tx) error {
		record, err := a.usableToken(tx, token)
		if err != nil {
			return err
		}
		if record == nil {
			return api.LegacyInvalid("Invalid request: the access token is invalid or has expired.")
		}
		scopes := strings.Fields(record.Scopes)
		if !slices.Contains(scopes, loginScope) && !slices.Contains(scopes, cloudPlatform) {
			return api.LegacyInvalid("Invalid request: the access token does not have the scope %s.", loginScope)
		}
		who, expires = api.Principal{Member: record.Member, Email: record.Email}, record.Expires
		return nil
	})
	return who, expires, err
}
