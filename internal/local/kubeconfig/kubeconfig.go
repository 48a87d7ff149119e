// Package kubeconfig gives the administrator and the teams access to the cluster of a home.
package kubeconfig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/teams"
)

// teamTokenLife is the lifetime of the token in a team's kubeconfig.
const teamTokenLife = 12 * time.Hour

// Admin returns the path of the administrator's kubeconfig, or an error if the home has no cluster.
func Admin(h home.Home) (string, error) {
	if _, err := os.Stat(h.AdminKubeconfig()); err != nil {
		return "", fmt.Errorf("there is no cluster in %s: run `%s` or `%s` first",
			h.Dir(), h.Call("up"), h.Call("local start"))
	}
	return h.AdminKubeconfig(), nil
}

// Config returns a client configuration with the administrator's credentials.
func Config(h home.Home) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", h.AdminKubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	// client-go's default limits suit a shared cluster and would only cause delays here.
	config.QPS, config.Burst = 100, 200
	return config, nil
}

// Team writes a kubeconfig with a new token of a team's service account, and returns its path. The cluster must run.
func Team(ctx context.Context, h home.Home, team teams.Team) (string, error) {
	if _, err := Admin(h); err != nil {
		return "", err
	}
	config, err := Config(h)
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
		return "", fmt.Errorf("request a token of team %s: %w: run `%s` to see whether the team's hop exists", team.Name, err, h.Call("status"))
	}
	admin, err := clientcmd.LoadFromFile(h.AdminKubeconfig())
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
	path := filepath.Join(h.Kubernetes(), "teams", team.Name+".kubeconfig")
	return path, home.WriteFile(path, raw)
}
