package authn

import (
	"regexp"
	"time"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Workload is a Kubernetes service account of a cluster with workload identity.
type Workload struct {
	// Pool is the cluster's workload identity pool, for example project.svc.id.goog.
	Pool string
	// Namespace and Account name the service account.
	Namespace, Account string
}

// kubernetesNames matches the names of namespaces and service accounts. No other text may become part of a member.
var kubernetesNames = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Principal returns the workload as a caller, in the form of a member of a policy. ok is false if the names are not names
// of Kubernetes.
func (w Workload) Principal() (who api.Principal, ok bool) {
	if !kubernetesNames.MatchString(w.Namespace) || !kubernetesNames.MatchString(w.Account) {
		return api.Principal{}, false
	}
	return api.Principal{Member: PoolMember(w.Pool) + w.Namespace + "/" + w.Account + "]", Email: w.Pool}, true
}

// PoolMember returns the beginning of the members of a workload identity pool, before the namespace.
func PoolMember(pool string) string { return "serviceAccount:" + pool + "[" }

// IssueToken creates an access token of a principal without a key: of a workload, or of the service account with a
// unique ID. Disabling or deleting the account invalidates the token. A lifetime of zero, or above MaxLifetime, means
// MaxLifetime.
func (a *Authenticator) IssueToken(
	tx *bbolt.Tx, who api.Principal, account, scopes string, lifetime time.Duration,
) (token string, expires time.Time, err error) {
	if lifetime <= 0 || lifetime > MaxLifetime {
		lifetime = MaxLifetime
	}
	token, err = a.issueToken(tx, accessToken{Member: who.Member, Email: who.Email, Account: account, Scopes: scopes}, lifetime)
	return token, a.now().Add(lifetime), err
}

// Usable reports whether an access token is still valid.
func (a *Authenticator) Usable(tx *bbolt.Tx, token string) (bool, error) {
	record, err := a.usableToken(tx, token)
	return record != nil, err
}
