package kubeconfig

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1beta1"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
)

// execInfo is the variable in which a client describes its cluster to the program (client-go credential plugins).
const execInfo = "KUBERNETES_EXEC_INFO"

// Login writes the credentials of the administrator of the cluster to out, for a client that has called [pulumienv.LoginPlugin] in the
// tools of a home. called is the name or the path of the call. If the client names another cluster, Login refuses it: a shell with the home's tools
// may reach it, too. The Flux provider names none.
func Login(called string, out io.Writer) error {
	path, err := exec.LookPath(called)
	if err != nil {
		return fmt.Errorf("log in to the emulated cluster: %w", err)
	}
	h, err := home.At(filepath.Dir(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return fmt.Errorf("log in to the emulated cluster: %w", err)
	}
	if _, err := Admin(h); err != nil {
		return fmt.Errorf("log in to the emulated cluster: %w", err)
	}
	config, err := Config(h)
	if err != nil {
		return err
	}
	var asked clientauth.ExecCredential
	if err := json.Unmarshal([]byte(os.Getenv(execInfo)), &asked); err != nil {
		return fmt.Errorf("log in to the emulated cluster: the client describes itself in %s, and this is no JSON", execInfo)
	}
	if asked.Spec.Cluster != nil && asked.Spec.Cluster.Server != config.Host {
		return fmt.Errorf("log in to cluster %.100q: this %s is the one of home %s, whose emulated cluster is at %s: use a shell without the environment of this home",
			asked.Spec.Cluster.Server, pulumienv.LoginPlugin, h.Dir(), config.Host)
	}
	answer := clientauth.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauth.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauth.ExecCredentialStatus{ClientCertificateData: string(config.CertData), ClientKeyData: string(config.KeyData)},
	}
	return json.NewEncoder(out).Encode(answer)
}
