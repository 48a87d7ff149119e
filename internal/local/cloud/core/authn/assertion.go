package authn

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// ClockSkew is the time by which the clock of a token's signer may be ahead of the emulator's clock.
const ClockSkew = 5 * time.Minute

// assertion is a JSON Web Token signed with a service account key.
type assertion struct {
	email    string
	key      string // of the service account key in the store
	audience string
	scopes   string
	subject  string // the user that the account impersonates; empty for the account itself
}

// forService reports whether a service accepts the assertion in place of an access token. Google's libraries send such
// assertions: they name the service as their audience, or carry scopes.
func (j *assertion) forService(svc *api.Service, baseURL string) bool {
	return j.scopes != "" || j.audience == "https://"+svc.Name+"/" || strings.HasPrefix(j.audience, baseURL+"/"+svc.Prefix)
}

// errAssertion is the reason why the emulator rejects an assertion, as in the response of the token endpoint.
type errAssertion string

func (e errAssertion) Error() string { return string(e) }

// verifyAssertion checks the signature and the times of an assertion, and that its key and its account are enabled.
func (a *Authenticator) verifyAssertion(tx *bbolt.Tx, token string) (*assertion, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errAssertion("Invalid JWT: must have three parts.")
	}
	var header struct{ Alg, Kid string }
	var claims struct {
		Iss, Sub, Aud, Scope string
		Iat, Exp             float64
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err = errors.Join(err, decodePart(parts[0], &header), decodePart(parts[1], &claims)); err != nil {
		return nil, errAssertion("Invalid JWT: " + strings.ReplaceAll(err.Error(), "\n", "; ") + ".")
	}
	if header.Alg != "RS256" {
		return nil, errAssertion("Invalid JWT: Unsupported algorithm, only RS256 is accepted.")
	}
	key := accountKeyPath(claims.Iss, header.Kid)
	record, err := a.usableKey(tx, key)
	if err != nil {
		return nil, err
	}
	public, err := x509.ParsePKIXPublicKey(record.Public)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	rsaKey, ok := public.(*rsa.PublicKey)
	if !ok || rsa.VerifyPKCS1v15(rsaKey, crypto.SHA256, digest[:], signature) != nil {
		return nil, errAssertion("Invalid JWT Signature.")
	}
	issued, expires := time.Unix(int64(claims.Iat), 0), time.Unix(int64(claims.Exp), 0)
	now := a.now()
	if !now.Before(expires) || issued.After(now.Add(ClockSkew)) || expires.Sub(issued) > tokenLifetime+ClockSkew {
		return nil, errAssertion("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. " +
			"Check your iat and exp values in the JWT claim.")
	}
	if claims.Sub == claims.Iss {
		claims.Sub = ""
	}
	return &assertion{email: claims.Iss, key: key, audience: claims.Aud, scopes: claims.Scope, subject: claims.Sub}, nil
}

func decodePart(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// usableKey returns a service account key if the key exists and its account exists and is enabled.
func (a *Authenticator) usableKey(tx *bbolt.Tx, key string) (*AccountKey, error) {
	record, err := store.Get[AccountKey](tx, AccountKeys, key)
	if err != nil {
		return nil, err
	}
	account, err := FindAccount(tx, "-", keyAccount(key))
	if err != nil {
		return nil, err
	}
	switch {
	case account == nil:
		return nil, errAssertion("Invalid grant: account not found")
	case record == nil || record.Key.Disabled:
		return nil, errAssertion("Invalid JWT Signature.")
	case account.Disabled:
		return nil, errAssertion("Invalid grant: account disabled")
	}
	return record, nil
}
