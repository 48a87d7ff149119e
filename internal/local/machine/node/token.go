package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// podToken is a service account token in a volume, and the time of its renewal.
type podToken struct {
	value []byte
	renew time.Time
}

// token returns a token of the pod's service account, bound to the pod, for a file of a volume. It requests a new
// token after four fifths of the old one's lifetime, as the kubelet does. The caller must hold the lock volumes.
func (p *pod) token(ctx context.Context, volume string, spec *corev1.ServiceAccountTokenProjection) ([]byte, error) {
	key := volume + "/" + spec.Path
	if t, ok := p.tokens[key]; ok && p.node.clock.Now().Before(t.renew) {
		return t.value, nil
	}
	o := p.current()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: spec.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: o.Name, UID: o.UID},
	}}
	if spec.Audience != "" {
		request.Spec.Audiences = []string{spec.Audience}
	}
	account := o.Spec.ServiceAccountName
	answer, err := p.node.client.CoreV1().ServiceAccounts(o.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of service account %s: %w", account, err)
	}
	life := time.Until(answer.Status.ExpirationTimestamp.Time)
	// Round(0) makes the comparison use the wall clock: the monotonic clock stops while the machine sleeps, but tokens
	// expire.
	t := podToken{value: []byte(answer.Status.Token), renew: p.node.clock.Now().Round(0).Add(life * 4 / 5)}
	p.tokens[key] = t
	return t.value, nil
}

// writeKubeconfig writes a kubeconfig for the service account in dir, and returns its path. Programs that find their
// cluster by the in-cluster files and variables find it here by KUBECONFIG. The kubeconfig names the token's file, so
// it stays valid when the token changes.
func (c *container) writeKubeconfig(dir string) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: c.pod.node.server, CertificateAuthority: filepath.Join(dir, "ca.crt")}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "pod", Namespace: c.pod.current().Namespace}
	config.CurrentContext = "pod"
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("kubeconfig of the pod: %w", err)
	}
	path := filepath.Join(c.pod.dir, c.spec.Name+".kubeconfig")
	if err := home.WriteFile(path, raw); err != nil {
		return "", fmt.Errorf("kubeconfig of the pod: %w", err)
	}
	return path, nil
}
