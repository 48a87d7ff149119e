package authn

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// CertsPath is the path of the public keys of ID tokens, which Google serves at www.googleapis.com.
const CertsPath = "/oauth2/v3/certs"

// signers holds the key that signs ID tokens. Only its owner can read the store.
const signers store.Table = "signers" // "id"

// signer is the key that signs ID tokens.
type signer struct {
	ID  string `json:"id"`
	Key []byte `json:"key"` // PKCS 8
}

// Identity is the subject of an ID token: a service account.
type Identity struct{ UniqueID, Email string }

// IssueIDToken creates an ID token of a service account for an audience. An ID token authenticates its subject to other
// servers. The emulator does not accept it in place of an access token.
func (a *Authenticator) IssueIDToken(tx *bbolt.Tx, of Identity, audience string) (string, error) {
	id, key, err := signingKey(tx)
	if err != nil {
		return "", err
	}
	now := a.now()
	header, err := json.Marshal(map[string]string{"alg": "RS256", "kid": id, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"aud": audience, "azp": of.UniqueID, "sub": of.UniqueID, "email": of.Email, "email_verified": true,
		"iss": "https://accounts.google.com", "iat": now.Unix(), "exp": now.Add(tokenLifetime).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign an ID token: %w", err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// signingKey returns the key that signs ID tokens. It makes the key at the first call that may write.
func signingKey(tx *bbolt.Tx) (id string, key *rsa.PrivateKey, err error) {
	kept, err := store.Get[signer](tx, signers, "id")
	if err != nil {
		return "", nil, err
	}
	if kept != nil {
		parsed, err := x509.ParsePKCS8PrivateKey(kept.Key)
		if err != nil {
			return "", nil, fmt.Errorf("read the key of ID tokens: %w", err)
		}
		key, ok := parsed.(*rsa.PrivateKey)
		if !ok {
			return "", nil, fmt.Errorf("read the key of ID tokens: it is of the type %T", parsed)
		}
		return kept.ID, key, nil
	}
	if !tx.Writable() {
		return "", nil, nil
	}
	if key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return "", nil, fmt.Errorf("make the key of ID tokens: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, fmt.Errorf("make the key of ID tokens: %w", err)
	}
	made := signer{ID: api.Hash(api.RandomText(32))[:40], Key: encoded}
	return made.ID, key, store.Put(tx, signers, "id", made)
}

// ServeCerts returns the public keys of ID tokens as a JSON Web Key Set (RFC 7517). It needs no login.
func (a *Authenticator) ServeCerts(w http.ResponseWriter, _ *http.Request) {
	keys := []map[string]string{}
	err := a.store.View(func(tx *bbolt.Tx) error {
		id, key, err := signingKey(tx)
		if key != nil {
			keys = append(keys, map[string]string{
				"kid": id, "kty": "RSA", "alg": "RS256", "use": "sig",
				"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
				"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
			})
		}
		return err
	})
	if err != nil {
		api.WriteError(w, err)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age="+fmt.Sprint(int(time.Minute.Seconds())))
	api.WriteJSON(w, http.StatusOK, map[string]any{"keys": keys})
}
