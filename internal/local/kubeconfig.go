package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// teamTokenLife is the lifetime of the token in a team's kubeconfig.
const teamTokenLife = 12 * time.Hour

// AdminKubeconfig returns the path of the administrator's kubeconfig.
func (p *Platform) AdminKubeconfig() (string, error) {
	if _, err := os.Stat(p.Home.AdminKubeconfig()); err != nil {
		return "", fmt.Errorf("there is no cluster in %s: run `%s` or `%s` first",
			p.Home.Dir(), p.Home.Call("up"), p.Home.Call("local start"))
	}
	return p.Home.AdminKubeconfig(), nil
}

// TeamKubeconfig writes a kubeconfig with a new token of a team's service account, and returns its path.
func (p *Platform) TeamKubeconfig(ctx context.Context, name string) (string, error) {
	team, err := p.team(name)
	if err != nil {
		return "", err
	}
	if _, err := p.AdminKubeconfig(); err != nil {
		return "", err
	}
	config, err := p.AdminConfig()
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("reach the cluster: %w", err)
	}
	seconds := int64(teamTokenLife.Seconds())
	token, err := client.CoreV1().ServiceAccounts(team.Namespace()).CreateToken(ctx, team.ServiceAccount(), &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token of team %s: %w: run `%s` to see whether the team's hop exists", name, err, p.Home.Call("status"))
	}
	admin, err := clientcmd.LoadFromFile(p.Home.AdminKubeconfig())
	if err != nil {
		return "", fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	user := team.ServiceAccount()
	admin.AuthInfos = map[string]*clientcmdapi.AuthInfo{user: {Token: token.Status.Token}}
	admin.Contexts[admin.CurrentContext].AuthInfo = user
	admin.Contexts[admin.CurrentContext].Namespace = team.Namespace()
	raw, err := clientcmd.Write(*admin)
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.Home.Kubernetes(), "teams", name+".kubeconfig")
	return path, home.WriteFile(path, raw)
}
