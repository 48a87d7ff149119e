// Package login gets access tokens of the teams' Google accounts for an audit, in the way in which the runs of the teams get them.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// Client is that of the cluster's administrator, who may request tokens of the teams' Kubernetes accounts.
	Client  kubernetes.Interface
	Tenants []teams.Team
}

// Token returns an access token of a Google account, which belongs to a team: by the team's key if layer 1 has created one, and
// otherwise by a token of the first Kubernetes account of the team's Stacks. The context's HTTP client, as package oauth2 defines it, calls
// Google.
func (t Teams) Token(ctx context.Context, account string) (string, error) {
	source, err := t.source(ctx, account)
	if err != nil {
		return "", err
	}
	token, err := source.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

func (t Teams) source(ctx context.Context, account string) (oauth2.TokenSource, error) {
	id, _, _ := strings.Cut(account, "@")
	for _, team := range t.Tenants {
		if team.GoogleAccountID() != id {
			continue
		}
		secret, err := t.Client.CoreV1().Secrets(team.Namespace()).Get(ctx, keys.TenantName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if key := secret.Data[keys.GoogleCredentials]; len(key) > 0 {
			return FromJSON(ctx, key, google.ServiceAccount)
		}
		return t.exchange(ctx, team, account)
	}
	return nil, errors.New("the account belongs to no team")
}

// FromJSON returns the source of tokens of a file with credentials of a type.
func FromJSON(ctx context.Context, raw []byte, kind google.CredentialsType) (oauth2.TokenSource, error) {
	credentials, err := google.CredentialsFromJSONWithType(ctx, raw, kind, scope)
	if err != nil {
		return nil, errors.New("its credentials are invalid") // The error could quote them.
	}
	return credentials.TokenSource, nil
}

// exchange returns a source that exchanges a token of the team's Kubernetes account.
func (t Teams) exchange(ctx context.Context, team teams.Team, account string) (oauth2.TokenSource, error) {
	raw, err := t.Client.CoreV1().RESTClient().Get().AbsPath("/apis/strata.dev/v1/namespaces/" + team.Namespace() + "/tenantpolicies/strata").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var policy struct {
		Spec struct {
			StackAccounts []string `json:"stackAccounts"`
			Context       struct {
				Audience string `json:"googleAudience"`
			} `json:"context"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &policy); err != nil {
		return nil, err
	}
	if policy.Spec.Context.Audience == "" || len(policy.Spec.StackAccounts) == 0 {
		return nil, fmt.Errorf("the context of team %s has no Google identity", team.Name)
	}
	identity := keyless.Identity{Account: account, Audience: policy.Spec.Context.Audience}
	return identity.Source(ctx, func(ctx context.Context) (string, error) {
		made, err := t.Client.CoreV1().ServiceAccounts(team.Namespace()).CreateToken(ctx, policy.Spec.StackAccounts[0], &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: []string{identity.Pool()}},
		}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return made.Status.Token, nil
	}, scope)
}
