package controlplane_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

func newHome(t *testing.T) home.Home {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func start(t *testing.T, h home.Home) *controlplane.ControlPlane {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), h, finder(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	return plane
}

func finder(t *testing.T) controlplane.FindTool {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		toolchaintest.Path(t, name)
	}
	return func(_ context.Context, name string) (string, error) { return toolchaintest.Path(t, name), nil }
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits until check returns nil. If that takes too long, it fails the test with check's last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("timeout: waited until %s: %v", what, last)
	}
}

func makeConfigMap(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value of " + name},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func checkConfigMap(ctx context.Context, client kubernetes.Interface, name string) error {
	found, err := client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := found.Data["key"]; got != "value of "+name {
		return fmt.Errorf("its data is %q", got)
	}
	return nil
}

func TestDataAndAccessSurviveStopAndStart(t *testing.T) {
	long.Test(t)
	h := newHome(t)
	if controlplane.Exists(h) {
		t.Error("a new home holds a control plane")
	}
	plane := start(t, h)
	makeConfigMap(t, clientOf(t, plane.AdminConfig()), "kept")
	kubeconfig, err := os.ReadFile(h.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{}
	for _, s := range plane.States() {
		pids[s.Name] = s.Pid
	}
	plane.Stop()
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("after Stop %s is there still (pid %d): %v", name, pid, err)
		}
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		l, err := h.Listen(name)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if !controlplane.Exists(h) {
		t.Error("the stopped control plane is not known")
	}

	start(t, h)
	if again, err := os.ReadFile(h.AdminKubeconfig()); err != nil || string(again) != string(kubeconfig) {
		t.Errorf("the kubeconfig changed over Stop and Start (%v)", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkConfigMap(t.Context(), clientOf(t, config), "kept"); err != nil {
		t.Errorf("the objects created before Stop: %v", err)
	}
}

func TestANewClusterStartsAfterAnErasure(t *testing.T) {
	long.Test(t)
	h := newHome(t)
	first := start(t, h)
	makeConfigMap(t, clientOf(t, first.AdminConfig()), "gone")
	ca := first.AdminConfig().CAData
	first.Stop()
	if err := controlplane.Erase(h); err != nil {
		t.Fatal(err)
	}
	second := start(t, h)
	if bytes.Equal(ca, second.AdminConfig().CAData) {
		t.Error("the second cluster trusts the keys of the first")
	}
	if err := checkConfigMap(t.Context(), clientOf(t, second.AdminConfig()), "gone"); !apierrors.IsNotFound(err) {
		t.Errorf("what the first cluster held is still there: %v", err)
	}
}

func TestAccess(t *testing.T) {
	long.Test(t)
	h := newHome(t)
	plane := start(t, h)

	t.Run("anonymous requests are refused", func(t *testing.T) {
		anonymous := rest.AnonymousClientConfig(plane.AdminConfig())
		client, err := rest.HTTPClientFor(anonymous)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/api", "/api/v1/namespaces/default/secrets", "/readyz", "/version", "/"} {
			response, err := client.Get(plane.Server() + path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != http.StatusUnauthorized {
				t.Errorf("GET %s: %s, want 401", path, response.Status)
			}
		}
	})

	t.Run("the node may not read what is not its pods'", func(t *testing.T) {
		_, err := clientOf(t, plane.NodeConfig()).CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("the node lists Secrets: %v", err)
		}
	})

	t.Run("an account without a role may do nothing", func(t *testing.T) {
		admin := clientOf(t, plane.AdminConfig())
		var token *authenticationv1.TokenRequest
		eventually(t, "the account has a token", func() (err error) {
			token, err = admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			return err
		})
		config := rest.AnonymousClientConfig(plane.AdminConfig())
		config.BearerToken = token.Status.Token
		client := clientOf(t, config)
		if _, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("it lists Secrets: %v", err)
		}
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "no"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("it makes a ConfigMap: %v", err)
		}
	})

	t.Run("etcd wants a client certificate of its own", func(t *testing.T) {
		port, err := h.Port("etcd")
		if err != nil {
			t.Fatal(err)
		}
		config := plane.AdminConfig()
		config.TLSClientConfig = rest.TLSClientConfig{Insecure: true, CertFile: config.CertFile, KeyFile: config.KeyFile}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/version", port)); err == nil {
			response.Body.Close()
			t.Errorf("etcd answers the administrator of the cluster: %s", response.Status)
		}
	})

	t.Run("a privileged pod is taken, as a cluster of Google takes it", func(t *testing.T) {
		privileged := true
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "privileged"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "agent", Image: "agent", SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
		}}}}
		if _, err := clientOf(t, plane.AdminConfig()).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})

	t.Run("keys and kubeconfigs are for their owner alone", func(t *testing.T) {
		checked := 0
		err := filepath.WalkDir(h.Kubernetes(), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if ext := filepath.Ext(path); ext != ".key" && ext != ".kubeconfig" {
				return nil
			}
			info, err := entry.Info()
			if err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o, want 600", path, info.Mode().Perm())
			}
			checked++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if checked < 10 {
			t.Errorf("only %d keys and kubeconfigs were found", checked)
		}
	})

	t.Run("the audit log tells who did what, without content", func(t *testing.T) {
		client := clientOf(t, plane.AdminConfig())
		if _, err := client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "audited"}, StringData: map[string]string{"password": "hush-hush"},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(h.Logs(), "audit.log")
		eventually(t, "the audit log tells of it", func() error {
			content, err := os.ReadFile(log)
			if err == nil && !strings.Contains(string(content), `"name":"audited"`) {
				err = errors.New("it does not")
			}
			return err
		})
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hush-hush", "aHVzaC1odXNo"} {
			if strings.Contains(string(content), secret) {
				t.Errorf("the audit log holds the Secret's content %s", secret)
			}
		}
	})
}

