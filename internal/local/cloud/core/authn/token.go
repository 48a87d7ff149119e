package authn

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// TokenPath is the path of the OAuth token endpoint.
const TokenPath = "/token"

// OAuthError is an error of a token endpoint, in the form of RFC 6749.
type OAuthError struct {
	// Code is the HTTP status.
	Code        int    `json:"-"`
	Reason      string `json:"error"`
	Description string `json:"error_description"`
}

// Error implements error.
func (e *OAuthError) Error() string { return e.Reason + ": " + e.Description }

// WriteOAuthError writes err as the response of a token endpoint.
func WriteOAuthError(w http.ResponseWriter, err error) {
	var refusal *OAuthError
	var fault errAssertion
	switch {
	case errors.As(err, &refusal):
		api.WriteJSON(w, refusal.Code, refusal)
	case errors.As(err, &fault):
		api.WriteJSON(w, http.StatusBadRequest, &OAuthError{Reason: "invalid_grant", Description: fault.Error()})
	default:
		api.WriteJSON(w, http.StatusInternalServerError, &OAuthError{Reason: "internal_failure", Description: err.Error()})
	}
}

// ServeToken is the OAuth token endpoint. It exchanges a refresh token or a service account's assertion for an access
// token.
func (a *Authenticator) ServeToken(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		api.WriteJSON(w, http.StatusMethodNotAllowed, &OAuthError{Reason: "invalid_request", Description: "Use POST."})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		api.WriteJSON(w, http.StatusBadRequest, &OAuthError{Reason: "invalid_request", Description: "The form could not be read."})
		return
	}
	var token string
	err := a.store.Update(func(tx *bbolt.Tx) error {
		record, err := a.grant(tx, r)
		if err != nil {
			return err
		}
		token, err = a.issueToken(tx, record, tokenLifetime)
		return err
	})
	if err != nil {
		WriteOAuthError(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	api.WriteJSON(w, http.StatusOK, map[string]any{
		"access_token": token,
		"expires_in":   int(tokenLifetime.Seconds()) - 1,
		"token_type":   "Bearer",
	})
}

// grant returns the record of the access token that the token endpoint issues for a request.
func (a *Authenticator) grant(tx *bbolt.Tx, r *http.Request) (accessToken, error) {
	switch r.PostForm.Get("grant_type") {
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		signed, err := a.verifyAssertion(tx, r.PostForm.Get("assertion"))
		if err != nil {
			return accessToken{}, err
		}
		if signed.audience != a.TokenURI() && !slices.Contains(podTokenURIs, signed.audience) {
			return accessToken{}, errAssertion("Invalid JWT: Failed audience check. The right audience is " + a.TokenURI())
		}
		if signed.subject != "" {
			return accessToken{}, &OAuthError{
				Code: http.StatusUnauthorized, Reason: "unauthorized_client",
				Description: "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.",
			}
		}
		if signed.scopes == "" {
			return accessToken{}, &OAuthError{Code: http.StatusBadRequest, Reason: "invalid_scope", Description: "Empty or missing scope not allowed."}
		}
		return accessToken{Member: "serviceAccount:" + signed.email, Email: signed.email, Key: signed.key, Scopes: signed.scopes}, nil
	case "refresh_token":
		return a.grantRefresh(tx, r)
	}
	return accessToken{}, &OAuthError{
		Code: http.StatusBadRequest, Reason: "unsupported_grant_type", Description: "Invalid grant_type: " + r.PostForm.Get("grant_type"),
	}
}

func (a *Authenticator) grantRefresh(tx *bbolt.Tx, r *http.Request) (accessToken, error) {
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		id, secret = user, password
	}
	known, err := store.Get[userCredential](tx, credentials, id)
	if err != nil {
		return accessToken{}, err
	}
	if known == nil {
		return accessToken{}, &OAuthError{Code: http.StatusUnauthorized, Reason: "invalid_client", Description: "The OAuth client was not found."}
	}
	if !equal(api.Hash(secret), known.SecretHash) {
		return accessToken{}, &OAuthError{Code: http.StatusUnauthorized, Reason: "invalid_client", Description: "Unauthorized"}
	}
	if !equal(api.Hash(r.PostForm.Get("refresh_token")), known.RefreshHash) || known.expired(a.now()) {
		return accessToken{}, &OAuthError{Code: http.StatusBadRequest, Reason: "invalid_grant", Description: "Token has been expired or revoked."}
	}
	scopes := r.PostForm.Get("scope")
	api.SetDefault(&scopes, cloudPlatform)
	return accessToken{Member: known.Member, Email: known.Email, Scopes: scopes}, nil
}

// equal compares secrets in constant time, so that the duration does not reveal how much of them agrees.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// podTokenURIs are the URLs of the token endpoint for pods, which reach the emulator under Google's names.
var podTokenURIs = []string{"http://oauth2.googleapis.com" + TokenPath, "https://oauth2.googleapis.com" + TokenPath}

// TokenURI returns the URL of the token endpoint.
func (a *Authenticator) TokenURI() string { return a.baseURL + TokenPath }
