package iam

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

const (
	// maxKeys is the number of keys that a service account may have, as on Google Cloud.
	maxKeys = 10

	credentialsFile = "TYPE_GOOGLE_CREDENTIALS_FILE"
	certificateFile = "TYPE_X509_PEM_FILE"
	rawPublicKey    = "TYPE_RAW_PUBLIC_KEY"
)

// createKey creates a key. Only the response contains the private part: the store keeps the public part and the certificate.
func (s *service) createKey(c *api.Call) (any, error) {
	var request iam.CreateServiceAccountKeyRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	if kind := request.PrivateKeyType; kind != "" && kind != "TYPE_UNSPECIFIED" && kind != credentialsFile {
		return nil, api.InvalidArgument("The private key type %s is not emulated: use %s.", kind, credentialsFile)
	}
	if algorithm := request.KeyAlgorithm; algorithm != "" && algorithm != "KEY_ALG_UNSPECIFIED" && algorithm != "KEY_ALG_RSA_2048" {
		return nil, api.InvalidArgument("The key algorithm %s is not emulated: use KEY_ALG_RSA_2048.", algorithm)
	}
	// Before the transaction: a key takes up to a second, and a transaction that writes excludes all others.
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key for service account %s: %w", c.Vars["account"], err)
	}
	answer := &iam.ServiceAccountKey{}
	err = s.withAccount(c, s.Store.Update, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		path := authn.AccountPath(account.ProjectId, account.Email)
		existing, err := store.List[authn.AccountKey](tx, authn.AccountKeys, path+"/")
		if err != nil {
			return err
		}
		if len(existing) >= maxKeys {
			return api.NewError(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", "Maximum number of keys on account reached.")
		}
		record, err := s.newKey(account, private)
		if err != nil {
			return err
		}
		id := record.Key.Name[strings.LastIndex(record.Key.Name, "/")+1:]
		if err := store.Put(tx, authn.AccountKeys, path+"/"+id, record); err != nil {
			return err
		}
		*answer = *record.Key
		answer.PrivateKeyType = credentialsFile
		answer.PrivateKeyData, err = s.keyFile(account, id, private)
		return err
	})
	return answer, err
}

// newKey returns the record of a key, with a certificate that the key itself signs, in the form of Google's certificates.
func (s *service) newKey(account *iam.ServiceAccount, private *rsa.PrivateKey) (*authn.AccountKey, error) {
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		return nil, err
	}
	from := s.Now().UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetInt64(from.UnixNano()),
		Subject:      pkix.Name{CommonName: account.UniqueId},
		NotBefore:    from,
		// As on Google Cloud, a key does not expire.
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, err
	}
	id := sha1.Sum(certificate) // SHA-1 gives the ID the length of Google's IDs; it protects nothing
	return &authn.AccountKey{
		Key: &iam.ServiceAccountKey{
			Name:            account.Name + "/keys/" + hex.EncodeToString(id[:]),
			KeyAlgorithm:    "KEY_ALG_RSA_2048",
			KeyOrigin:       "GOOGLE_PROVIDED",
			KeyType:         "USER_MANAGED",
			ValidAfterTime:  template.NotBefore.Format(time.RFC3339),
			ValidBeforeTime: template.NotAfter.Format(time.RFC3339),
		},
		Public:      public,
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
	}, nil
}

// keyFile returns the credentials file of a key, encoded as in the API's response.
func (s *service) keyFile(account *iam.ServiceAccount, id string, private *rsa.PrivateKey) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", err
	}
	file, err := json.MarshalIndent(map[string]string{
		"type":                        "service_account",
		"project_id":                  account.ProjectId,
		"private_key_id":              id,
		"private_key":                 string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email":                account.Email,
		"client_id":                   account.UniqueId,
		"auth_uri":                    s.BaseURL + "/auth",
		"token_uri":                   s.TokenURI(),
		"auth_provider_x509_cert_url": s.BaseURL + "/oauth2/v1/certs",
		"client_x509_cert_url":        s.BaseURL + "/robot/v1/metadata/x509/" + url.QueryEscape(account.Email),
		"universe_domain":             "googleapis.com",
	}, "", "  ")
	return base64.StdEncoding.EncodeToString(append(file, '\n')), err
}

// withKey runs fn in a transaction with the key that the path names.
func (s *service) withKey(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, string, *authn.AccountKey) error) error {
	return s.withAccount(c, run, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		path := authn.AccountPath(account.ProjectId, account.Email) + "/" + c.Vars["key"]
		record, err := store.Get[authn.AccountKey](tx, authn.AccountKeys, path)
		if err != nil {
			return err
		}
		if record == nil {
			return api.NotFound("Service account key does not exist.")
		}
		return fn(tx, path, record)
	})
}

func (s *service) getKey(c *api.Call) (any, error) {
	var answer *iam.ServiceAccountKey
	err := s.withKey(c, s.Store.View, func(_ *bbolt.Tx, _ string, record *authn.AccountKey) error {
		answer = record.Key
		switch kind := c.Request.URL.Query().Get("publicKeyType"); kind {
		case "", "TYPE_NONE":
		case certificateFile:
			answer.PublicKeyData = base64.StdEncoding.EncodeToString(record.Certificate)
		case rawPublicKey:
			answer.PublicKeyData = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: record.Public}))
		default:
			return api.InvalidArgument("Invalid value at 'public_key_type': %q.", kind)
		}
		return nil
	})
	return answer, err
}

func (s *service) listKeys(c *api.Call) (any, error) {
	answer := &iam.ListServiceAccountKeysResponse{}
	kinds := c.Request.URL.Query()["keyTypes"]
	err := s.withAccount(c, s.Store.View, func(tx *bbolt.Tx, account *iam.ServiceAccount) error {
		records, err := store.List[authn.AccountKey](tx, authn.AccountKeys, authn.AccountPath(account.ProjectId, account.Email)+"/")
		if err != nil {
			return err
		}
		for _, record := range records {
			if len(kinds) == 0 || api.OneOf(strings.Join(kinds, "|"), record.Key.KeyType) {
				answer.Keys = append(answer.Keys, record.Key)
			}
		}
		return nil
	})
	return answer, err
}

// setKeyDisabled handles the enable and disable calls. Disabling a key invalidates its access tokens at once.
func (s *service) setKeyDisabled(disabled bool) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		return struct{}{}, s.withKey(c, s.Store.Update, func(tx *bbolt.Tx, path string, record *authn.AccountKey) error {
			record.Key.Disabled, record.Key.DisableReason = disabled, ""
			if disabled {
				record.Key.DisableReason = "SERVICE_ACCOUNT_KEY_DISABLE_REASON_USER_INITIATED"
			}
			return store.Put(tx, authn.AccountKeys, path, record)
		})
	}
}

// deleteKey deletes a key, which invalidates its access tokens at once.
func (s *service) deleteKey(c *api.Call) (any, error) {
	return struct{}{}, s.withKey(c, s.Store.Update, func(tx *bbolt.Tx, path string, _ *authn.AccountKey) error {
		return store.Remove(tx, authn.AccountKeys, path)
	})
}
