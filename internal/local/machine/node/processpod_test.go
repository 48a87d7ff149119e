package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

func TestAPodThatCrashesShowsACrashLoop(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "crash", corev1.PodSpec{Containers: []corev1.Container{guest("crash")}})
	p := c.waitPod(t, ns, "crash", "the crash loop shows", func(p *corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 1 && isWaiting(p.Status.ContainerStatuses[0], "CrashLoopBackOff") {
			return nil
		}
		return errors.New(nodetest.Describe(p.Status))
	})
	status := p.Status.ContainerStatuses[0]
	last := status.LastTerminationState.Terminated
	if status.RestartCount < 1 || last == nil || last.ExitCode != guestFailed || last.Reason != "Error" {
		t.Errorf("after %d restarts the last end was %+v, want exit code %d", status.RestartCount, last, guestFailed)
	}
	if !strings.Contains(status.State.Waiting.Message, "the configuration is wrong") {
		t.Errorf("the status does not say why: %s", status.State.Waiting.Message)
	}
	if p.Status.Phase != corev1.PodRunning || isReady(p) == nil {
		t.Errorf("the pod is %s, ready: %v", p.Status.Phase, isReady(p) == nil)
	}
	c.event(t, ns, "crash", "BackOff")
}

func TestAPodThatIsNotRestartedShowsItsEnd(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	for name, test := range map[string]struct {
		phase        corev1.PodPhase
		code, signal int32
		message      string
	}{
		"confess": {corev1.PodFailed, guestFailed, 0, "starting\nthe configuration is wrong"},
		"abort":   {corev1.PodFailed, 128 + 9, 9, ""},
		"end":     {corev1.PodSucceeded, 0, 0, ""},
	} {
		c.create(t, ns, name, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{guest(name)}})
		p := c.waitPod(t, ns, name, "it has ended", inPhase(test.phase))
		end := p.Status.ContainerStatuses[0].State.Terminated
		if end == nil || end.ExitCode != test.code || end.Signal != test.signal || end.Message != test.message {
			t.Errorf("%s ended as %+v, want %+v", name, end, test)
		}
	}
}

func TestAPodIsTriedUntilItSucceeds(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "flaky", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{guest("flaky", filepath.Join(t.TempDir(), "tried"))}})
	p := c.waitPod(t, ns, "flaky", "it has succeeded", inPhase(corev1.PodSucceeded))
	s := p.Status.ContainerStatuses[0]
	if s.RestartCount != 1 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != guestFailed {
		t.Errorf("its status is %+v", s)
	}
}

func TestInitContainersRunFirst(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	first := guest("crash")
	first.Name = "first"
	c.create(t, ns, "held", corev1.PodSpec{InitContainers: []corev1.Container{first}, Containers: []corev1.Container{guest("report")}})
	p := c.waitPod(t, ns, "held", "the init container is in a crash loop", func(p *corev1.Pod) error {
		if len(p.Status.InitContainerStatuses) == 0 || !isWaiting(p.Status.InitContainerStatuses[0], "CrashLoopBackOff") {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if p.Status.Phase != corev1.PodPending || !isWaiting(p.Status.ContainerStatuses[0], "PodInitializing") {
		t.Errorf("the pod went on: %s", nodetest.Describe(p.Status))
	}
	if init := p.Status.InitContainerStatuses[0]; init.RestartCount == 0 || init.LastTerminationState.Terminated.ExitCode != guestFailed {
		t.Errorf("the init container's status is %+v", init)
	}
	first.Args = []string{"end"}
	c.create(t, ns, "let", corev1.PodSpec{InitContainers: []corev1.Container{first}, Containers: []corev1.Container{guest("report")}})
	c.waitPod(t, ns, "let", "the pod is ready", isReady)
}

func TestAPodThatIgnoresSIGTERMIsGoneAfterItsGracePeriod(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	grace := int64(1)
	made := c.create(t, ns, "stubborn", corev1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{guest("stubborn")}})
	nodetest.Eventually(t, "the guest ignores SIGTERM", func() error {
		if !strings.Contains(c.log(ns, "stubborn", "guest"), "ready") {
			return errors.New("it is not ready")
		}
		return nil
	})
	if n := len(c.processesOf(string(made.UID))); n != 1 {
		t.Fatalf("the pod has %d processes, want 1", n)
	}
	began := time.Now()
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "stubborn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, ns, "stubborn")
	nodetest.Eventually(t, "its process is gone", func() error {
		if left := c.processesOf(string(made.UID)); len(left) > 0 {
			return fmt.Errorf("there are %v", left)
		}
		return nil
	})
	if took := time.Since(began); took < time.Second {
		t.Errorf("it was gone after %s, its grace period is 1s", took)
	}
	nodetest.Eventually(t, "its folder is gone", func() error {
		if _, err := os.Stat(c.home.Pods() + "/" + string(made.UID)); !os.IsNotExist(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

func TestAPodReadsTheAPIWithTheRightsOfItsServiceAccount(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	if _, err := c.CoreV1().ServiceAccounts(ns).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: ns}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	asker := guest("ask")
	asker.Env = []corev1.EnvVar{{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}
	c.create(t, ns, "asker", corev1.PodSpec{ServiceAccountName: "reader", Containers: []corev1.Container{asker}})
	want := fmt.Sprintf(`config maps: <nil>; secrets is forbidden: User "system:serviceaccount:%s:reader"`, ns)
	nodetest.Eventually(t, "the guest has asked", func() error {
		if said := c.log(ns, "asker", "guest"); !strings.Contains(said, want) {
			return fmt.Errorf("it says %q, want %q", said, want)
		}
		return nil
	})
}

func TestAPodWaitsForTheSecretItNeeds(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	needy := guest("report")
	needy.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}
	c.create(t, ns, "needy", corev1.PodSpec{Containers: []corev1.Container{needy}})
	c.waitPod(t, ns, "needy", "it says what it waits for", func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Reason == "CreateContainerConfigError" && strings.Contains(w.Message, `secrets "late" not found`) {
				return nil
			}
		}
		return errors.New(nodetest.Describe(p.Status))
	})
	if _, err := c.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "needy", "it is ready", isReady)
}

func TestAPodReachesAnotherByTheNameOfItsService(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	server := guest("serve")
	server.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: guestPort}}
	server.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}}}
	server.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(guestPort)}}}
	c.create(t, ns, "server", corev1.PodSpec{Containers: []corev1.Container{server}})
	if _, err := c.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "server", "the server is ready", isReady)
	c.create(t, ns, "client", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{guest("fetch", "http://hello."+ns+".svc.cluster.local./greeting")}})
	c.waitPod(t, ns, "client", "the client has fetched", func(p *corev1.Pod) error {
		if p.Status.Phase != corev1.PodSucceeded {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if said := c.log(ns, "client", "guest"); !strings.Contains(said, "server was asked for /greeting") {
		t.Errorf("the client says %q", said)
	}
}
