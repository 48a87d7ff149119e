package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/processes"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/local/machine/provisioner"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/storage"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxes.Main()
	if os.Getenv(guestVariable) != "" {
		if err := playGuest(os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(guestFailed)
		}
		return
	}
	sandboxtest.Enter()
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.stop()
	}
	os.Exit(code)
}

// cluster is a real control plane with a real node.
type cluster struct {
	kubernetes.Interface
	config *rest.Config
	home   home.Home
	images *images.Images
	node   *Node
	stop   func()
}

// shared is the cluster that all tests of this package use.
var shared struct {
	once    sync.Once
	cluster *cluster
	err     error
}

// realCluster returns the shared cluster. The first call starts it.
func realCluster(t testing.TB) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the programs of a control plane")
	}
	shared.once.Do(func() {
		tools, err := toolchain.Open(toolchaintest.Root(t))
		if err == nil {
			shared.cluster, err = newCluster(tools)
		}
		shared.err = err
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// mostCompressed bounds the layers of an image in bytes. No disk of a test's machine has half as many.
const mostCompressed = 1 << 50

func newCluster(tools *toolchain.Toolchain) (_ *cluster, err error) {
	dir, err := os.MkdirTemp("", "strata-node-test-")
	if err != nil {
		return nil, err
	}
	undo := []func(){func() { os.RemoveAll(dir) }}
	stop := func() {
		for _, step := range slices.Backward(undo) {
			step()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	// The first sandboxed pod would wait for the build, and its test does not.
	if runtime.GOOS == "linux" {
		if _, err := tools.Path(context.Background(), "runsc"); err != nil {
			return nil, err
		}
	}
	plane, err := controlplane.Start(context.Background(), h, tools.Path)
	if err != nil {
		return nil, err
	}
	undo = append(undo, plane.Stop)
	client, err := kubernetes.NewForConfig(plane.AdminConfig())
	if err != nil {
		return nil, err
	}
	serving, err := plane.NodeTLS()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	volumes := storage.Folder(h.Volumes())
	if err := provisioner.Start(ctx, provisioner.Options{Config: plane.AdminConfig(), Volumes: volumes, Node: controlplane.NodeName, Log: log}); err != nil {
		cancel()
		return nil, err
	}
	pods, err := podnetwork.Start(ctx, podnetwork.Options{Home: h, Plane: plane, NodePort: PortName, Google: testGoogle(), Log: log})
	if err != nil {
		cancel()
		return nil, err
	}
	undo = append(undo, pods.Close)
	// The limit is far above the images of the tests, and quick to exceed.
	store, err := images.Open(h.Images(), images.Options{Registry: images.Host, Compressed: mostCompressed, Unpacked: unpack.Limits{Bytes: 1 << 30}})
	if err != nil {
		cancel()
		return nil, err
	}
	ready, done := make(chan *Node, 1), make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{
			Name: controlplane.NodeName, Config: plane.NodeConfig(), Version: tools.Version("kube-apiserver"), Catalogue: testCatalogue(tools),
			Network: pods.Gateway, Images: store,
			Runsc: func(ctx context.Context) (string, error) { return tools.Path(ctx, "runsc") },
			Pods:  h.Pods(), Volumes: volumes, Logs: h.Logs(), Processes: &process.Set{}, Listen: h.Listen, TLS: serving, Log: log,
		}, func(n *Node) { ready <- n })
	}()
	var running *Node
	select {
	case running = <-ready:
	case err := <-done:
		cancel()
		return nil, fmt.Errorf("the node ended: %w", err)
	case <-time.After(nodetest.Patience):
		cancel()
		return nil, errors.Join(errors.New("the node does not register"), <-done)
	}
	undo = append(undo, func() {
		cancel()
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	return &cluster{Interface: client, config: plane.AdminConfig(), home: h, images: store, node: running, stop: stop}, nil
}

// anybody allows every pod to run the programs of a test.
func anybody(string, string) bool { return true }

func testCatalogue(tools *toolchain.Toolchain) processes.Catalogue {
	flux := func(name string, listen ...processes.Listen) processes.Image {
		return processes.Image{
			May: anybody, Repository: "ghcr.io/fluxcd/" + name, Tag: tools.Version(name), Override: []string{"--enable-leader-election=false"},
			Program: func(ctx context.Context) (string, error) { return tools.Path(ctx, name) },
			Listen:  append(listen, processes.Listen{Flag: "--metrics-addr", Port: 8080}, processes.Listen{Flag: "--health-addr", Port: 9440}),
		}
	}
	// The tests' Git servers listen on arbitrary addresses, so only the controller that builds is confined.
	kustomize := flux("kustomize-controller")
	kustomize.Confined = true
	for _, service := range []string{"source-controller", "notification-controller"} {
		kustomize.Reach = append(kustomize.Reach, processes.Reach{Namespace: fluxNamespace, Service: service, Port: 80})
	}
	return processes.Catalogue{
		flux("source-controller", processes.Listen{Flag: "--storage-addr", Port: 9090}),
		kustomize,
		flux("helm-controller"),
		flux("notification-controller", processes.Listen{Flag: "--events-addr", Port: 9090}, processes.Listen{Flag: "--receiverAddr", Port: 9292}),
		guestProgram(guestRepository, "image"),
		guestProgram(otherGuestRepository, "other image"),
	}
}

func guestProgram(repository, env string) processes.Image {
	return processes.Image{
		May: anybody, Commands: true, Repository: repository, Tag: "v1", Env: map[string]string{guestVariable: "1", "FROM_IMAGE": env},
		Program: func(context.Context) (string, error) { return os.Executable() },
		Listen:  []processes.Listen{{Flag: "--listen", Port: guestPort}},
	}
}

// namespace creates a namespace for one test and waits for its default service account.
func (c *cluster) namespace(t testing.TB) string {
	t.Helper()
	made, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{}) })
	nodetest.Eventually(t, "the namespace has its service account", func() error {
		_, err := c.CoreV1().ServiceAccounts(made.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return made.Name
}

// create creates a pod.
func (c *cluster) create(t testing.TB, namespace, name string, spec corev1.PodSpec) *corev1.Pod {
	t.Helper()
	made, err := c.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: spec,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// waitPod waits until check returns nil for a pod, and returns the pod.
func (c *cluster) waitPod(t testing.TB, namespace, name, what string, check func(p *corev1.Pod) error) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	nodetest.Eventually(t, what, func() (err error) {
		if p, err = c.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		return check(p)
	})
	return p
}

func isReady(p *corev1.Pod) error {
	if nodetest.Condition(p.Status, corev1.PodReady) != "True" {
		return fmt.Errorf("its status is %s", nodetest.Describe(p.Status))
	}
	return nil
}

func isWaiting(s corev1.ContainerStatus, reason string) bool {
	return s.State.Waiting != nil && s.State.Waiting.Reason == reason
}

// inPhase returns a check of a pod's phase.
func inPhase(phase corev1.PodPhase) func(p *corev1.Pod) error {
	return func(p *corev1.Pod) error {
		if p.Status.Phase != phase {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	}
}

// gone waits until a pod's object is gone.
func (c *cluster) gone(t *testing.T, namespace, name string) {
	t.Helper()
	nodetest.Eventually(t, "pod "+name+" is gone", func() error {
		_, err := c.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there still: %w", err)
	})
}

// event waits for an event about a pod.
func (c *cluster) event(t *testing.T, namespace, object, reason string) corev1.Event {
	t.Helper()
	var found corev1.Event
	nodetest.Eventually(t, "an event "+reason+" tells of "+object, func() error {
		list, err := c.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == object && e.Reason == reason {
				found = e
				return nil
			}
		}
		return fmt.Errorf("there are %d events, none such", len(list.Items))
	})
	return found
}

// log returns the log of a container.
func (c *cluster) log(namespace, pod, container string) string {
	var text strings.Builder
	path := filepath.Join(c.home.Logs(), "pods", namespace+"_"+pod+"_"+container+".log")
	_ = logfile.Read(context.Background(), path, logfile.Options{}, &text)
	return text.String()
}

// processesOf returns the arguments of a pod's processes by PID. The first argument is a path in the pod's folder.
func (c *cluster) processesOf(uid string) map[int][]string {
	found := map[int][]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		args := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
		if !strings.HasPrefix(args[0], filepath.Join(c.home.Pods(), uid)+"/") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		found[pid] = args
	}
	return found
}
