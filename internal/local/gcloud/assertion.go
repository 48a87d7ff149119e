package gcloud

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
)

// clockSkew is how far a signer's clock may be ahead.
const clockSkew = 5 * time.Minute

// assertion is a JSON Web Token that a service account key has signed.
type assertion struct {
	email    string
	key      string // of the service account key in the store
	audience string
	scopes   string
	subject  string // whom the account stands in for; empty for itself
}

// forService tells whether the assertion may stand in for an access token of a service, as Google's libraries use it:
// it names the service as its audience, or carries scopes.
func (a *assertion) forService(svc *service, baseURL string) bool {
	return a.scopes != "" || a.audience == "https://"+svc.name+"/" || strings.HasPrefix(a.audience, baseURL+"/"+svc.prefix)
}

// errAssertion is why an assertion is not accepted, in the words of the token endpoint.
type errAssertion string

func (e errAssertion) Error() string { return string(e) }

// verifyAssertion checks an assertion's signature and times, and that its key and account may be used.
func (s *Server) verifyAssertion(tx *bbolt.Tx, token string) (*assertion, error) {
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
	record, err := s.usableKey(tx, key)
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
	now := s.now()
	if !now.Before(expires) || issued.After(now.Add(clockSkew)) || expires.Sub(issued) > tokenLifetime+clockSkew {
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

// usableKey returns a service account key that exists and whose account exists and is enabled.
func (s *Server) usableKey(tx *bbolt.Tx, key string) (*accountKey, error) {
	record, err := get[accountKey](tx, accountKeys, key)
	if err != nil {
		return nil, err
	}
	account, err := findAccount(tx, "-", keyAccount(key))
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
