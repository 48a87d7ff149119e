package federation

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
)

// audiences matches the audience of an exchange for a cluster: its pool, and the cluster's own URL as the provider.
var audiences = regexp.MustCompile(`^identitynamespace:([a-z0-9-]+)\.svc\.id\.goog:` +
	`https://container\.googleapis\.com/v1/projects/([a-z0-9-]+)/locations/([a-z0-9-]+)/clusters/([a-z0-9-]+)$`)

// maxSubjectLife is the longest time between the issue and the expiry of a token that Google exchanges.
const maxSubjectLife = 24 * time.Hour

// provider is the identity provider of a cluster.
type provider struct {
	pool string
	// id is the unique ID of the cluster. A cluster that is created again under the same name has another one.
	id     string
	access container.Access
}

// provider returns the provider that an audience names. The error is the same for everything that does not exist, so that
// callers learn nothing about other projects.
func (s *service) provider(audience string) (*provider, error) {
	parts := audiences.FindStringSubmatch(audience)
	if parts == nil {
		return nil, invalidRequest("Invalid value for \"audience\". The emulated Google Cloud has the providers of clusters: " +
			"identitynamespace:PROJECT.svc.id.goog:https://container.googleapis.com/v1/projects/PROJECT/locations/LOCATION/clusters/CLUSTER.")
	}
	var found *provider
	err := s.Store.View(func(tx *bbolt.Tx) error {
		cluster, access, err := container.ControlPlane(tx, parts[2], parts[3], parts[4])
		if err != nil || cluster == nil || cluster.WorkloadIdentityConfig == nil {
			return err
		}
		if pool := parts[1] + ".svc.id.goog"; cluster.WorkloadIdentityConfig.WorkloadPool == pool {
			found = &provider{pool: pool, id: cluster.Id, access: access}
		}
		return nil
	})
	if err == nil && found == nil {
		err = &authn.OAuthError{
			Code: http.StatusBadRequest, Reason: "invalid_target",
			Description: "The target service indicated by the \"audience\" parameters is invalid. " +
				"This might either be because the pool or provider is disabled or deleted or because it doesn't exist.",
		}
	}
	return found, err
}

// kubernetesClaims are the claims that an API server adds to the tokens of service accounts.
type kubernetesClaims struct {
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name string `json:"name"`
		} `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

// subjectPrefix begins the subject of a token of a Kubernetes service account.
const subjectPrefix = "system:serviceaccount:"

// verify returns the Kubernetes service account of a token, and the expiry of the token. Like Google, it asks the API server
// for its keys and not about the token: a token of a deleted service account stays valid until it expires.
func (s *service) verify(ctx context.Context, by *provider, token string) (authn.Workload, time.Time, error) {
	// The list of algorithms excludes "none", and algorithms that would use a public key as a shared secret.
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil || len(parsed.Headers) != 1 {
		return authn.Workload{}, time.Time{}, invalidGrant("The subject token is not a JSON Web Token with one signature by RS256 or ES256.")
	}
	issuer, err := s.issuers.find(ctx, by, parsed.Headers[0].KeyID)
	if err != nil {
		return authn.Workload{}, time.Time{}, invalidGrant("Error connecting to the given credential's issuer: " + api.Printable(err.Error()) + ".")
	}
	var claims jwt.Claims
	var own kubernetesClaims
	keys := issuer.keys.Key(parsed.Headers[0].KeyID)
	if len(keys) != 1 || parsed.Claims(keys[0].Key, &claims, &own) != nil {
		return authn.Workload{}, time.Time{}, invalidGrant("The signature of the ID Token is not by a key of the issuer.")
	}
	if err := checkClaims(&claims, issuer.url, by.pool, s.Now()); err != nil {
		return authn.Workload{}, time.Time{}, err
	}
	of := authn.Workload{Pool: by.pool, Namespace: own.Kubernetes.Namespace, Account: own.Kubernetes.ServiceAccount.Name}
	if claims.Subject != subjectPrefix+of.Namespace+":"+of.Account {
		return authn.Workload{}, time.Time{}, invalidGrant("The subject of the ID Token is not the service account in its claims.")
	}
	return of, claims.Expiry.Time(), nil
}

// checkClaims returns an error unless an issuer's token is for a pool, and valid at a time.
func checkClaims(claims *jwt.Claims, issuer, pool string, now time.Time) error {
	switch {
	case claims.Issuer != issuer:
		return invalidGrant("The issuer in ID Token " + api.Printable(claims.Issuer) + " does not match the expected ones: " + issuer + ".")
	case !claims.Audience.Contains(pool):
		return invalidGrant("The audience in ID Token [" + api.Printable(strings.Join(claims.Audience, ", ")) + "] does not match the expected audience " + pool + ".")
	case claims.Expiry == nil || claims.IssuedAt == nil:
		return invalidGrant("The ID Token has no time of issue or no expiry.")
	case !now.Before(claims.Expiry.Time()):
		return invalidGrant("The ID Token has expired at " + claims.Expiry.Time().UTC().Format(time.RFC3339) + ".")
	case claims.IssuedAt.Time().After(now.Add(authn.ClockSkew)), claims.NotBefore != nil && claims.NotBefore.Time().After(now.Add(authn.ClockSkew)):
		return invalidGrant("The ID Token is not valid yet: check the clock of its issuer.")
	case claims.Expiry.Time().Sub(claims.IssuedAt.Time()) > maxSubjectLife:
		return invalidGrant("The ID Token is valid for longer than 24 hours.")
	}
	return nil
}
