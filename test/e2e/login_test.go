package e2e

import (
	"context"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/oauth2/google"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/teamlogin"
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
	as, account, err := teamlogin.Find(context.Background(), admin, namespace)
	if err != nil {
		return "", err
	}
	token, err := teamlogin.Subject(context.Background(), admin, namespace, account, as)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
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
