package auditsite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/google/externalaccount"
	"google.golang.org/api/iam/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/handoff/keys"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/teams"
)

// source returns the source of access tokens of a Google account: the engineer's login from the home, and for a team what its runs use.
func (t tokens) source(ctx context.Context, account string) (oauth2.TokenSource, error) {
	if account == t.engineer {
		raw, err := os.ReadFile(t.home.EngineerCredentials())
		if err != nil {
			return nil, err
		}
		return fromJSON(ctx, raw, google.AuthorizedUser)
	}
	id, _, _ := strings.Cut(account, "@")
	for _, team := range t.tenants {
		if team.GoogleAccountID() != id {
			continue
		}
		secret, err := t.client.CoreV1().Secrets(team.Namespace()).Get(ctx, keys.TenantName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if key := secret.Data[keys.GoogleCredentials]; len(key) > 0 {
			return fromJSON(ctx, key, google.ServiceAccount)
		}
		return t.exchange(ctx, team, account)
	}
	return nil, fmt.Errorf("the account belongs to no team")
}

func fromJSON(ctx context.Context, raw []byte, kind google.CredentialsType) (oauth2.TokenSource, error) {
	credentials, err := google.CredentialsFromJSONWithType(ctx, raw, kind, iam.CloudPlatformScope)
	if err != nil {
		// The error could repeat the credential.
		return nil, fmt.Errorf("its credential is invalid")
	}
	return credentials.TokenSource, nil
}

// exchange returns a source that exchanges a token of the team's Kubernetes account, as the runs of a team without a key do.
func (t tokens) exchange(ctx context.Context, team teams.Team, account string) (oauth2.TokenSource, error) {
	raw, err := t.client.CoreV1().RESTClient().Get().AbsPath("/apis/strata.dev/v1/namespaces/" + team.Namespace() + "/tenantpolicies/strata").DoRaw(ctx)
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
	return externalaccount.NewTokenSource(ctx, externalaccount.Config{
		Audience: policy.Spec.Context.Audience, SubjectTokenType: "urn:ietf:params:oauth:token-type:jwt",
		TokenURL:                       t.google + "/sts/v1/token",
		ServiceAccountImpersonationURL: t.google + "/iamcredentials/v1/projects/-/serviceAccounts/" + account + ":generateAccessToken",
		Scopes:                         []string{iam.CloudPlatformScope},
		SubjectTokenSupplier:           supplier{t, team.Namespace(), policy.Spec.StackAccounts[0]},
	})
}

// supplier requests tokens of a Kubernetes account for the exchange.
type supplier struct {
	tokens
	namespace, account string
}

// SubjectToken implements externalaccount.SubjectTokenSupplier.
func (s supplier) SubjectToken(ctx context.Context, _ externalaccount.SupplierOptions) (string, error) {
	made, err := s.client.CoreV1().ServiceAccounts(s.namespace).CreateToken(ctx, s.account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{home.Project + ".svc.id.goog"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return made.Status.Token, nil
}
