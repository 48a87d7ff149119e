package rehearsal

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/internal/teamlogin"
	"github.com/strata-platform/strata/teams"
)

// tokenFile is the name of the file with the token of a team's account in the folder of a Stack.
const tokenFile = "google-token"

// credentials returns the Google credentials of a team: its key if the backup's layer 1 created one, and a configuration without a key
// otherwise. The configuration reads a token of the team's account in dir.
func (r *run) credentials(ctx context.Context, team teams.Team, key string, as keyless.Identity, dir string) (string, error) {
	accounts := team.StackAccounts()
	if key != "" || as.Audience == "" || len(accounts) == 0 {
		return key, nil
	}
	config, err := r.platform.Config(ctx, false)
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	token, err := teamlogin.Subject(ctx, client, team.Namespace(), accounts[0], as)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, tokenFile)
	if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
		return "", err
	}
	return as.Configuration(path)
}
