package authn

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Tokens holds the access tokens that have not expired.
const Tokens store.Table = "tokens" // <hash of an access token>

// Authenticator issues access tokens, and finds the principal of a call from the token that the call carries.
type Authenticator struct {
	store   *store.Store
	baseURL string
	now     func() time.Time

	// pruned is the time of the last removal of expired tokens. Only transactions that write to the store may use it.
	pruned time.Time
}

// New returns an authenticator of the emulator at baseURL.
func New(st *store.Store, baseURL string, now func() time.Time) *Authenticator {
	return &Authenticator{store: st, baseURL: baseURL, now: now}
}

// MaxLifetime is the longest time for which an access token is valid.
const MaxLifetime = time.Hour

// tokenLifetime is the lifetime of a token whose request names none.
const tokenLifetime = MaxLifetime

// accessToken is the record of an access token that the emulator issued. The store keeps the hash of the token, not
// the token.
type accessToken struct {
	Member  string    `json:"member"`
	Email   string    `json:"email"`
	Expires time.Time `json:"expires"`
	// Scopes are the token's OAuth scopes, separated by spaces.
	Scopes string `json:"scopes"`
	// Key is the store's key of the service account key to which the token belongs. Deleting the service account key
	// invalidates the token.
	Key string `json:"key,omitempty"`
	// Account is the unique ID of the service account of a token without a key. Disabling or deleting the account
	// invalidates the token.
	Account string `json:"account,omitempty"`
}

// issueToken creates an access token with a lifetime. At most once a minute it also removes the expired ones.
func (a *Authenticator) issueToken(tx *bbolt.Tx, record accessToken, lifetime time.Duration) (string, error) {
	now := a.now()
	if now.Sub(a.pruned).Abs() > time.Minute {
		a.pruned = now
		if err := store.RemoveIf(tx, Tokens, "", func(old *accessToken) bool { return !now.Before(old.Expires) }); err != nil {
			return "", err
		}
	}
	token := "ya29.emulated-" + api.RandomText(32)
	record.Expires = now.Add(lifetime)
	return token, store.Put(tx, Tokens, api.Hash(token), record)
}

// Authenticate returns the principal of a request to svc.
func (a *Authenticator) Authenticate(r *http.Request, svc *api.Service) (api.Principal, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return api.Principal{}, missingCredentials(svc)
	}
	var who api.Principal
	err := a.store.View(func(tx *bbolt.Tx) error {
		if strings.Count(token, ".") == 2 {
			assertion, err := a.verifyAssertion(tx, token)
			if err != nil || assertion.subject != "" || !assertion.forService(svc, a.baseURL) {
				return invalidCredentials(svc)
			}
			who = api.Principal{Member: "serviceAccount:" + assertion.email, Email: assertion.email}
			if assertion.scopes == "" {
				return nil
			}
			return requireScope(svc, assertion.scopes, r.Method)
		}
		record, err := a.usableToken(tx, token)
		if err != nil {
			return err
		}
		if record == nil {
			return invalidCredentials(svc)
		}
		who = api.Principal{Member: record.Member, Email: record.Email}
		return requireScope(svc, record.Scopes, r.Method)
	})
	return who, err
}

// usableToken returns the record of an access token, or nil if the token is unknown, has expired, or belongs to a key or
// an account that is disabled or deleted.
func (a *Authenticator) usableToken(tx *bbolt.Tx, token string) (*accessToken, error) {
	record, err := store.Get[accessToken](tx, Tokens, api.Hash(token))
	if err != nil || record == nil || !a.now().Before(record.Expires) {
		return nil, err
	}
	if record.Key != "" {
		if _, err := a.usableKey(tx, record.Key); err != nil {
			return nil, nil
		}
	}
	if record.Account != "" {
		account, err := FindAccount(tx, "-", record.Email)
		if err != nil || account == nil || account.Disabled || account.UniqueId != record.Account {
			return nil, err
		}
	}
	return record, nil
}

// cloudPlatform is the OAuth scope for all of Google Cloud.
const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// requireScope returns an error unless the scopes of a token allow a call to the service. A read-only scope allows GET
// and HEAD.
func requireScope(svc *api.Service, scopes, method string) error {
	reads := method == http.MethodGet || method == http.MethodHead
	for scope := range strings.FieldsSeq(scopes) {
		if scope == cloudPlatform || slices.Contains(svc.Scopes, scope) || reads && slices.Contains(svc.ReadScopes, scope) {
			return nil
		}
	}
	refusal := api.NewError(http.StatusForbidden, "PERMISSION_DENIED", "insufficientPermissions", "Request had insufficient authentication scopes.")
	refusal.Errors[0].Message = "Insufficient Permission"
	return refusal.WithInfo("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "googleapis.com", map[string]string{"service": svc.Name})
}

const authenticationHelp = "Expected OAuth 2 access token, login cookie or other valid authentication credential. " +
	"See https://developers.google.com/identity/sign-in/web/devconsole-project."

func missingCredentials(svc *api.Service) *api.Error {
	return unauthenticated(svc, "Request is missing required authentication credential. "+authenticationHelp,
		api.ErrorItem{Message: "Login Required.", Reason: "required"}, "CREDENTIALS_MISSING")
}

func invalidCredentials(svc *api.Service) *api.Error {
	return unauthenticated(svc, "Request had invalid authentication credentials. "+authenticationHelp,
		api.ErrorItem{Message: "Invalid Credentials", Reason: "authError"}, "ACCESS_TOKEN_EXPIRED")
}

func unauthenticated(svc *api.Service, message string, item api.ErrorItem, reason string) *api.Error {
	item.Domain, item.Location, item.LocationType = "global", "Authorization", "header"
	refusal := &api.Error{Code: http.StatusUnauthorized, Message: message, Status: "UNAUTHENTICATED", Errors: []api.ErrorItem{item}}
	return refusal.WithInfo(reason, "googleapis.com", map[string]string{"service": svc.Name})
}
