// Package operator_test tests the operator as a whole: the strata command runs it as a process of its own, under its own
// account, against a real API server. Its only input is users' manifests.
package operator_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/stratatest"
)

// auditPolicy makes the API server log every request of the operator, and no others.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: ["system:serviceaccount:` + platform.OperatorNamespace + ":" + platform.OperatorAccount + `"]}
  - {level: None}
`

// roleOwn is the name for the operator's Role in its own namespace.
const roleOwn = "operator-own"

// cluster is an API server with the kinds and the roles of the platform. All tests of this package share it, each with
// namespaces of its own.
type cluster struct {
	client.WithWatch

	environment *envtest.Environment
	config      *rest.Config

	// dir contains all files. tools is the PATH of runs. state is the root of file backends.
	dir, tools, state string
}

var shared struct {
	sync.Mutex
	*cluster
}

func TestMain(m *testing.M) {
	sandboxtest.Enter()
	code := stratatest.Main(m)
	if shared.cluster != nil {
		if err := shared.environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = 1
		}
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// startCluster returns the shared API server.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	etcd, apiserver := toolchaintest.Path(t, "etcd"), toolchaintest.Path(t, "kube-apiserver")
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		return shared.cluster
	}
	dir, err := os.MkdirTemp("", "operator-test-")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir, tools: filepath.Join(dir, "tools"), state: filepath.Join(dir, "state")}
	c.linkTools(t)
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	c.environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(toolchaintest.Root(t), "operator", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	c.environment.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	server := c.environment.ControlPlane.GetAPIServer()
	server.Path = apiserver
	server.Configure().Set("audit-policy-file", policy).Set("audit-log-path", c.auditLog())
	if c.config, err = c.environment.Start(); err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	shared.cluster = c
	c.config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if c.WithWatch, err = client.NewWithWatch(c.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	c.makePlatform(t)
	return c
}

// linkTools creates the folder of tools.
func (c *cluster) linkTools(t testing.TB) {
	t.Helper()
	if err := os.Mkdir(c.tools, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"} {
		if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(c.tools, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// makePlatform creates the objects that layer 2 and sync/ create: the roles, and the operator's account.
func (c *cluster) makePlatform(t testing.TB) {
	t.Helper()
	for name, rules := range platform.ClusterRoles() {
		c.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	}
	c.create(t,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: platform.OperatorNamespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: platform.OperatorNamespace, Name: platform.OperatorAccount}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: platform.OperatorBinding},
			RoleRef:    clusterRole(platform.RoleOperator), Subjects: account(platform.OperatorNamespace, platform.OperatorAccount),
		},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: roleOwn}, Rules: platform.OperatorRole()},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: platform.OperatorNamespace, Name: roleOwn},
			RoleRef:    clusterRole(roleOwn), Subjects: account(platform.OperatorNamespace, platform.OperatorAccount),
		},
	)
}

func account(namespace, name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
}

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func (c *cluster) create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// kubeconfig returns the kubeconfig of a service account, with its namespace as the default.
func (c *cluster) kubeconfig(t testing.TB, namespace, name string) []byte {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.SubResource("token").Create(t.Context(), object, request); err != nil {
		t.Fatalf("get a token of service account %s/%s: %v", namespace, name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	config.CurrentContext = "c"
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (c *cluster) auditLog() string { return filepath.Join(c.dir, "audit.log") }

// call is a request of the operator in the API server's audit log.
type call struct {
	Verb     string `json:"verb"`
	Resource struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code   int    `json:"code"`
		Reason string `json:"reason"`
	} `json:"responseStatus"`
}

// calls returns the operator's requests in the log after the given size, and the log's current size.
func (c *cluster) calls(t testing.TB, since int) ([]call, int) {
	t.Helper()
	content, err := os.ReadFile(c.auditLog())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	// The server may still be writing the last line.
	end := strings.LastIndexByte(string(content), '\n') + 1
	var calls []call
	for line := range strings.Lines(string(content[since:end])) {
		var next call
		if err := json.Unmarshal([]byte(line), &next); err != nil {
			t.Fatalf("read the audit log: %v", err)
		}
		calls = append(calls, next)
	}
	return calls, end
}
