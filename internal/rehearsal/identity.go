package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/handoff/keyless"
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
	seconds := int64(keyless.TokenSeconds)
	made, err := client.CoreV1().ServiceAccounts(team.Namespace()).CreateToken(ctx, accounts[0], &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{as.Pool()}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get a token of service account %s/%s: %w", team.Namespace(), accounts[0], err)
	}
	path := filepath.Join(dir, tokenFile)
	if err := os.WriteFile(path, []byte(made.Status.Token), 0o600); err != nil {
		return "", err
	}
	return as.Configuration(path)
}
