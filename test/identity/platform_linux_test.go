package identity_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/images/assemble"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// image is the reference of testdata/pod.
const image = "registry.strata.local/shared/identity:v1"

// platform is a platform with the teams web and shop.
type platform struct {
	kubernetes.Interface
	// web acts as the team's account.
	web kubernetes.Interface
}

// newPlatform starts a platform from a clone of the repository, whose teams.yaml it changes.
func newPlatform(t *testing.T) platform {
	t.Helper()
	p := stratatest.NewWithTools(t)
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(p.Dir, "clone")
	if out, err := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "clone", "--quiet", "--shared", root, clone).CombinedOutput(); err != nil {
		t.Fatalf("clone the repository: %v: %s", err, out)
	}
	for _, args := range [][]string{
		{"team", "add", "shop"}, {"up"}, {"kubeconfig", "--team", "web"}, {"image", "push", archive(t)},
	} {
		command := p.Command(t.Context(), args...)
		command.Dir = clone
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("strata %s: %v\n%s", args, err, out)
		}
	}
	h, err := home.At(p.Home)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(h.Kubernetes(), "teams", "web.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	web, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return platform{p.Kubernetes(), web}
}

// archive builds testdata/pod, and returns an archive with its image.
func archive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "pod"), filepath.Join(dir, "identity.tar")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "./testdata/pod").CombinedOutput(); err != nil {
		t.Fatalf("build the pod's program: %v: %s", err, out)
	}
	made, err := assemble.Image(assemble.Program{Path: program, Name: "identity", UID: 65532})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("identity:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(file, tag, made); err != nil {
		t.Fatal(err)
	}
	return file
}

// account creates a Kubernetes account whose annotation names a Google account.
func (p platform) account(t *testing.T, namespace, name, email string) {
	t.Helper()
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"iam.gke.io/gcp-service-account": email}}}
	if _, err := p.CoreV1().ServiceAccounts(namespace).Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for a pod.
const patience = 3 * time.Minute

// run runs the program in a pod under an account, and returns what it found.
func (p platform) run(t *testing.T, namespace, account string) map[string]string {
	t.Helper()
	pods := p.CoreV1().Pods(namespace)
	made, err := pods.Create(t.Context(), &corev1.Pod{
		// On Google Cloud, too, the annotation counts on the account only.
		ObjectMeta: metav1.ObjectMeta{GenerateName: "identity-", Annotations: map[string]string{"iam.gke.io/gcp-service-account": email("strata-nodes")}},
		Spec: corev1.PodSpec{
			ServiceAccountName: account, AutomountServiceAccountToken: new(false), RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: image,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var pod *corev1.Pod
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pod, err = pods.Get(ctx, made.Name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodSucceeded, err
	}); err != nil {
		t.Fatalf("pod %s/%s as %s: %v: %+v", namespace, made.Name, account, err, pod.Status)
	}
	log, err := pods.GetLogs(made.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	if err := json.Unmarshal(log, &found); err != nil {
		t.Fatalf("the pod prints %q: %v", log, err)
	}
	return found
}
