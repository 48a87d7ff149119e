package gcloud

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// tokenLifetime is how long an access token is good for.
const tokenLifetime = time.Hour

// principal is who makes a call: a member as IAM policies name it, for example "user:engineer@strata.local".
type principal struct {
	member string
	email  string
}

// accessToken is what the store knows of a token it issued; the token itself is not kept.
type accessToken struct {
	Member  string    `json:"member"`
	Email   string    `json:"email"`
	Expires time.Time `json:"expires"`
	// Key is the key of the service account key the token was issued for; the token ends with it.
	Key string `json:"key,omitempty"`
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// issueToken makes an access token and forgets those that have expired.
func (s *Server) issueToken(tx *bbolt.Tx, record accessToken) (string, error) {
	var expired []string
	err := each(tx, tokens, "", func(key string, old *accessToken) error {
		if !s.now().Before(old.Expires) {
			expired = append(expired, key)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, key := range expired {
		if err := remove(tx, tokens, key); err != nil {
			return "", err
		}
	}
	token := "ya29.emulated-" + randomText(32)
	record.Expires = s.now().Add(tokenLifetime)
	return token, put(tx, tokens, hashToken(token), record)
}

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// authenticate finds out who makes a request to svc.
func (s *Server) authenticate(r *http.Request, svc *service) (principal, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return principal{}, missingCredentials(svc)
	}
	var who principal
	err := s.store.view(func(tx *bbolt.Tx) error {
		if strings.Count(token, ".") == 2 {
			assertion, err := s.verifyAssertion(tx, token)
			if err != nil || !assertion.forService(svc, s.baseURL) {
				return invalidCredentials(svc)
			}
			who = principal{member: "serviceAccount:" + assertion.email, email: assertion.email}
			return nil
		}
		record, err := get[accessToken](tx, tokens, hashToken(token))
		if err != nil {
			return err
		}
		if record == nil || !s.now().Before(record.Expires) {
			return invalidCredentials(svc)
		}
		if record.Key != "" {
			if _, err := s.usableKey(tx, record.Key); err != nil {
				return invalidCredentials(svc)
			}
		}
		who = principal{member: record.Member, email: record.Email}
		return nil
	})
	return who, err
}

const authenticationHelp = "Expected OAuth 2 access token, login cookie or other valid authentication credential. " +
	"See https://developers.google.com/identity/sign-in/web/devconsole-project."

func missingCredentials(svc *service) *apiError {
	return unauthenticated(svc, "Request is missing required authentication credential. "+authenticationHelp,
		errorItem{Message: "Login Required.", Reason: "required"}, "CREDENTIALS_MISSING")
}

func invalidCredentials(svc *service) *apiError {
	return unauthenticated(svc, "Request had invalid authentication credentials. "+authenticationHelp,
		errorItem{Message: "Invalid Credentials", Reason: "authError"}, "ACCESS_TOKEN_EXPIRED")
}

func unauthenticated(svc *service, message string, item errorItem, reason string) *apiError {
	item.Domain, item.Location, item.LocationType = "global", "Authorization", "header"
	refusal := &apiError{Code: http.StatusUnauthorized, Message: message, Status: "UNAUTHENTICATED", Errors: []errorItem{item}}
	return refusal.withInfo(reason, "googleapis.com", map[string]string{"service": svc.name})
}
