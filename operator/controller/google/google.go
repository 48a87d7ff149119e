// Package google decides what the preview of a plan sees of Google Cloud. Nobody has reviewed the code of a preview, so it gets no
// identity, and reaches no address of Google. It may look up Cloud SQL instances: the operator answers these requests itself, with an
// identity that reads instances and nothing else.
package google

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/handoff/keys"
	"github.com/strata-platform/strata/operator/controller/identity"
)

const (
	// EndpointVariable names the variable with the address of Google's Cloud SQL Admin API, in the environment of runs.
	EndpointVariable = "GOOGLE_SQL_CUSTOM_ENDPOINT"

	// defaultEndpoint is the address without that variable.
	defaultEndpoint = "https://sqladmin.googleapis.com/sql/v1beta4/"

	// scope restricts the operator's tokens to the Cloud SQL Admin API, which has no scope for reading.
	scope = "https://www.googleapis.com/auth/sqlservice.admin"

	// timeout is the time limit of one look-up.
	timeout = 30 * time.Second
)

// identityVariables are the variables by which Google's provider chooses its identity (its documentation, "Authentication").
var identityVariables = []string{
	"GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN",
	"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT", "GCE_METADATA_HOST",
}

// ChoosesIdentity reports whether a variable chooses the Google identity of a run.
func ChoosesIdentity(variable string) bool { return slices.Contains(identityVariables, variable) }

// noIdentity are the variables of a preview that keep Google's provider from looking for an identity. The provider does not start
// without a token. The token is no credential, and nothing answers at the address in place of the metadata server's.
var noIdentity = map[string]string{"GOOGLE_OAUTH_ACCESS_TOKEN": "none", "GCE_METADATA_HOST": "127.0.0.1:9"}

// aboutGoogle matches the message of a preview that called Google Cloud.
var aboutGoogle = regexp.MustCompile(`(?i)credential|unauthenticated|unauthorized|invalid authentication|googleapi|oauth|error 40[13]`)

// Identity finds the operator's identity for look-ups: a Secret that layer 2 creates in the operator's namespace names a Google
// account, which the operator's own account may act as without a key.
type Identity struct {
	// Client reads the Secret, and requests tokens of the operator's account.
	Client client.Client

	// Namespace is the operator's namespace, and Account its account there. An empty Namespace means that there is no identity.
	Namespace, Account string

	// Endpoint is the address of the Cloud SQL Admin API. Empty means Google's.
	Endpoint string

	// Transport sends the requests to Google. Nil means [http.DefaultTransport].
	Transport http.RoundTripper
}

// Access is what one preview may look up in Google Cloud.
type Access struct {
	// project is the only project whose instances the preview sees. It is empty if the operator has no identity.
	project  string
	endpoint string
	client   *http.Client

	// used counts the look-ups.
	used atomic.Int32
}

// Open returns the access for one preview, without any if there is an error. ctx limits the look-ups.
func (i Identity) Open(ctx context.Context) (*Access, error) {
	if i.Namespace == "" {
		return &Access{}, nil
	}
	secret := &corev1.Secret{}
	err := i.Client.Get(ctx, client.ObjectKey{Namespace: i.Namespace, Name: keys.PlanName}, secret)
	if apierrors.IsNotFound(err) {
		return &Access{}, nil
	} else if err != nil {
		return &Access{}, fmt.Errorf("read the Google identity of plans: %w", err)
	}
	as := keyless.Identity{Account: string(secret.Data[keys.GoogleAccount]), Audience: string(secret.Data[keys.GoogleAudience])}
	project := string(secret.Data[keys.GoogleProject])
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: timeout, Transport: i.Transport})
	source, err := as.Source(ctx, func(ctx context.Context) (string, error) {
		return identity.Subject(ctx, i.Client, i.Namespace, i.Account, as)
	}, scope)
	if err != nil || !names.MatchString(project) {
		return &Access{}, fmt.Errorf("the Secret %s/%s does not name a Google account, its audience and its project: run layer 2 again, which writes it",
			i.Namespace, keys.PlanName)
	}
	a := &Access{project: project, endpoint: i.Endpoint}
	if a.endpoint == "" {
		a.endpoint = defaultEndpoint
	}
	a.client = oauth2.NewClient(ctx, source)
	a.client.Timeout = timeout
	// The token is for one address.
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a, nil
}

// Limit replaces the variables of a run that are about Google: it removes credentials, and directs look-ups to the operator.
func (a *Access) Limit(env map[string]string) {
	maps.DeleteFunc(env, func(name, _ string) bool { return ChoosesIdentity(name) })
	maps.Copy(env, noIdentity)
	if a.project != "" {
		env[keys.GoogleProject], env[EndpointVariable] = a.project, "http://"+host+":"+port+path
	}
}

// Explain adds to the message of a failed preview what a preview may look up, if the preview called Google Cloud.
func (a *Access) Explain(failure string) string {
	switch {
	case !aboutGoogle.MatchString(failure):
		return failure
	case a.project == "":
		return failure + " (a plan has no Google identity, so a program that looks up resources of Google Cloud cannot be planned)"
	}
	return failure + fmt.Sprintf(" (a plan can look up Cloud SQL instances of project %s, and nothing else in Google Cloud)", a.project)
}
