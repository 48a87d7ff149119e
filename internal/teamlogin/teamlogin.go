// Package teamlogin gets logins of the teams' Google accounts in the way in which the runs of the teams get them: by a token of a
// Kubernetes account that the team's Stacks may run as. The caller is the cluster's administrator.
package teamlogin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/handoff/keys"
	"github.com/strata-platform/strata/teams"
)

// scope is the scope of tokens for all of Google Cloud; IAM decides what they may do.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Teams are the owners of Google accounts.
type Teams struct {
	// Client is that of the cluster's administrator.
	Client  kubernetes.Interface
	Tenants []teams.Team

	// Google sends the requests for tokens. It limits their time: nobody else does.
	Google *http.Client
}

// Token returns an access token of a Google account, which belongs to a team: by the team's key if layer 1 has created one, and
// otherwise without a key.
func (t Teams) Token(ctx context.Context, account string) (string, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, t.Google)
	id, _, _ := strings.Cut(account, "@")
	for _, team := range t.Tenants {
		if team.GoogleAccountID() != id {
			continue
		}
		secret, err := t.Client.CoreV1().Secrets(team.Namespace()).Get(ctx, keys.TenantName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if key := secret.Data[keys.GoogleCredentials]; len(key) > 0 {
			return FromJSON(ctx, key, google.ServiceAccount)
		}
		return t.exchange(ctx, team.Namespace())
	}
	return "", errors.New("the account belongs to no team")
}

// FromJSON returns an access token for a file with credentials of a type.
func FromJSON(ctx context.Context, raw []byte, kind google.CredentialsType) (string, error) {
	credentials, err := google.CredentialsFromJSONWithType(ctx, raw, kind, scope)
	if err != nil {
		return "", errors.New("its credentials are invalid") // The error could quote them.
	}
	return accessToken(credentials.TokenSource)
}

// exchange returns an access token of a team's Google account without a key.
func (t Teams) exchange(ctx context.Context, namespace string) (string, error) {
	identity, account, err := Find(ctx, t.Client, namespace)
	if err != nil {
		return "", err
	}
	source, err := identity.Source(ctx, func(ctx context.Context) (string, error) {
		return Subject(ctx, t.Client, namespace, account, identity)
	}, scope)
	if err != nil {
		return "", err
	}
	return accessToken(source)
}

func accessToken(source oauth2.TokenSource) (string, error) {
	token, err := source.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// Find returns the Google identity of a team by the team's TenantPolicy, and the first Kubernetes account that may act as it.
func Find(ctx context.Context, client kubernetes.Interface, namespace string) (identity keyless.Identity, account string, err error) {
	raw, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/strata.dev/v1/namespaces/" + namespace + "/tenantpolicies/strata").DoRaw(ctx)
	if err != nil {
		return identity, "", err
	}
	var policy struct {
		Spec struct {
			StackAccounts []string `json:"stackAccounts"`
			Context       struct {
				Account  string `json:"googleAccount"`
				Audience string `json:"googleAudience"`
			} `json:"context"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &policy); err != nil {
		return identity, "", err
	}
	if policy.Spec.Context.Audience == "" || len(policy.Spec.StackAccounts) == 0 {
		return identity, "", fmt.Errorf("the TenantPolicy of namespace %s names no Google identity", namespace)
	}
	return keyless.Identity{Account: policy.Spec.Context.Account, Audience: policy.Spec.Context.Audience}, policy.Spec.StackAccounts[0], nil
}

// Subject returns a token of a Kubernetes account for the exchange for an identity, which is valid for an hour.
func Subject(ctx context.Context, client kubernetes.Interface, namespace, account string, as keyless.Identity) (string, error) {
	seconds := int64(keyless.TokenSeconds)
	made, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{as.Pool()}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get a token of service account %s/%s: %w", namespace, account, err)
	}
	return made.Status.Token, nil
}