func TestProgramsThatAreKilledComeBackWithTheData(t *testing.T) {
	long.Test(t)
	plane := start(t, newHome(t))
	client := clientOf(t, plane.AdminConfig())
	makeConfigMap(t, client, "kept")
	before := plane.States()
	for _, s := range before {
		if err := syscall.Kill(s.Pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", s.Name, err)
		}
	}
	eventually(t, "all programs run again", func() error {
		for i, s := range plane.States() {
			if !s.Running || s.Pid == before[i].Pid || s.Restarts == 0 {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
	eventually(t, "the data is there", func() error { return checkConfigMap(t.Context(), client, "kept") })
	eventually(t, "the controllers work", func() error {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "after"}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		_, err = client.CoreV1().ServiceAccounts("after").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
}

func TestStartRefusesAPortThatIsTaken(t *testing.T) {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			find := finder(t)
			l, err := h.Listen(name)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			_, err = controlplane.Start(t.Context(), h, find)
			if err == nil {
				t.Fatal("the control plane starts")
			}
			for _, want := range []string{name, fmt.Sprintf("port %d", l.Addr().(*net.TCPAddr).Port), fmt.Sprintf("pid %d", os.Getpid())} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestStartNamesAMissingProgram(t *testing.T) {
	h := newHome(t)
	_, err := controlplane.Start(t.Context(), h, func(_ context.Context, name string) (string, error) {
		return "", fmt.Errorf("no program %s", name)
	})
	if err == nil || !strings.Contains(err.Error(), "no program etcd") {
		t.Errorf("the error is %v", err)
	}
	if controlplane.Exists(h) {
		t.Error("data is there without a program that made it")
	}
}

func TestAnInterruptedStartContinues(t *testing.T) {
	long.Test(t)
	h := newHome(t)
	find := finder(t)
	// The power fails after the first key of each pair, so the certificate is missing.
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := controlplane.Start(ctx, h, func(context.Context, string) (string, error) {
		cancel()
		return "", context.Canceled
	}); err == nil {
		t.Fatal("the control plane starts without programs")
	}
	certificates, err := filepath.Glob(filepath.Join(h.Kubernetes(), "pki", "kube-*.crt"))
	if err != nil || len(certificates) < 3 {
		t.Fatalf("certificates are %v (%v)", certificates, err)
	}
	for _, path := range certificates {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	plane, err := controlplane.Start(t.Context(), h, find)
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Stop()
	makeConfigMap(t, clientOf(t, plane.AdminConfig()), "made")
}

func states(plane *controlplane.ControlPlane) map[string]process.State {
	byName := map[string]process.State{}
	for _, s := range plane.States() {
		byName[s.Name] = s
	}
	return byName
}

func TestTwoHomesRunSideBySide(t *testing.T) {
	long.Test(t)
	first, second := start(t, newHome(t)), start(t, newHome(t))
	makeConfigMap(t, clientOf(t, first.AdminConfig()), "mine")
	if err := checkConfigMap(t.Context(), clientOf(t, second.AdminConfig()), "mine"); !apierrors.IsNotFound(err) {
		t.Errorf("the second cluster shows the objects of the first: %v", err)
	}
	config := second.AdminConfig()
	config.Host = first.Server()
	if err := checkConfigMap(t.Context(), clientOf(t, config), "mine"); err == nil {
		t.Error("the second cluster's administrator reads the first")
	}
	first.Stop()
	for name, s := range states(second) {
		if !s.Running || s.Restarts > 0 {
			t.Errorf("%s of the second cluster suffered from the end of the first: %+v", name, s)
		}
	}
}
