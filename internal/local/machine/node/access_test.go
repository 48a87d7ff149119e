package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/test/long"
)

func TestLogsRequirePermission(t *testing.T) {
	long.Test(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	for name, resources := range map[string][]string{"onlooker": {"pods"}, "reader": {"pods", "pods/log"}} {
		if _, err := c.RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get"}}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: name}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) kubernetes.Interface {
		config := rest.CopyConfig(c.config)
		config.Impersonate.UserName = user
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	nodetest.Eventually(t, "the reader may get the logs", func() error {
		_, err := askLogs(t, as("reader"), ns, "ticker", corev1.PodLogOptions{})
		return err
	})
	if _, err := as("onlooker").CoreV1().Pods(ns).Get(t.Context(), "ticker", metav1.GetOptions{}); err != nil {
		t.Errorf("the onlooker may not get the pod: %v", err)
	}
	_, err := askLogs(t, as("onlooker"), ns, "ticker", corev1.PodLogOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("who may get pods alone gets logs: %v", err)
	}
}

func TestTheNodeAnswersTheAPIServerAlone(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	object, err := c.CoreV1().Nodes().Get(t.Context(), controlplane.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port, err := c.home.Port(PortName)
	if err != nil {
		t.Fatal(err)
	}
	if shown := object.Status.DaemonEndpoints.KubeletEndpoint.Port; int(shown) != port {
		t.Fatalf("the node's status shows port %d, want the kept port %d", shown, port)
	}
	url := fmt.Sprintf("https://%s/containerLogs/%s/ticker/guest", net.JoinHostPort(environment.Loopback, strconv.Itoa(port)), ns)
	keys, err := filepath.Glob(filepath.Join(c.home.Kubernetes(), "pki", "*.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(c.home.Kubernetes(), "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	asked := 0
	for _, key := range append(keys, "") {
		name := strings.TrimSuffix(filepath.Base(key), ".key")
		config := &tls.Config{RootCAs: roots}
		if key != "" {
			certificate, err := tls.LoadX509KeyPair(strings.TrimSuffix(key, ".key")+".crt", key)
			if err != nil {
				continue // a key pair without a certificate
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
		}
		asked++
		transport := &http.Transport{TLSClientConfig: config}
		response, err := (&http.Client{Transport: transport}).Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		transport.CloseIdleConnections()
		switch may := name == "kube-apiserver-kubelet-client"; {
		case may && (err != nil || response.StatusCode != http.StatusOK):
			t.Errorf("the API server is refused: %v", err)
		case !may && err == nil:
			t.Errorf("the certificate %q is answered: %s", name, response.Status)
		case !may && !refused(err):
			t.Errorf("the certificate %q is not refused but %v", name, err)
		}
	}
	if asked < 8 {
		t.Errorf("only %d certificates were tried", asked)
	}
}

func TestTheAPIServerDoesNotConnectToFakeNodes(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	impostor := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "believe me") }))
	impostor.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer impostor.Close()
	address := impostor.Listener.Addr().(*net.TCPAddr)
	if _, err := c.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		// The scheduler must not use the node.
		ObjectMeta: metav1.ObjectMeta{Name: "impostor"}, Spec: corev1.NodeSpec{Unschedulable: true},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CoreV1().Nodes().Delete(context.Background(), "impostor", metav1.DeleteOptions{}) })
	status := fmt.Sprintf(`{"status":{"addresses":[{"type":"ExternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}}`, address.IP, address.Port)
	if _, err := c.CoreV1().Nodes().Patch(t.Context(), "impostor", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	c.create(t, ns, "lured", corev1.PodSpec{NodeName: "impostor", Containers: []corev1.Container{guest("end")}})
	said, err := askLogs(t, c, ns, "lured", corev1.PodLogOptions{})
	// The tunnel leads only to the real node. Behind it, the API server also checks the node's certificate.
	if err == nil || !strings.Contains(err.Error(), "it is no address of a pod or a Service") {
		t.Errorf("the API server shows %q from a server that is not the node: %v", said, err)
	}
}

// refused reports whether the other side ended a connection with a TLS alert.
func refused(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error"
}
