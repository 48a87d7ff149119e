// Package keyless describes how a Kubernetes account acts as a Google service account without a key, by workload identity
// federation. A token of the Kubernetes account, which the cluster's API server issues for an hour at most, becomes a token of
// the pool of the cluster at Google's Security Token Service, and that one a token of the service account at the IAM Service
// Account Credentials API. Google's clients do both from a configuration of the type external_account, which contains no
// secret.
//
// Source: https://cloud.google.com/kubernetes-engine/fleet-management/docs/use-workload-identity
package keyless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google/externalaccount"

	"github.com/strata-platform/strata/handoff/keys"
)

// Addresses of Google, which are the same for every platform. A process reaches an emulated Google Cloud under them, too: by
// the variables for a proxy.
const (
	tokenURL       = "https://sts.googleapis.com/v1/token"
	impersonateURL = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/%s:generateAccessToken"

	// providerURL begins the name of the identity provider of a cluster. The cluster's full name follows.
	providerURL = "https://container.googleapis.com/v1/"

	audiencePrefix = "identitynamespace:"

	// subjectType is the type of the tokens of Kubernetes accounts.
	subjectType = "urn:ietf:params:oauth:token-type:jwt"
)

// TokenSeconds is the lifetime of a Kubernetes account's token, in seconds.
const TokenSeconds = 3600

var (
	audiences = regexp.MustCompile(`^` + audiencePrefix + `([a-z0-9.:-]+\.svc\.id\.goog):` + regexp.QuoteMeta(providerURL) +
		`projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/clusters/[a-z0-9-]+$`)
	emails = regexp.MustCompile(`^[a-z0-9-]+@[a-z0-9.-]+\.iam\.gserviceaccount\.com$`)
)

// Audience returns the audience of the exchange for the accounts of a cluster. pool is the cluster's workload identity pool, such
// as acme-dev.svc.id.goog, and cluster its full name, such as projects/acme-dev/locations/europe-west1/clusters/strata.
func Audience(pool, cluster string) string {
	return audiencePrefix + pool + ":" + providerURL + cluster
}

// Identity is a Google service account that a Kubernetes account may act as.
type Identity struct {
	// Account is the e-mail address of the Google service account.
	Account string

	// Audience is the audience of the exchange, as [Audience] returns it.
	Audience string
}

// Check returns an error if the identity is not complete.
func (i Identity) Check() error {
	switch {
	case !audiences.MatchString(i.Audience):
		return fmt.Errorf("the audience %q of the exchange is not the provider of a cluster", i.Audience)
	case !emails.MatchString(i.Account):
		return fmt.Errorf("%q is not the e-mail address of a Google service account", i.Account)
	}
	return nil
}

// Pool returns the audience of the Kubernetes account's token. It is empty if the identity is not complete.
func (i Identity) Pool() string {
	parts := audiences.FindStringSubmatch(i.Audience)
	if parts == nil {
		return ""
	}
	return parts[1]
}

// Configuration returns the configuration for Google's clients, in JSON. file is the path at which they find the Kubernetes
// account's token; they read it again for each exchange. The configuration contains no secret.
func (i Identity) Configuration(file string) (string, error) {
	if err := i.Check(); err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]any{
		"type":                              "external_account",
		"audience":                          i.Audience,
		"subject_token_type":                subjectType,
		"token_url":                         tokenURL,
		"service_account_impersonation_url": fmt.Sprintf(impersonateURL, i.Account),
		"credential_source":                 map[string]string{"file": file},
	})
	return string(content), err
}

// Source returns a source of tokens of the Google account with OAuth scopes. subject returns a token of the Kubernetes account.
// The context's HTTP client, as package oauth2 defines it, does the exchanges.
func (i Identity) Source(ctx context.Context, subject func(context.Context) (string, error), scopes ...string) (oauth2.TokenSource, error) {
	if err := i.Check(); err != nil {
		return nil, err
	}
	return externalaccount.NewTokenSource(ctx, externalaccount.Config{
		Audience: i.Audience, SubjectTokenType: subjectType, TokenURL: tokenURL,
		ServiceAccountImpersonationURL: fmt.Sprintf(impersonateURL, i.Account),
		Scopes:                         scopes, SubjectTokenSupplier: supplier(subject),
	})
}

// Login is the identity of a run.
type Login struct {
	Identity

	// Token returns a token of the run's Kubernetes account for the identity's pool, and the duration after which to renew it.
	Token func(context.Context) (token string, renew time.Duration, err error)
}

// Use returns the login, and a copy of a run's variables with the configuration that reads the login's token in file. If the variables
// already have credentials, or the login is nil, Use returns the same variables and nil.
func (l *Login) Use(env map[string]string, file string) (*Login, map[string]string, error) {
	if l == nil || env[keys.GoogleCredentials] != "" {
		return nil, env, nil
	}
	configuration, err := l.Configuration(file)
	if err != nil {
		return nil, env, fmt.Errorf("give the run its Google identity: %w", err)
	}
	with := map[string]string{}
	maps.Copy(with, env)
	with[keys.GoogleCredentials] = configuration
	return l, with, nil
}

// supplier implements [externalaccount.SubjectTokenSupplier].
type supplier func(context.Context) (string, error)

// SubjectToken implements [externalaccount.SubjectTokenSupplier].
func (s supplier) SubjectToken(ctx context.Context, _ externalaccount.SupplierOptions) (string, error) {
	token, err := s(ctx)
	if err == nil && strings.TrimSpace(token) == "" {
		err = errors.New("the token of the Kubernetes account is empty")
	}
	return token, err
}
