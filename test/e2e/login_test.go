package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/teams"
)

// login: login TEAM — sets $GOOGLE_CREDENTIALS to a configuration by which Google's clients act as the team's Google account, as in a run
// of the team's Stacks.
func login(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: login TEAM")
	}
	configuration, err := teamLogin(ts.Getenv("STRATA_HOME"), args[0], ts.MkAbs("google-token-"+args[0]))
	ts.Check(err)
	ts.Setenv("GOOGLE_CREDENTIALS", configuration)
}

// teamLogin returns a configuration of the Google account of a team. It writes a token of the account of the team's Stacks into file.
func teamLogin(dir, team, file string) (string, error) {
	h, err := home.At(dir)
	if err != nil {
		return "", err
	}
	status, err := supervisor.Connect(h).Status(context.Background())
	if err != nil {
		return "", err
	}
	admin, err := clientOf(h.AdminKubeconfig())
	if err != nil {
		return "", err
	}
	namespace := teams.Team{Name: team}.Namespace()
	raw, err := admin.CoreV1().RESTClient().Get().AbsPath("/apis/strata.dev/v1/namespaces/" + namespace + "/tenantpolicies/strata").DoRaw(context.Background())
	if err != nil {
		return "", err
	}
	var policy struct {
		Spec struct {
			StackAccounts []string
			Context       struct{ GoogleAccount, GoogleAudience string }
		}
	}
	if err := json.Unmarshal(raw, &policy); err != nil {
		return "", err
	}
	if len(policy.Spec.StackAccounts) == 0 {
		return "", fmt.Errorf("no account of team %s may run Stacks", team)
	}
	as := keyless.Identity{Account: policy.Spec.Context.GoogleAccount, Audience: policy.Spec.Context.GoogleAudience}
	made, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(context.Background(), policy.Spec.StackAccounts[0], &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{as.Pool()}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(made.Status.Token), 0o600); err != nil {
		return "", err
	}
	configuration, err := as.Configuration(file)
	// The test's process does not reach the emulated Google Cloud by a tunnel.
	return strings.NewReplacer(
		"https://sts.googleapis.com/", status.GoogleURL+"/sts/", "https://iamcredentials.googleapis.com/", status.GoogleURL+"/iamcredentials/",
	).Replace(configuration), err
}

// kindOf returns the type of credentials.
func kindOf(credentials string) google.CredentialsType {
	for _, kind := range []google.CredentialsType{google.AuthorizedUser, google.ExternalAccount} {
		if strings.Contains(credentials, `"`+string(kind)+`"`) {
			return kind
		}
	}
	return google.ServiceAccount
}
