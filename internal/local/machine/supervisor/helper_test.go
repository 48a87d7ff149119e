package supervisor_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/stratatest"
)

// executable is the path of strata, built from this repository. repository is the repository's root. needTools sets both.
var executable, repository string

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// platform is a home and its supervisor.
type platform struct {
	*supervisor.Client
	home home.Home
}

// needTools builds strata and the programs of a control plane. Under -short, it skips the test.
func needTools(t *testing.T) {
	t.Helper()
	executable, repository = stratatest.Executable(t), toolchaintest.Root(t)
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		toolchaintest.Path(t, name)
	}
}

// newPlatform creates a home in dir. At the end of the test, it stops everything in the home.
func newPlatform(t *testing.T, dir string) *platform {
	t.Helper()
	needTools(t)
	if _, err := home.Open(dir); err != nil {
		t.Fatal(err)
	}
	return newPlatformAt(t, dir)
}

// newPlatformAt is newPlatform for a home that does not exist yet.
func newPlatformAt(t *testing.T, dir string) *platform {
	t.Helper()
	needTools(t)
	h, err := home.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{Client: supervisor.Connect(h), home: h}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			log, _ := os.ReadFile(h.Log(supervisor.Command))
			t.Logf("the supervisor's log:\n%s", log)
		}
	})
	return p
}

func (p *platform) start(t *testing.T) supervisor.Status {
	t.Helper()
	if err := p.Start(t.Context(), executable, repository); err != nil {
		t.Fatal(err)
	}
	return p.status(t)
}

func (p *platform) startCluster(t *testing.T) supervisor.Status {
	t.Helper()
	if err := p.StartCluster(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.status(t)
}

func (p *platform) status(t *testing.T) supervisor.Status {
	t.Helper()
	status, err := p.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// kubernetes returns a client with the administrator's credentials.
func (p *platform) kubernetes(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.home.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// processes returns the programs of the processes with the home's path in their arguments, by PID.
func (p *platform) processes() map[int]string {
	found := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		args, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if pid == os.Getpid() || !bytes.Contains(args, []byte(p.home.Dir())) {
			continue
		}
		found[pid] = string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))
	}
	return found
}

func (p *platform) noProcess() error {
	if left := p.processes(); len(left) > 0 {
		return fmt.Errorf("there are %v", left)
	}
	return nil
}

// portsFree returns an error if one of the home's ports is in use.
func (p *platform) portsFree() error {
	for _, name := range []string{"google", "git", "etcd", "kube-apiserver"} {
		l, err := p.home.Listen(name)
		if err != nil {
			return err
		}
		l.Close()
	}
	return nil
}

// runPod creates a pod and waits until it runs.
func (p *platform) runPod(t *testing.T, name string) {
	t.Helper()
	client := p.kubernetes(t)
	eventually(t, "a pod runs", func() error {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
		}, metav1.CreateOptions{})
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			return err
		}
		pod, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
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
